"""Runs on an engine: lines are read where they lie, laid beside the judgements query by query, and
only the places of judged documents come back, from which scores are made as on one machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from citebed.distributed.sessions import Engine, run
from citebed.errors import CitebedError
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.scoring.run_scores import Matched
from citebed.runs.ranking import ScoreType, SortedQrels, check_twice, codes_of, prepare, rank
from citebed.runs.tables import Qrels, Run, checked_columns, columns_of, is_parquet
from citebed.runs.trec_files import RUN, parsed_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_AT_ONCE = 64 << 20
"""Bytes of a run that a worker holds at a time, about: so many queries go together."""
_LINES = 200_000
_PARTS = 1024
"""Into so many parts queries go where it cannot be told how large a run is."""
_ROWS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "error": pl.String}
_PLACES = {
    "query_id": pl.String, "retrieved": pl.Int64, "rank": pl.Int64, "relevance": pl.Int64,
    "tie_first": pl.Int64, "tie_size": pl.Int64, "error": pl.String,
}  # fmt: skip
"""A row a query that the run has, with how many documents; and a row a judged document in it."""
_SPARK = {pl.String: "string", pl.Int64: "bigint", pl.Float64: "double"}


def match_on(
    engine: Engine, qrels: Qrels, path: str, name: str, score_type: ScoreType = "double"
) -> Matched:
    """Lay a run that the engine reads beside the judgements."""
    lines = None if is_parquet(Path(path)) else engine.lines(path)
    if lines is None:
        rows = _rows_of(engine, path)
    else:
        rows = lines.mapInArrow(_parsed(path), _spelled(_ROWS))
    placed = _placed(_Judged(qrels.table), path, score_type)
    together = rows.groupBy(_part(path)).applyInArrow(placed, _spelled(_PLACES))
    table = pl.DataFrame(run(together))
    if len(wrong := table["error"].drop_nulls()):
        raise CitebedError(wrong.sort()[0])
    tag = None if lines is None else _tag(lines)
    of_queries = table.filter(pl.col("retrieved").is_not_null()).sort("query_id")
    rankings = _rankings(prepare(qrels), of_queries, table.filter(pl.col("rank").is_not_null()))
    return Matched(name, tag, of_queries["query_id"], rankings)


def _part(path: str) -> Column:
    """Which part a row goes to: all rows of a query to one."""
    from pyspark.sql import functions as of

    local = Path(path.removeprefix("file://"))
    files = [local] if local.is_file() else [*local.rglob("*")] if local.is_dir() else []
    size = sum(file.stat().st_size for file in files if file.is_file())
    parts = max(8, math.ceil(size / _AT_ONCE)) if size else _PARTS
    return of.pmod(of.crc32(of.coalesce("query_id", of.lit("")).cast("binary")), of.lit(parts))


def _spelled(schema: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_SPARK[kind]}" for name, kind in schema.items())


def _rows_of(engine: Engine, path: str) -> DataFrame:
    """The columns of a table under our names; ids as text."""
    from pyspark.sql import functions as of

    table = engine.table(path)
    names = columns_of(table.columns, RUN)
    kinds = {name: of.col(names[name]).cast(_SPARK[_ROWS[name]]) for name in RUN.columns}
    columns = [column.alias(name) for name, column in kinds.items()]
    return table.select(*columns, of.lit(None).cast("string").alias("error"))


def _tag(lines: DataFrame) -> str | None:
    for row in lines.limit(100).collect():
        fields = row[0].split()
        if fields and not fields[0].startswith("#"):
            return str(fields[-1])
    return None


def _rankings(qrels: SortedQrels, of_queries: pl.DataFrame, places: pl.DataFrame) -> Rankings:
    """What the workers found, as if one machine had found it."""
    codes = codes_of(of_queries["query_id"], qrels.query_ids)
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    retrieved[codes[codes >= 0]] = of_queries["retrieved"].to_numpy()[codes >= 0]
    query = codes_of(places["query_id"], qrels.query_ids)
    order = np.lexsort((places["rank"].to_numpy(), query))
    columns = (places[name].to_numpy()[order] for name in ("rank", "relevance", *_TIES))
    rank_, relevance, tie_first, tie_size = columns
    return Rankings(
        query_ids=qrels.query_ids,
        in_run=np.isin(np.arange(len(retrieved)), codes),
        retrieved=retrieved,
        query=query[order],
        rank=rank_,
        relevance=relevance,
        tie_first=tie_first,
        tie_size=tie_size,
        judged_query=qrels.query,
        judged_relevance=qrels.relevance,
    )


_TIES = ("tie_first", "tie_size")

# --- What workers do ----------------------------------------------------------------------------

Batches = Iterable["pa.RecordBatch"]
Work = Callable[[Batches], Iterator["pa.RecordBatch"]]


def _sent(table: pl.DataFrame, schema: Mapping[str, Any]) -> pa.Table:
    """Rows as an engine takes them; what is wrong is a row too, since an exception would come to
    the user wrapped in the engine's own."""
    whole = table.select(pl.col(name) if name in table.columns else pl.lit(None, kind).alias(name)
                         for name, kind in schema.items())  # fmt: skip
    import pyarrow as pa

    # Spark's strings are those of 32 bits; polars' are of 64.
    kinds = {pl.String: pa.string(), pl.Int64: pa.int64(), pl.Float64: pa.float64()}
    wanted = pa.schema([(name, kinds[kind]) for name, kind in schema.items()])
    return whole.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(wanted)


def _parsed(path: str) -> Work:
    """Lines of a run as rows."""

    def parse(batches: Batches) -> Iterator[pa.RecordBatch]:
        for lines in _gathered(batches):
            try:
                table = parsed_lines(lines.str.join("\n")[0].encode(), RUN, Path(path))
            except CitebedError as error:
                table = pl.DataFrame({"error": [str(error)]})
            yield from _sent(table, _ROWS).to_batches()

    return parse


def _gathered(batches: Batches) -> Iterator[pl.Series]:
    """Lines in pieces that are worth the reader's beginning: engines hand over a few thousand."""
    kept: list[pl.Series] = []
    for batch in batches:
        kept.append(pl.Series(batch.column(0)))
        if sum(map(len, kept)) >= _LINES:
            yield pl.concat(kept)
            kept = []
    if kept:
        yield pl.concat(kept)


class _Judged:
    """Judgements that travel with the work, and are put in order once in each worker."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._data = table.write_ipc(None).getvalue()

    def sorted(self) -> SortedQrels:
        """The judgements in order."""
        return _in_order(self._data)


@cache
def _in_order(data: bytes) -> SortedQrels:
    return prepare(Qrels(pl.read_ipc(data)))


def _placed(judged: _Judged, path: str, score_type: ScoreType) -> Callable[[pa.Table], pa.Table]:
    """Rows of whole queries as the places of judged documents."""

    def place(rows: pa.Table) -> pa.Table:
        try:
            table = _places(judged.sorted(), pl.DataFrame(rows), path, score_type)
        except CitebedError as error:
            table = pl.DataFrame({"error": [str(error)]})
        return _sent(table, _PLACES)

    return place


def _places(
    qrels: SortedQrels, rows: pl.DataFrame, path: str, score_type: ScoreType
) -> pl.DataFrame:
    if len(wrong := rows["error"].drop_nulls()):
        raise CitebedError(wrong.sort()[0])
    try:
        checked = checked_columns(rows, RUN)
    except CitebedError as error:
        raise CitebedError(f"{path}: {error}") from None
    ranked = rank(Run(checked, path), score_type)
    check_twice(ranked)
    found = match(qrels, ranked)
    judged = {name: getattr(found, name) for name in ("rank", "relevance", *_TIES)}
    return pl.concat(
        [
            pl.DataFrame({"query_id": ranked.query_ids, "retrieved": ranked.lengths}),
            pl.DataFrame({"query_id": found.query_ids.gather(found.query), **judged}),
        ],
        how="diagonal",
    )
