"""Why a file is not read that holds no records: what it is, and how records come out of it."""

from __future__ import annotations

from collections.abc import Iterable

from citebed.files.kinds import HEAD_BYTES, kind_of, office_kind

UNKNOWN = "not in a format that citebed reads"
_PAPER = (
    "not a bibliography: import one that lists it, or its TEI as GROBID makes it; what it should "
    "cite, recommend tells for its text"
)
_DATABASE = (
    "which is not read. If it is Zotero's: in Zotero choose File, Export Library, as BibTeX, RIS "
    "or CSL-JSON, and import that file"
)


def why_not_read(head: bytes) -> str:
    """Why a file with this head is in no format that is read."""
    kind = kind_of(head)
    if kind in ("a PDF", "PostScript"):
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
