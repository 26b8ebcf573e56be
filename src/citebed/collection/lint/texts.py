"""Checks on what is left in texts of how they were once written: markup and encodings."""

from __future__ import annotations

import polars as pl

from citebed.collection.building.latex_left import latex_left
from citebed.collection.lint.base import Subject, check, found

_COMMAND = r"\\[A-Za-z]{2,}"
_TAG = r"</?[A-Za-z][A-Za-z0-9:-]*(?:\s+[A-Za-z:-]+\s*=[^<>]*)?\s*/?>"
_ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
MARKUP = rf"{_COMMAND}|{_TAG}|{_ENTITY}"

# UTF-8 read as Windows-1252: a lead byte's letter and what the next byte looks like.
# Å and Â are followed by other signs in earnest ("5 Å²", "3 Å”"), so less is taken for them.
_NEXT = r"\u0080-\u00bfŒœŠšŸŽžƒˆ˜–—\u2018-\u203a€™"
_LEADS = rf"Ã[{_NEXT}]|Â[\u0080-\u00bf]|Å[\u0080-\u009f‚„‘™›¡¯º¼½¾Ÿž]|[ÐÑÎÏ][\u0080-\u00bf]"
_SIGNS = rf"â€[{_NEXT}]?|â[\u0080-\u009f][\u0080-\u00bf]|ï¿½|\x{{FFFD}}"
ENCODING = rf"{_LEADS}|{_SIGNS}"


def _matching(table: pl.DataFrame, pattern: str, fields: tuple[str, ...]) -> pl.DataFrame:
    """Rows with the pattern in a field: which field, and the text around the first match."""
    around = rf"(?s).{{0,20}}(?:{pattern}).{{0,20}}"
    parts = [
        table.lazy()
        .filter(pl.col(name).str.contains(pattern))
        .select(
            "doc_id", "source", "line",
            field=pl.lit(name), text=pl.col(name).str.extract(f"({around})"),
        )
        for name in fields
    ]  # fmt: skip
    return pl.concat(pl.collect_all(parts))


@check(
    "markup-remains",
    "note",
    "LaTeX commands, HTML tags or entities left in titles or abstracts",
    "Retrieval takes them for words. Correct those that matter in the source and import it "
    "again; program code and formulas in an abstract are no fault.",
)
def markup_remains(subject: Subject) -> pl.DataFrame:
    left = _matching(subject.texts, MARKUP, ("title", "abstract"))
    return found(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


@check(
    "latex-remains",
    "warning",
    "texts in which the name of a LaTeX command seems to be left (ifmmode, textquotesingle)",
    "Write the letter itself in the source and import it again; a command that many papers use "
    "is a fault of the reader: please report it.",
)
def latex_remains(subject: Subject) -> pl.DataFrame:
    left = latex_left(subject.collection.scan_documents())
    return found(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


@check(
    "encoding-remains",
    "warning",
    "text that was read in a wrong encoding at some time (Ã©, â€™, U+FFFD)",
    "The fault is in the source: correct it there (the Python package ftfy does it for whole "
    "files) and import it again.",
)
def encoding_remains(subject: Subject) -> pl.DataFrame:
    names = subject.documents.select(
        "doc_id", "source", "line", author=pl.col("authors").list.join("; ")
    )
    left = pl.concat(
        [
            _matching(subject.texts, ENCODING, ("title", "abstract")),
            _matching(names, ENCODING, ("author",)),
        ]
    )
    return found(left, "doc_id", pl.format("{}: …{}…", "field", "text"))
