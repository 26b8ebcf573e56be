"""Queries that are copied from a document: its title, or its abstract nearly whole."""

from __future__ import annotations

import polars as pl

from citebed.collection.building.merging import plain_title
from citebed.collection.lint.base import Subject
from citebed.collection.lint.near import grams

COVERED = 0.9
"""The part of an abstract that must stand in a query."""
SHORTEST = 100
"""Abstracts of fewer letters and digits ("No abstract available.") are not compared."""

_PROBE = 32
_CUT = 60
_GRAM = 5


def copies_of_titles(subject: Subject) -> pl.DataFrame:
    """Queries equal to a title of three words or more, folded to letters and digits."""
    titles = (
        subject.documents.lazy()
        .filter(pl.col("title").str.count_matches(r"\S+") > 2)
        .select("doc_id", "plain")
        .unique("plain", keep="first", maintain_order=True)
    )
    return (
        subject.queries.lazy()
        .with_columns(plain=plain_title(pl.col("text")))
        .join(titles, on="plain", maintain_order="left")
        .select("place", "query_id", what=pl.format("is the title of {}", "doc_id"))
        .collect()
    )


def copies_of_abstracts(subject: Subject) -> pl.DataFrame:
    """Queries that hold an abstract nearly whole: ``COVERED`` of its runs of five letters.

    Looked at are abstracts of which the beginning, middle or end (32 letters) stands in the
    query to the letter.
    """
    queries = subject.queries.with_columns(plain=plain_title(pl.col("text"))).with_row_index(
        "query"
    )
    pairs = (
        _windows(queries).join(_probes(subject.texts), on="probe").select("query", "row").unique()
    )
    texts = subject.texts.with_row_index("row").select("row", "doc_id", "abstract")
    likely = (
        pairs.join(texts, on="row")
        .with_columns(whole=plain_title(pl.col("abstract")))
        .join(queries, on="query")
        .filter(pl.col("whole").str.len_chars() >= SHORTEST)
        .sort("query", "row")
    )
    covered = [coverage(*row) for row in likely.select("whole", "plain").iter_rows()]
    return (
        likely.with_columns(covered=pl.Series(covered, dtype=pl.Float64))
        .filter(pl.col("covered") >= COVERED)
        .select("place", "query_id", what=_said())
    )


def _said() -> pl.Expr:
    part = (pl.col("covered") * 100).floor().cast(pl.Int64)
    return (
        pl.when(pl.col("whole") == pl.col("plain"))
        .then(pl.format("is the abstract of {}", "doc_id"))
        .otherwise(pl.format("holds {}% of the abstract of {}", part, "doc_id"))
    )


def coverage(abstract: str, query: str) -> float:
    """The part of the abstract's runs of five letters that stand in the query too."""
    ours, theirs = grams(abstract, _GRAM), grams(query, _GRAM)
    return len(ours & theirs) / max(1, len(ours))


def _probes(texts: pl.DataFrame) -> pl.DataFrame:
    """The first letters of each abstract and those in its middle: ``row`` and ``probe``."""
    text = pl.col("abstract")
    size = text.str.len_chars()
    cuts = (text.str.slice(0, _CUT), text.str.slice(size // 2, _CUT))
    long = texts.lazy().with_row_index("row").filter(size >= SHORTEST)
    probes = [long.select("row", probe=plain_title(cut).str.slice(0, _PROBE)) for cut in cuts]
    return pl.concat(pl.collect_all(probes)).filter(pl.col("probe").str.len_chars() == _PROBE)


def _windows(queries: pl.DataFrame) -> pl.DataFrame:
    """Every run of letters of each query as long as a probe: ``query`` and ``probe``."""
    size = pl.col("plain").str.len_chars().cast(pl.Int64) - _PROBE
    return (
        queries.lazy()
        .filter(size >= 0)
        .select("query", "plain", at=pl.int_ranges(size + 1))
        .explode("at")
        .select("query", probe=pl.col("plain").str.slice(pl.col("at"), _PROBE))
        .unique()
        .collect()
    )
