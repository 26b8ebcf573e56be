"""Checks on citing papers, their paragraphs and their reference lists."""

from __future__ import annotations

import polars as pl

from citebed.collection.lint.base import Subject, check, findings, nothing, place, shown
from citebed.collection.names import document_names
from citebed.runs.times import is_later

_IDENTIFIER = pl.coalesce(
    "doc_id", "doi", pl.col("target").str.to_lowercase(), pl.col("url").str.to_lowercase()
)
_UNKNOWN = r"cites (.+), which the reference list does not have"


@check(
    "citing-papers-inside",
    "warning",
    "citing papers that are documents of the collection themselves",
    "Their own abstracts answer their own paragraphs. List their DOIs in a file and import "
    "with --exclude FILE.",
)
def papers_inside(subject: Subject) -> pl.DataFrame:
    inside = subject.collection.papers.filter(pl.col("doc_id").is_not_null())
    return findings(inside, "paper_id", pl.format("{} is document {}", shown("title"), "doc_id"))


@check(
    "duplicate-papers",
    "error",
    "citing papers that were read twice",
    "Keep one of the two, and take out the other with citebed forget.",
)
def duplicate_papers(subject: Subject) -> pl.DataFrame:
    numbered = subject.collection.papers.with_columns(first=place().first().over("paper_id"))
    again = numbered.filter(~pl.col("paper_id").is_first_distinct())
    return findings(again, "paper_id", pl.format("was read before, from {}", "first"))


@check(
    "later-references",
    "note",
    "references later than the paper that cites them",
    "A wrong year, or a preprint that was cited before it was printed. Import with --no-future "
    "to leave them out of the answers.",
)
def later_references(subject: Subject) -> pl.DataFrame:
    if subject.collection.rules.no_future:
        return nothing()
    papers = subject.collection.papers.select("paper_id", "date").unique("paper_id", keep="first")
    documents = subject.documents.select("doc_id", published="date")
    late = (
        subject.collection.references.join(papers, on="paper_id", maintain_order="left")
        .join(documents, on="doc_id", maintain_order="left")
        .filter(is_later(pl.col("published"), pl.col("date")))
    )
    what = pl.format("of {}, cites {} of {}", "date", "doc_id", "published")
    return findings(late, "paper_id", what, place(line=None))


@check(
    "sloppy-references",
    "warning",
    "references found only if case and blanks of the identifier do not count",
    "Correct the identifier in the source and import it again. A profile with references = "
    '"exact" (acm-cr) loses them; references = "tolerant" finds them.',
)
def sloppy_references(subject: Subject) -> pl.DataFrame:
    """References that a comparison to the letter does not find, and one that folds case and
    blanks does. Where the rules compare to the letter, these are lost."""
    written = subject.collection.references.filter(pl.col("raw").is_not_null())
    if written.is_empty():
        return nothing()
    exact = subject.collection.rules.references == "exact"
    folded = pl.col("raw").str.strip_chars().str.to_lowercase()
    name = pl.coalesce("doi", pl.col("target").str.to_lowercase()) if exact else folded
    names = document_names(subject.documents).rename({"doc_id": "known"})
    likely = written.with_columns(name=name).join(names, on="name", maintain_order="left")
    if exact:
        doubtful = likely.filter(pl.col("doc_id").is_null())
    else:
        doubtful = likely.join(_as_written(subject), on="raw", how="anti", maintain_order="left")
    verdict = "and so is lost" if exact else "found only as case and blanks do not count"
    what = pl.format(
        "reference {}: '{}' is not '{}' to the letter, {}",
        "ref_id", "raw", "known", pl.lit(verdict),
    )  # fmt: skip
    return findings(doubtful, "paper_id", what, place(line=None))


def _as_written(subject: Subject) -> pl.DataFrame:
    """Every name of a document, to the letter."""
    documents = subject.documents
    return pl.concat(
        [
            documents.select(raw="doc_id"),
            documents.select(raw="doi"),
            documents.select(raw="aliases").explode("raw"),
        ]
    ).drop_nulls()


@check(
    "unknown-cites",
    "warning",
    "sentences that cite a number their reference list does not have",
    "Correct the number, or add the reference to the list, in the source and import it again.",
)
def unknown_cites(subject: Subject) -> pl.DataFrame:
    collection = subject.collection
    lines = (
        collection.problems.with_columns(cite=pl.col("what").str.extract(_UNKNOWN))
        .drop_nulls("cite")
        .unique(["source", "cite"], keep="first", maintain_order=True)
        .select("source", "cite", "line")
    )
    known = collection.references.select("paper_id", cite="ref_id")
    lost = (
        collection.contexts.select("paper_id", "sentence_id", "source", cite="cites")
        .explode("cite")
        .drop_nulls("cite")
        .join(known, on=["paper_id", "cite"], how="anti", maintain_order="left")
        .join(lines, on=["source", "cite"], how="left", maintain_order="left")
        .with_columns(query_id=pl.format("{}:{}", "paper_id", "sentence_id"))
    )
    what = pl.format("cites {}, which the reference list does not have", "cite")
    return findings(lost, "query_id", what)


@check(
    "duplicate-references",
    "note",
    "references that stand in one list twice",
    "Harmless for the judgements, which count a document once; the share of references found "
    "counts it twice. Correct the list in the source and import it again.",
)
def duplicate_references(subject: Subject) -> pl.DataFrame:
    named = subject.collection.references.with_columns(same=_IDENTIFIER).drop_nulls("same")
    key = ["paper_id", "same"]
    again = named.with_columns(first=pl.col("ref_id").first().over(key)).filter(
        ~pl.struct(key).is_first_distinct()
    )
    what = pl.format("reference {} is {} again: {}", "ref_id", "first", "same")
    listed = subject.collection.problems.filter(
        pl.col("what").str.contains(r"^reference .+ is listed twice")
    )
    return pl.concat(
        [
            findings(again, "paper_id", what, place(line=None)),
            findings(listed, "source", pl.col("what")),
        ]
    )


@check(
    "same-context-ids",
    "warning",
    "paragraphs of one paper with the same id in the source",
    "Number the paragraphs in the source apart and import it again; judgements made elsewhere "
    "that name the id may mean either.",
)
def same_context_ids(subject: Subject) -> pl.DataFrame:
    same = subject.collection.problems.filter(
        pl.col("what").str.starts_with("two contexts have the id")
    )
    papers = subject.collection.papers.select("paper_id", "source")
    named = same.join(papers, on="source", how="left", maintain_order="left")
    return findings(named, "paper_id", pl.col("what"))


@check(
    "records-skipped",
    "warning",
    "records that were skipped on import",
    "Correct the source at the place named and import it again; --strict refuses an import "
    "that would skip anything.",
)
def skipped(subject: Subject) -> pl.DataFrame:
    skipped = subject.collection.problems.filter(pl.col("kind") == "skipped")
    return findings(skipped, "source", pl.col("what"))
