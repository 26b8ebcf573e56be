"""Checks for documents that are in the collection more than once."""

from __future__ import annotations

import re

import polars as pl

from citebed.collection.building.merging import plain_title
from citebed.collection.lint.base import Subject, check, found, nothing, place, shown, year_shown
from citebed.collection.lint.near import near_pairs

ALIKE = 0.8
"""How alike two titles must be; 0.8 is about one changed word in nine, or a typing error."""
SHORTEST = 15
"""Folded titles of fewer letters ("Editorial", "In This Issue") say too little."""
HEADING = 3
"""A title that so many documents have is a heading ("Abstracts of Selected Articles")."""

_COUNTED = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "one two three four five six seven eight nine ten "
    "january february march april june july august september october november december "
    "spring summer autumn fall winter"
)
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_COUNTED.split())}|[a-z]+(?:teen|ty)(?:th)?|[ivx]+)\b")


@check(
    "duplicate-dois",
    "error",
    "documents with the same DOI under different ids",
    "Import the sources again: `citebed import` merges records of one DOI. If the DOI is "
    "wrong in one of them, correct it there.",
)
def duplicate_dois(subject: Subject) -> pl.DataFrame:
    known = subject.documents.lazy().filter(pl.col("doi").is_not_null())
    first = pl.col("doc_id").first().over("doi")
    twice = known.with_columns(other=first).filter(pl.col("doc_id") != pl.col("other")).collect()
    return found(twice, "doc_id", pl.format("has the DOI {}, as {} does", "doi", "other"))


@check(
    "duplicate-documents",
    "warning",
    "documents with the same title, first author and year",
    "Where two are one paper, list the id of the lesser one in a file and import with "
    "--exclude FILE; with different DOIs they are not merged.",
)
def duplicate_documents(subject: Subject) -> pl.DataFrame:
    author = plain_title(pl.col("authors").list.first().str.split(",").list.first())
    short = pl.col("title").str.count_matches(r"\S+") < 3
    short |= pl.col("plain").str.len_chars() < SHORTEST
    details = pl.concat_str(
        [pl.col(name).fill_null("") for name in ("venue", "volume", "pages")], separator="|"
    )
    key = ["plain", "author", "year", "details"]
    twice = (
        subject.documents.lazy()
        .filter(pl.col("plain") != "")
        .with_columns(author=author, details=pl.when(short).then(details))
        .filter(pl.col("author").is_not_null() & pl.col("year").is_not_null())
        .with_columns(other=pl.col("doc_id").first().over(key))
        .filter(pl.col("doc_id") != pl.col("other"))
        .collect()
    )
    what = pl.format(
        "{} has title, first author and year ({}) in common with {}",
        shown("title"), "year", "other",
    )  # fmt: skip
    return found(twice, "doc_id", what)


@check(
    "near-duplicate-titles",
    "note",
    f"titles nearly the same, with an author in common (trigrams alike {ALIKE} or more)",
    "Many are a demonstration and its paper, or an article and its preprint. Where two are "
    "one paper, list the id of the lesser one in a file and import with --exclude FILE.",
)
def near_duplicate_titles(subject: Subject) -> pl.DataFrame:
    documents = subject.documents
    pairs = near_pairs(documents["plain"], author_keys(documents), ALIKE)
    if pairs.is_empty():
        return nothing()
    columns = ("doc_id", "title", "year", "source", "line")
    drawn = documents.select(columns).with_row_index("row")
    both = pairs.join(drawn, on="row", maintain_order="left").join(
        drawn, left_on="other", right_on="row", suffix="_other", maintain_order="left"
    )
    titles = both.select("title", "title_other").iter_rows()
    same_numbers = [numbers(title) == numbers(other) for title, other in titles]
    what = pl.format(
        "{} ({}) is nearly the title of {}: {} ({})",
        shown("title"), year_shown(),
        "doc_id_other", shown("title_other"), year_shown("year_other"),
    )  # fmt: skip
    return found(both.filter(pl.Series(same_numbers)), name="doc_id", what=what, where=place())


def author_keys(documents: pl.DataFrame) -> pl.DataFrame:
    """Who wrote each document whose title says enough: ``row`` and ``key``, the family name
    and first initial; only titles with an author in common are compared."""
    name = pl.col("authors").str.extract("^([^,]*(?:, *.)?)")
    return (
        documents.lazy()
        .with_row_index("row")
        .filter(pl.col("plain").str.len_chars() >= SHORTEST)
        .filter(pl.len().over("plain") < HEADING)
        .select("row", "authors")
        .explode("authors")
        .select("row", key=plain_title(name))
        .filter(pl.col("key") != "")
        .unique()
        .collect()
    )


def numbers(title: str) -> list[str]:
    """What a title counts by: digits, Roman numerals, "Second", months. Titles that differ in
    these (Part I and Part II, the reports of two years) are meant to be alike."""
    return _NUMBER.findall(title.lower())
