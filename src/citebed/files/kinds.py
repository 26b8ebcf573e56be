"""What a file is whose first bytes say that it is no text, so that a refusal can name it."""

from __future__ import annotations

import re

_SIGNATURES = (
    (b"%PDF", "a PDF"),
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
_OFFICE = (
    (b"word/", "a Word document"),
    (b"xl/", "an Excel workbook"),
    (b"ppt/", "PowerPoint slides"),
)
_HTML = re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb'\s*\{.*"cells"\s*:\s*\[|\s*\{.*"nbformat"\s*:', re.DOTALL)
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


def office_kind(data: bytes) -> str:
    """What a zip archive is that is a document, by its bytes (or the names that are in it)."""
    if b"[Content_Types].xml" in data:
        return next((kind for part, kind in _OFFICE if part in data), "an Office document")
    head = data[:HEAD_BYTES]
    if b"application/epub+zip" in head:
        return "an EPUB book"
    return "an OpenDocument file" if b"opendocument" in head else ""
