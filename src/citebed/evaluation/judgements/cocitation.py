"""Expand judgements by co-citation: add documents that are cited together with a relevant one.

ACM-CR's judgements are the citations of a paragraph; other papers that it could have cited are
missing. Its author proposes co-citations as a remedy (Boudin, JCDL 2021, future work). The result
is a guess, so it is a separate set without any pair of the original judgements.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.evaluation.judgements.sets import PAIR, as_checked_qrels
from citebed.files.input_files import read_data_lines
from citebed.files.parquet import read_parquet
from citebed.runs.tables import Qrels, id_column, is_parquet, number_column
from citebed.runs.times import is_later
from citebed.runs.trec_files import LARGEST_GRADE
from citebed.wording import parse_number, shorten

LABEL = "cocited"


@dataclass(frozen=True, kw_only=True)
class ExpansionOptions:
    """Options of an expansion.

    A document is added with ``grade`` if it is cited at least ``min_cocitations`` times together
    with one relevant document (of grade ``rel`` or higher).
    """

    min_cocitations: int = 2
    grade: int = 1
    rel: int = 1

    def __post_init__(self) -> None:
        if self.min_cocitations < 1:
            raise CitebedError(f"at least {self.min_cocitations} co-citations: expected 1 or more.")
        if self.grade < 0:
            raise CitebedError(f"the grade {self.grade} is below 0, which means 'not judged'.")
        if self.grade > LARGEST_GRADE:
            raise CitebedError(f"the grade {self.grade} is too large (at most {LARGEST_GRADE:,}).")


@dataclass(frozen=True, eq=False)
class ExpansionResult:
    """The new judgements, and the numbers of skipped candidates.

    ``qrels`` has three more columns: ``count`` (the highest number of co-citations with one
    relevant document), ``through`` (that document; of several the first by id) and ``relevant``
    (the number of relevant documents with enough co-citations). ``seeds`` counts the pairs of query
    and relevant document. ``below_minimum`` candidates have too few co-citations,
    ``already_judged`` ones are in the judgements, and ``excluded`` ones are not allowed.
    """

    qrels: Qrels
    seeds: int
    below_minimum: int
    already_judged: int
    excluded: int


def cocitations(lists: pl.DataFrame, wanted: pl.Series) -> pl.DataFrame:
    """Count how often two documents are in the same reference list: ``doc_id, other_id, count``.

    ``lists`` has the columns ``citer`` and ``doc_id``; a document counts once per list. ``doc_id``
    of the result is limited to ``wanted`` (the relevant documents), since all pairs of a large
    collection would not fit into memory.
    """
    lists = lists.select("citer", "doc_id").drop_nulls().unique()
    ours = lists.filter(pl.col("doc_id").is_in(wanted.unique().to_list()))
    pairs = ours.join(lists.rename({"doc_id": "other_id"}), on="citer")
    return (
        pairs.filter(pl.col("doc_id") != pl.col("other_id"))
        .group_by("doc_id", "other_id")
        .agg(count=pl.len().cast(pl.Float64))
    )


def both_ways(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return pairs in both directions, with the largest count of repeated pairs."""
    pairs = pairs.select("doc_id", "other_id", pl.col("count").cast(pl.Float64))
    turned = pairs.select(
        pl.col("other_id").alias("doc_id"), pl.col("doc_id").alias("other_id"), "count"
    )
    both = pl.concat([pairs, turned]).filter(pl.col("doc_id") != pl.col("other_id"))
    return both.group_by("doc_id", "other_id").agg(pl.col("count").max())


def expand(
    qrels: Qrels,
    pairs: pl.DataFrame,
    how: ExpansionOptions,
    *,
    own: pl.DataFrame | None = None,
    barred: pl.DataFrame | None = None,
) -> ExpansionResult:
    """Make judgements of documents that are co-cited with a query's relevant documents.

    ``pairs`` has ``doc_id, other_id, count`` in both directions. ``own`` (``query_id, doc_id``) is
    the reference list of the query's own paper; its co-citations are subtracted, because they only
    repeat what that paper cites. ``barred`` (``query_id, doc_id``) are documents that a query must
    not get, such as its own paper.
    """
    table = as_checked_qrels(qrels).table.select(*PAIR, "relevance")
    seeds = table.filter(pl.col("relevance") >= how.rel).select(*PAIR)
    candidates = seeds.join(pairs, on="doc_id")
    if own is not None:
        # Subtract one co-citation if the query's own paper cites both documents.
        own = own.select(*PAIR).unique().with_columns(there=pl.lit(1.0))
        others = own.rename({"doc_id": "other_id"})
        cited = [
            candidates.join(there, on=pair, how="left", maintain_order="left")["there"].fill_null(0)
            for there, pair in ((own, PAIR), (others, ["query_id", "other_id"]))
        ]
        candidates = candidates.with_columns(count=pl.col("count") - cited[0] * cited[1])
    candidates = candidates.filter(pl.col("count") > 0)
    often = candidates.filter(pl.col("count") >= how.min_cocitations)
    # One row per query and document, with the most co-cited relevant document.
    new = (
        often.sort("count", "doc_id", descending=[True, False])
        .group_by("query_id", "other_id", maintain_order=True)
        .agg(
            pl.col("count").first(),
            through=pl.col("doc_id").first(),
            relevant=pl.len().cast(pl.Int64),
        )
        .rename({"other_id": "doc_id"})
    )
    passed = candidates.select("query_id", "other_id").n_unique() - new.height
    unjudged = new.join(table, on=PAIR, how="anti")
    allowed = unjudged if barred is None else unjudged.join(barred, on=PAIR, how="anti")
    relevance = pl.lit(how.grade, pl.Int64).alias("relevance")
    columns = allowed.select(*PAIR, relevance, "count", "through", "relevant")
    return ExpansionResult(
        Qrels(columns.sort(PAIR), f"{qrels.name}-{LABEL}"),
        seeds=seeds.height,
        below_minimum=passed,
        already_judged=new.height - unjudged.height,
        excluded=unjudged.height - allowed.height,
    )


# --- where co-citations come from -----------------------------------------------------------


class Cocitations(NamedTuple):
    """Pairs in both directions, the queries' own reference lists, and excluded documents."""

    pairs: pl.DataFrame
    own: pl.DataFrame | None
    barred: pl.DataFrame | None
    what: str


def from_collection(
    collection: Any,
    qrels: Qrels,
    queries: pl.DataFrame | None = None,
    *,
    rel: int = 1,
    not_own_paper: bool = False,
) -> Cocitations:
    """Count the co-citations of the relevant documents (of grade ``rel``) in a collection.

    The ``collection`` has the tables ``documents``, ``papers``, ``references`` and ``links``.
    Co-citations are those in the reference lists of citing papers and documents, plus the links of
    kind ``cocited``. If the ``queries`` are known, the documents that a search excludes for them
    are excluded here, too. With ``not_own_paper`` the reference lists of their papers do not count.
    """
    relevant = qrels.table.filter(pl.col("relevance") >= rel)["doc_id"]
    lists = _lists(collection)
    links = collection.links.filter(pl.col("kind") == "cocited").select(
        "doc_id", pl.col("target_id").alias("other_id"), pl.col("weight").alias("count")
    )
    links = links.drop_nulls()
    pairs = pl.concat([cocitations(lists, relevant), both_ways(links)])
    pairs = pairs.group_by("doc_id", "other_id").agg(pl.col("count").sum())
    own = _own_lists(collection, queries, qrels) if not_own_paper else None
    what = (
        f"{lists['citer'].n_unique():,} reference lists with {lists.height:,} citations of its "
        f"documents, {links.height:,} co-citation links"
    )
    barred = None if queries is None else _barred(collection, queries, pairs)
    return Cocitations(pairs, own, barred, what)


def from_file(path: Path) -> Cocitations:
    """Read pairs from Parquet (``doc_id, other_id, count``) or lines ``doc_id other_id count``.

    The default count is 1.
    """
    if is_parquet(path):
        pairs = read_parquet(path)
        missing = [name for name in ("doc_id", "other_id", "count") if name not in pairs.columns]
        if missing:
            raise FormatError(path, None, f"missing column: {', '.join(missing)}.")
        try:
            ids = [id_column(pairs[name]) for name in ("doc_id", "other_id")]
            pairs = pl.DataFrame([*ids, number_column(pairs["count"], pl.Float64)])
        except CitebedError as error:
            raise FormatError(path, None, str(error)) from None
        if (pairs["count"] < 0).any():
            raise FormatError(path, None, "a count is below 0.")
    else:
        rows = [_pair(path, at, line) for at, line in read_data_lines(path)]
        schema = {"doc_id": pl.String, "other_id": pl.String, "count": pl.Float64}
        pairs = pl.DataFrame(rows, schema, orient="row")
    return Cocitations(both_ways(pairs), None, None, f"{pairs.height:,} pairs of documents")


def _pair(path: Path, at: int, line: str) -> tuple[str, str, float]:
    fields = line.split()
    if len(fields) not in (2, 3):
        raise FormatError(
            path, at, f"found {len(fields)} fields, expected doc_id, other_id and their count."
        )
    count = parse_number(fields[2]) if len(fields) == 3 else 1.0
    if count is None:
        raise FormatError(path, at, f"the count '{shorten(fields[2])}' is not a number.")
    if count < 0:
        raise FormatError(path, at, f"the count '{shorten(fields[2])}' is not a number from 0.")
    return fields[0], fields[1], count


def _lists(collection: Any) -> pl.DataFrame:
    """Return the citations ``citer, doc_id``; a paper that is also a document is one citer."""
    papers = collection.papers.select("paper_id", pl.col("doc_id").alias("self"))
    named = collection.references.join(papers, on="paper_id", how="left").select(
        pl.coalesce("document " + pl.col("self"), "paper " + pl.col("paper_id")).alias("citer"),
        "doc_id",
    )
    cites = collection.links.filter(pl.col("kind") == "cites").select(
        ("document " + pl.col("doc_id")).alias("citer"), pl.col("target_id").alias("doc_id")
    )
    citations: pl.DataFrame = pl.concat([named, cites])
    return citations.drop_nulls().unique()


def _own_lists(collection: Any, queries: pl.DataFrame | None, qrels: Qrels) -> pl.DataFrame:
    """Return the reference list of each query's own paper."""
    if queries is None or queries["paper_id"].null_count() == queries.height:
        name = qrels.source.name if qrels.source else qrels.name
        raise CitebedError(
            f"cannot tell which papers the queries of {name} come from. Name the query set "
            "with --queries, or leave out --not-own-paper."
        )
    lists: pl.DataFrame = collection.references.select("paper_id", "doc_id").drop_nulls()
    return queries.select("query_id", "paper_id").join(lists, on="paper_id")


def _barred(collection: Any, queries: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return what a search excludes, too: a query's exclusions and documents later than it."""
    excluded = queries.select("query_id", pl.col("exclude").alias("doc_id"))
    excluded = excluded.explode("doc_id").drop_nulls()
    date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String))
    dated = collection.documents.select("doc_id", date.alias("date")).drop_nulls()
    dated = dated.filter(pl.col("doc_id").is_in(pairs["other_id"].unique().to_list()))
    before = queries.select("before").unique().drop_nulls()
    late = before.join(dated, how="cross").filter(is_later(pl.col("date"), pl.col("before")))
    later = queries.select("query_id", "before").join(late, on="before")
    return pl.concat([excluded, later.select("query_id", "doc_id")]).unique()
