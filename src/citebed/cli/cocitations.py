"""What expanding judgements takes from a collection or a file: co-citations, and whose they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from citebed.errors import CitebedError, FormatError

if TYPE_CHECKING:
    import polars as pl

    from citebed.collection import Collection


class Found(NamedTuple):
    """Pairs in both directions, the queries' own reference lists, and what they may not have."""

    pairs: pl.DataFrame
    own: pl.DataFrame | None
    barred: pl.DataFrame | None
    what: str


def from_collection(
    folder: Path, qrels: Path, queries: str | None, relevant: pl.Series, not_own_paper: bool
) -> Found:
    """Co-citations in a collection: its citing papers' and documents' reference lists, and the
    links of kind ``cocited``, added up."""
    import polars as pl

    from citebed.collection import open_collection
    from citebed.evaluation.judgements.cocitation import added, both_ways, cocitations

    collection = open_collection(folder)
    lists = _lists(collection)
    links = collection.links.filter(pl.col("kind") == "cocited").select(
        "doc_id", pl.col("target_id").alias("other_id"), pl.col("weight").alias("count")
    )
    links = links.drop_nulls()
    pairs = added(cocitations(lists, relevant), both_ways(links))
    asked = _queries(collection, qrels, queries)
    own = _own(collection, asked, qrels) if not_own_paper else None
    what = (
        f"{lists['citer'].n_unique():,} reference lists with {lists.height:,} citations of its "
        f"documents, {links.height:,} co-citation links"
    )
    return Found(pairs, own, _barred(collection, asked, pairs), what)


def from_file(path: Path) -> Found:
    """Pairs from Parquet (``doc_id, other_id, count``) or lines ``doc_id other_id count``.

    The count may be left out, and is 1 then.
    """
    import polars as pl

    from citebed.evaluation.judgements.cocitation import both_ways

    if path.suffix == ".parquet":
        pairs = _table_of_pairs(path)
    else:
        rows = [_pair(path, at, line) for at, line in told_lines(path)]
        schema = {"doc_id": pl.String, "other_id": pl.String, "count": pl.Float64}
        pairs = pl.DataFrame(rows, schema, orient="row")
    return Found(both_ways(pairs), None, None, f"{pairs.height:,} pairs of documents")


def _table_of_pairs(path: Path) -> pl.DataFrame:
    import polars as pl

    from citebed.files.parquet import read_parquet
    from citebed.runs.tables import id_column, number_column

    pairs = read_parquet(path)
    missing = [name for name in ("doc_id", "other_id", "count") if name not in pairs.columns]
    if missing:
        raise FormatError(path, None, f"there is no column {', '.join(missing)}.")
    try:
        ids = [id_column(pairs[name]) for name in ("doc_id", "other_id")]
        checked = pl.DataFrame([*ids, number_column(pairs["count"], pl.Float64)])
    except CitebedError as error:
        raise FormatError(path, None, str(error)) from None
    if (checked["count"] < 0).any():
        raise FormatError(path, None, "a count is below 0.")
    return checked


def told_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that hold something other than a comment, with their numbers."""
    from citebed.files.reading import read_lines

    for at, line in read_lines(path):
        if "\r" in line:
            raise FormatError(path, at, "a carriage return stands within the line. Make it \\n.")
        if line.strip() and not line.startswith("#"):
            yield at, line


def _pair(path: Path, at: int, line: str) -> tuple[str, str, float]:
    fields = line.split()
    if len(fields) not in (2, 3):
        raise FormatError(
            path, at, f"found {len(fields)} fields, expected doc_id, other_id and their count."
        )
    try:
        count = float(fields[2]) if len(fields) == 3 else 1.0
    except ValueError:
        raise FormatError(path, at, f"the count '{fields[2]}' is not a number.") from None
    if not 0 <= count < float("inf"):
        raise FormatError(path, at, f"the count '{fields[2]}' is not a number from 0.")
    return fields[0], fields[1], count


def _lists(collection: Collection) -> pl.DataFrame:
    """Who cites what: ``citer, doc_id``. A citing paper that is a document too is one citer."""
    import polars as pl

    papers = collection.papers.select("paper_id", pl.col("doc_id").alias("self"))
    named = collection.references.join(papers, on="paper_id", how="left").select(
        pl.coalesce("document " + pl.col("self"), "paper " + pl.col("paper_id")).alias("citer"),
        "doc_id",
    )
    cites = collection.links.filter(pl.col("kind") == "cites").select(
        ("document " + pl.col("doc_id")).alias("citer"), pl.col("target_id").alias("doc_id")
    )
    return pl.concat([named, cites]).drop_nulls().unique()


def _queries(collection: Collection, qrels: Path, name: str | None) -> pl.DataFrame | None:
    """The queries named, or those that the judgements of the collection belong to."""
    from citebed.retrieval.queries import read_queries
    from citebed.runs.reading import name_of

    if name is None:
        own = os.path.realpath(collection.folder / "qrels")
        if os.path.dirname(os.path.realpath(qrels)) != own:
            return None
        name = name_of(qrels)
        if name not in collection.query_sets:
            return None
    return read_queries(collection, name)


def _own(collection: Collection, asked: pl.DataFrame | None, qrels: Path) -> pl.DataFrame:
    """For each query, the reference list of the paper that it comes from."""
    if asked is None or asked["paper_id"].null_count() == asked.height:
        raise CitebedError(
            f"cannot tell which papers the queries of {qrels.name} come from. Name the query set "
            "with --queries, or leave out --not-own-paper."
        )
    lists = collection.references.select("paper_id", "doc_id").drop_nulls()
    return asked.select("query_id", "paper_id").join(lists, on="paper_id")


def _barred(
    collection: Collection, asked: pl.DataFrame | None, pairs: pl.DataFrame
) -> pl.DataFrame | None:
    """What searching bars too: documents that a query excludes, and those later than it."""
    import polars as pl

    from citebed.collection.building.citing import is_later

    if asked is None:
        return None
    excluded = asked.select("query_id", pl.col("exclude").alias("doc_id"))
    excluded = excluded.explode("doc_id").drop_nulls()
    date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String))
    dated = collection.documents.select("doc_id", date.alias("date")).drop_nulls()
    dated = dated.filter(pl.col("doc_id").is_in(pairs["other_id"].unique().to_list()))
    before = asked.select("before").unique().drop_nulls()
    late = before.join(dated, how="cross").filter(is_later(pl.col("date"), pl.col("before")))
    later = asked.select("query_id", "before").join(late, on="before")
    return pl.concat([excluded, later.select("query_id", "doc_id")]).unique()
