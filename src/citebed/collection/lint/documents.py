"""Checks on documents, one by one: empty texts, years, identifiers."""

from __future__ import annotations

import polars as pl

from citebed.collection.building.assembling import latex_left
from citebed.collection.lint.base import Subject, blank, check, findings, nothing, shown
from citebed.text.identifiers import DOI, doi_of

EARLIEST = 1665
"""The year of the first scientific journals."""

_DOI = rf"^{DOI}$"
_DOI_FIELD = r'(?i)[,\s]doi\s*=\s*[{"]\s*([^{}"]*)'
_NUMBERED = r"^(.+)-(\d+)$"
_KEY = r"^\s*@\s*\w+\s*[{(]\s*([^\s,]+)"


@check(
    "documents-without-title",
    "warning",
    "documents without a title",
    "Give them a title in the source and import it again, or list their ids in a file and "
    "import with --exclude FILE.",
)
def without_title(subject: Subject) -> pl.DataFrame:
    bare = subject.documents.filter(blank("title"))
    return findings(bare, "doc_id", pl.format("no title ({})", pl.col("doi").fill_null("no DOI")))


@check(
    "documents-without-text",
    "error",
    "documents with neither title, abstract nor full text",
    "They can never be found: list their ids in a file and import with --exclude FILE.",
)
def without_text(subject: Subject) -> pl.DataFrame:
    bare = subject.texts.filter(blank("title") & blank("abstract"))
    if bare.height:
        full = subject.collection.sections.filter(~blank("text"))
        bare = bare.join(full, on="doc_id", how="anti", maintain_order="left")
    return findings(bare, "doc_id", pl.lit("neither title nor abstract: it cannot be found"))


def _dated(subject: Subject) -> pl.DataFrame:
    """Documents and citing papers alike, with what they say of their time."""
    columns = ("year", "date", "source", "line")
    papers = subject.collection.papers.select("paper_id", *columns).rename({"paper_id": "id"})
    documents = subject.documents.select("doc_id", *columns).rename({"doc_id": "id"})
    return pl.concat([documents, papers])


@check(
    "dates-in-future",
    "warning",
    "documents or citing papers later than next year",
    "Correct the year in the source and import it again; with --no-future such a document "
    "is never an answer.",
)
def in_future(subject: Subject) -> pl.DataFrame:
    late = _dated(subject).filter(pl.col("year") > subject.today.year + 1)
    what = pl.format("is of {}, and it is {} now", "year", pl.lit(subject.today.year))
    return findings(late, "id", what)


@check(
    "implausible-years",
    "warning",
    f"years before {EARLIEST}, or a year that is not the date's",
    "Correct the year or date in the source and import it again.",
)
def implausible(subject: Subject) -> pl.DataFrame:
    said = pl.col("date").str.slice(0, 4)
    torn = (said != pl.col("year").cast(pl.String).str.zfill(4)).fill_null(value=False)
    early = (pl.col("year") < EARLIEST).fill_null(value=False)
    odd = _dated(subject).filter(early | torn)
    what = (
        pl.when(early)
        .then(pl.format("is of {}, before the first scientific journals ({})", "year", EARLIEST))
        .otherwise(pl.format("year {}, but date {}", "year", "date"))
    )
    return findings(odd, "id", what)


@check(
    "doi-disagrees",
    "warning",
    "documents whose id is a DOI, and whose DOI field is another",
    "Look both up at https://doi.org and correct the wrong one in the source. Until then the "
    "id counts, and a reference to the other DOI is not found.",
)
def doi_disagrees(subject: Subject) -> pl.DataFrame:
    """Of rows whose id is a DOI, those whose entry, or DOI column, names another."""
    key = pl.col("doc_id").str.to_lowercase()
    given = pl.coalesce(pl.col("bibtex").str.extract(_DOI_FIELD), "doi").str.to_lowercase()
    unlike = (
        subject.collection.scan_documents()
        .filter(pl.col("doc_id").str.contains(_DOI))
        .select("doc_id", "source", "line", "doi", key=key, given=given)
        .filter((pl.col("given") != pl.col("key")) & pl.col("doi").eq_missing(pl.col("key")))
        .collect()
    )
    read = [doi_of(text.replace("\\", "").strip()) for text in unlike["given"]]
    other = unlike.with_columns(pl.Series("read", read, dtype=pl.String))
    other = other.filter(pl.col("read").is_not_null() & (pl.col("read") != pl.col("key")))
    return findings(other, "doc_id", pl.format("its DOI field says {}", "read"))


@check(
    "numbered-ids",
    "warning",
    "different documents under one key, told apart by a number",
    "Give each its own key in the sources and import again. Until then a reference or "
    "judgement that names the key means the first.",
)
def numbered_ids(subject: Subject) -> pl.DataFrame:
    ids = subject.documents.select("doc_id", "title", "source", "line").with_columns(
        base=pl.col("doc_id").str.extract(_NUMBERED, 1),
        number=pl.col("doc_id").str.extract(_NUMBERED, 2).cast(pl.Int64, strict=False),
    )
    numbered = ids.filter(pl.col("number") > 1).join(
        ids.select(base="doc_id", first="title"), on="base", maintain_order="left"
    )
    if numbered.is_empty():
        return nothing()
    keys = (
        subject.collection.scan_documents()
        .filter(pl.col("doc_id").is_in(numbered["doc_id"].to_list()))
        .select("doc_id", given=pl.col("bibtex").str.extract(_KEY))
        .collect()
    )
    ours = numbered.join(keys, on="doc_id", how="left", maintain_order="left").filter(
        pl.col("given").fill_null(pl.col("base")) == pl.col("base")
    )
    what = pl.format("{} has the key {} of {}", shown("title"), "base", shown("first"))
    return findings(ours, "doc_id", what)


# --- Texts ------------------------------------------------------------------------------------


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
    return findings(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


@check(
    "latex-remains",
    "warning",
    "texts in which the name of a LaTeX command seems to be left (ifmmode, textquotesingle)",
    "Write the letter itself in the source and import it again; a command that many papers use "
    "is a fault of the reader: please report it.",
)
def latex_remains(subject: Subject) -> pl.DataFrame:
    left = latex_left(subject.collection.scan_documents())
    return findings(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


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
    return findings(left, "doc_id", pl.format("{}: …{}…", "field", "text"))
