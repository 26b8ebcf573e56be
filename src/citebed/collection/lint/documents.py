"""Checks on documents, one by one: empty texts, years, identifiers."""

from __future__ import annotations

import polars as pl

from citebed.collection.lint.base import Subject, blank, check, found, nothing, shown
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
    return found(bare, "doc_id", pl.format("no title ({})", pl.col("doi").fill_null("no DOI")))


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
    return found(bare, "doc_id", pl.lit("neither title nor abstract: it cannot be found"))


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
    return found(late, "id", what)


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
    return found(odd, "id", what)


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
    return found(other, "doc_id", pl.format("its DOI field says {}", "read"))


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
    return found(ours, "doc_id", what)
