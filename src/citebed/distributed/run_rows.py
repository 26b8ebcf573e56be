"""Runs where an engine has them: TREC's text, KBA's, or Parquet, files or folders of them, as rows
that go to workers in parts, all rows of a query to the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from citebed.distributed.arrow import (
    ERROR,
    SPARK,
    Batches,
    Schema,
    refuse_errors,
    sent,
    spelled,
    wrong,
)
from citebed.distributed.sessions import Engine
from citebed.errors import CitebedError
from citebed.runs.kba_files import RUN_FORM, parsed_filter_lines
from citebed.runs.tables import Run, checked_columns, columns_of, is_parquet
from citebed.runs.trec_files import RUN, parsed_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

ROWS: Schema = {
    "query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "time": pl.Int64,
    ERROR: pl.String,
}  # fmt: skip
_AT_ONCE = 64 << 20
"""Bytes of a run that a worker holds at a time, about: so many queries go together."""
_PARTS = 1024
"""Into so many parts queries go where it cannot be told how large a run is."""
_LINES = 200_000
"""Lines that are parsed at once: engines hand over a few thousand."""
_HEAD = 100
Part = Callable[[Run], pl.DataFrame]
"""What a worker does with a part of a run, whose queries are whole."""


class RunRows(NamedTuple):
    """A run on an engine: its rows, what it calls itself, and whose it is."""

    path: str
    rows: DataFrame
    has_times: bool
    tag: str | None = None
    team: str | None = None

    def by_query(self, work: Part, schema: Schema) -> DataFrame:
        """What ``work`` makes of the run, part by part, on the engine's workers."""
        path, has_times = self.path, self.has_times

        def part(table: pa.Table) -> pa.Table:
            try:
                made = work(_run_of(pl.DataFrame(table), path, has_times))
            except CitebedError as error:
                made = wrong(error)
            return sent(made, schema)

        return self.rows.groupBy(_part(path)).applyInArrow(part, spelled(schema))


def run_rows(engine: Engine, path: str) -> RunRows:
    """A run that the engine reads, by its path."""
    if is_parquet(Path(path)):
        return RunRows(path, *_of_table(engine, path))
    lines = engine.lines(path)
    head: list[list[str]] = [row[0].split() for row in lines.limit(_HEAD).collect()]
    first = next((fields for fields in head if fields and not fields[0].startswith("#")), [])
    is_kba = len(first) >= len(RUN_FORM)
    rows = lines.mapInArrow(_parsing(path, is_kba=is_kba), spelled(ROWS))
    if is_kba:
        return RunRows(path, rows, True, first[1] or None, first[0])
    return RunRows(path, rows, False, first[-1] if first else None)


def _of_table(engine: Engine, path: str) -> tuple[DataFrame, bool]:
    """The columns of a table under our names, and whether it has times."""
    from pyspark.sql import functions as of

    table = engine.table(path)
    names = columns_of(table.columns, RUN)
    has_times = "time" in table.columns
    found = {**names, **({"time": "time"} if has_times else {})}
    columns = [
        (of.col(found[name]) if name in found else of.lit(None)).cast(SPARK[kind]).alias(name)
        for name, kind in ROWS.items()
    ]
    return table.select(*columns), has_times


def _part(path: str) -> Column:
    """Which part a row goes to: all rows of a query to one."""
    from pyspark.sql import functions as of

    local = Path(path.removeprefix("file://"))
    files = [local] if local.is_file() else [*local.rglob("*")] if local.is_dir() else []
    size = sum(file.stat().st_size for file in files if file.is_file())
    parts = max(8, math.ceil(size / _AT_ONCE)) if size else _PARTS
    return of.pmod(of.crc32(of.coalesce("query_id", of.lit("")).cast("binary")), of.lit(parts))


def _parsing(path: str, *, is_kba: bool) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """What makes rows of lines."""

    def parse(batches: Batches) -> Iterator[pa.RecordBatch]:
        for lines in _gathered(batches):
            data = lines.str.join("\n")[0].encode()
            try:
                table = (
                    parsed_filter_lines(data, Path(path))
                    if is_kba
                    else parsed_lines(data, RUN, Path(path))
                )
            except CitebedError as error:
                table = wrong(error)
            yield from sent(table, ROWS).to_batches()

    return parse


def _gathered(batches: Batches) -> Iterator[pl.Series]:
    """Lines in pieces that are worth the reader's beginning."""
    kept: list[pl.Series] = []
    for batch in batches:
        kept.append(pl.Series(batch.column(0)))
        if sum(map(len, kept)) >= _LINES:
            yield pl.concat(kept)
            kept = []
    if kept:
        yield pl.concat(kept)


def _run_of(rows: pl.DataFrame, path: str, has_times: bool) -> Run:
    """The rows of a part as a run, checked as those of a file are."""
    refuse_errors(rows)
    try:
        checked = checked_columns(rows, RUN)
    except CitebedError as error:
        raise CitebedError(f"{path}: {error}") from None
    return Run(checked, path, times=rows["time"] if has_times else None)
