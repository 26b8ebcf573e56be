"""What a file is whose first bytes say that it is no text, so that a refusal can name it.

Why a file is not read that holds no records: what it is, and how records come out of it.
"""

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
_OFFICE = (
    (b"word/", WORD),
    (b"xl/", "an Excel workbook"),
    (b"ppt/", "PowerPoint slides"),
)
_HTML = re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb'\s*\{.*"cells"\s*:\s*\[|\s*\{.*"nbformat"\s*:', re.DOTALL)
PDF = "a PDF"
PDF_MARK = "%PDF-"
_PDF_BYTES = 1024
"""Readers of PDF look for its mark in so many bytes: some mailers and sites put lines before it."""
NOTEBOOK = "a Jupyter notebook"
HTML = "HTML"
ZIP = b"PK\x03\x04"
HEAD_BYTES = 4096
"""So many of the first bytes tell what a file is."""


def kind_of(head: bytes) -> str:
    """``a PDF``, ``HTML``, ``an SQLite database`` …; nothing for what may be text."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if _HTML.match(head[:1024]):
        return HTML
    return NOTEBOOK if _NOTEBOOK.match(head[:HEAD_BYTES]) else ""


def is_pdf(head: bytes, name: str = "") -> bool:
    """Whether a file is a PDF: it begins so, or says so in its name and, a little later, itself."""
    mark = PDF_MARK.encode()
    if head[:_PDF_BYTES].lstrip().startswith(mark):
        return True
    return name.lower().endswith(".pdf") and mark in head[:_PDF_BYTES]


def why_no_pdf(head: bytes) -> str:
    """What a file is that should be a PDF, and what to do."""
    if not head.strip():
        return "an empty file, not a PDF; get it anew"
    kind = kind_of(head)
    if kind == HTML:
        return (
            "a web page, not a PDF: what a site shows in place of the file (an error, a log-in). "
            "Open it in a browser to see why, and get the PDF anew"
        )
    return f"{kind}, not a PDF" if kind else f"not a PDF: {PDF_MARK} is not in its first bytes"


def office_kind(data: bytes) -> str:
    """What a zip archive is that is a document, by its bytes (or the names that are in it)."""
    if b"[Content_Types].xml" in data:
        return next((kind for part, kind in _OFFICE if part in data), "an Office document")
    head = data[:HEAD_BYTES]
    if b"application/epub+zip" in head:
        return "an EPUB book"
    return OPEN_DOCUMENT if b"opendocument" in head else ""


# --- Why it is not read -----------------------------------------------------------------------


UNKNOWN = "not in a format that citebed reads"
_PAPER = (
    "not a bibliography: import one that lists it, or the paper as a PDF; what it should cite, "
    "recommend tells for its text"
)
_DATABASE = (
    "which is not read. If it is Zotero's: in Zotero choose File, Export Library, as BibTeX, RIS "
    "or CSL-JSON, and import that file"
)


def why_not_read(head: bytes, name: str = "") -> str:
    """Why a file with this head is in no format that is read."""
    kind = kind_of(head)
    if name.lower().endswith(".pdf"):
        return why_no_pdf(head)
    if kind == "PostScript":
        return f"{kind}, {_PAPER}"
    if kind == "an SQLite database":
        return f"{kind}, {_DATABASE}"
    return f"{kind}, which is {UNKNOWN}" if kind else UNKNOWN


def why_no_archive(head: bytes, names: Iterable[str]) -> str:
    """Why a zip archive is not looked into: it is a document; nothing for other archives."""
    kind = office_kind(head[:HEAD_BYTES] + "\n".join(names).encode("utf-8", "replace"))
    if kind == "an Excel workbook":
        return f"{kind}, which is {UNKNOWN}; save the table as CSV, and import that"
    return f"{kind}, {_PAPER}" if kind else ""
