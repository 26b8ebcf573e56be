"""Kinds of files that citebed recognises by their first bytes but cannot import, and advice."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"%!PS", "PostScript"),
    (b"{\\rtf", "RTF"),
    (b"\xd0\xcf\x11\xe0", "an old Word (or other Office) document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet table"),
)
WORD = "a Word document"
OPEN_DOCUMENT = "an OpenDocument file"
_OFFICE = ((b"word/", WORD), (b"xl/", "an Excel workbook"), (b"ppt/", "PowerPoint slides"))
_HTML = re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb'\s*\{.*"cells"\s*:\s*\[|\s*\{.*"nbformat"\s*:', re.DOTALL)
PDF = "a PDF"
PDF_MARK = "%PDF-"
_PDF_BYTES = 1024
"""PDF readers look for the mark in this many bytes; some mailers and sites put lines before it."""
NOTEBOOK = "a Jupyter notebook"
HTML = "HTML"
MANIFEST = "citebed.toml"
"""The file that makes a folder a collection."""
ZIP = b"PK\x03\x04"
HEAD_BYTES = 4096
"""Number of bytes at the start of a file that show its kind."""

UNKNOWN = "not in a format that citebed reads"
_PAPER = (
    "not a bibliography. Import a bibliography that lists the paper, or the paper as a PDF; for "
    "papers that it should cite, run citebed recommend with its text"
)
_EXPORTS = (
    (
        r"mendeley.*\.sqlite$",
        "Mendeley's database, which is encrypted. In Mendeley choose File, Export",
    ),
    (r"\.enl[xp]?$|\.eni$", "EndNote's library. In EndNote choose File, Export, as XML or RIS"),
    (
        r"(?:^|/)metadata\.db$",
        "Calibre's database, in an unknown form. In Calibre create a catalogue, as BibTeX or CSV",
    ),
)
"""What files of reference managers are, by their names, and what to export instead."""
_DATABASE = (
    "which citebed does not read; of databases, it reads Zotero's and Calibre's. Export the "
    "library as BibTeX, RIS or CSL-JSON"
)


def detect_kind(head: bytes) -> str:
    """Return ``a PDF``, ``HTML``, ``an SQLite database`` …, or ``""`` for a possible text."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if _HTML.match(head[:1024]):
        return HTML
    return NOTEBOOK if _NOTEBOOK.match(head[:HEAD_BYTES]) else ""


def detect_office_kind(data: bytes) -> str:
    """Return which kind of document a zip archive is, or ``""``, from its bytes or member names."""
    if b"[Content_Types].xml" in data:
        return next((kind for part, kind in _OFFICE if part in data), "an Office document")
    head = data[:HEAD_BYTES]
    if b"application/epub+zip" in head:
        return "an EPUB book"
    return OPEN_DOCUMENT if b"opendocument" in head else ""


def is_pdf(head: bytes, name: str = "") -> bool:
    """Return True for a PDF: it starts with the PDF mark, or its name ends in ``.pdf`` and the mark
    follows a little later."""
    mark = PDF_MARK.encode()
    if head[:_PDF_BYTES].lstrip().startswith(mark):
        return True
    return name.lower().endswith(".pdf") and mark in head[:_PDF_BYTES]


def explain_not_pdf(head: bytes) -> str:
    """Return what a file is that should be a PDF, and what to do."""
    if not head.strip():
        return "an empty file, not a PDF; get it again"
    kind = detect_kind(head)
    if kind == HTML:
        return (
            "a web page, not a PDF. Sites send a page instead of a file for an error or a log-in; "
            "open it in a browser to see why, and get the PDF again"
        )
    return f"{kind}, not a PDF" if kind else f"not a PDF: {PDF_MARK} is not in its first bytes"


def explain_unreadable(head: bytes, name: str = "") -> str:
    """Return why citebed has no format for a file with these first bytes."""
    kind = detect_kind(head)
    for pattern, what in _EXPORTS:
        if re.search(pattern, name, re.IGNORECASE):
            return f"{what}, and import that file"
    if name.lower().endswith(".pdf"):
        return explain_not_pdf(head)
    if kind == "PostScript":
        return f"{kind}, {_PAPER}"
    if kind == "an SQLite database":
        return f"{kind}, {_DATABASE}, and import that file"
    return f"{kind}, which is {UNKNOWN}" if kind else UNKNOWN


def explain_document_archive(head: bytes, names: Iterable[str]) -> str:
    """Return why citebed does not open a zip archive that is a document, or ``""`` for others."""
    kind = detect_office_kind(head[:HEAD_BYTES] + "\n".join(names).encode("utf-8", "replace"))
    if kind == "an Excel workbook":
        return f"{kind}, which is {UNKNOWN}; save the table as CSV, and import that"
    return f"{kind}, {_PAPER}" if kind else ""
