"""Work on the shards of a collection, spread over an engine's workers: a task a shard.

The workers see the collection's folder under the same path as this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from citebed._version import __version__
from citebed.distributed.arrow import ERROR, Batches, brought, check_version, sent, spelled, wrong
from citebed.distributed.sessions import Engine, row_by_row
from citebed.errors import CitebedError
from citebed.retrieval.sharded.all_terms import KEPT, CountAll, KeepAll
from citebed.retrieval.sharded.indexed import IndexedShards, opened_shard
from citebed.retrieval.sharded.shard import best
from citebed.retrieval.sharded.spreading import Schema, Work, summed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_TERMS, _FEWEST = 1_000_000, 8
"""Documents whose terms are added up by a worker at a time; and in how many parts at least."""
_TOGETHER = 64
"""Queries whose documents are merged by one worker at a time."""
Thing = TypeVar("Thing")


def each(
    engine: Engine, things: Sequence[Thing], work: Callable[[Thing], pl.DataFrame], schema: Schema
) -> DataFrame:
    """The rows that work makes of things, each of them a task of its own; what is wrong is a row
    too."""
    whole = {**schema, ERROR: pl.String}
    todo, version = list(things), __version__
    a_batch = 1 if pl.Binary in schema.values() else None  # those are megabytes each

    def part(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    check_version(version)
                    made = work(todo[number])
                except CitebedError as error:
                    made = wrong(error)
                yield from sent(made, whole).to_batches(a_batch)

    numbers = engine.session.range(0, len(todo), 1, len(todo))
    return numbers.mapInArrow(part, spelled(whole))


@dataclass(frozen=True)
class OnEngine:
    """The shards of a collection that is indexed, on an engine."""

    engine: Engine
    folder: Path
    indexed: IndexedShards

    def _each(self, work: Work, schema: Schema) -> DataFrame:
        folder = self.folder.resolve()

        def with_shard(entry: Any) -> pl.DataFrame:
            return work(opened_shard(folder, entry))

        return each(self.engine, self.indexed.shards, with_shard, schema)

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        """What work makes of all shards."""
        if pl.Binary not in schema.values():
            return brought(self._each(work, schema))
        with row_by_row(self.engine):
            return brought(self._each(work, schema))

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """The same with all numbers of the same keys added up."""
        from pyspark.sql import functions as of

        numbers = [of.sum(name).alias(name) for name in schema if name not in keys]
        grouped = self._each(work, schema).groupBy(*keys)
        return brought(grouped.agg(*numbers, of.max(ERROR).alias(ERROR)))

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        """The best documents of each query, of those that work finds in all shards."""
        from pyspark.sql import functions as of

        whole = {**schema, ERROR: pl.String}

        def merge(found: pl.DataFrame) -> pl.DataFrame:
            return best(found, depth)

        part = of.floor(of.coalesce(of.col("query"), of.lit(0)) / of.lit(_TOGETHER))
        merged = self._each(work, schema).groupBy(part)
        return brought(merged.applyInArrow(_handing_on(merge, whole), spelled(whole)))

    def handed_back(self, count: CountAll, keep: KeepAll) -> None:
        """The terms of all shards counted, and the sums handed back to each shard."""
        from pyspark.sql import functions as of

        schema, numbers = {**count.schema, ERROR: pl.String}, count.numbers

        def add(found: pl.DataFrame) -> pl.DataFrame:
            return summed(found, numbers)

        parts = max(_FEWEST, math.ceil(self.indexed.documents / _TERMS))
        term = of.coalesce(of.col("term"), of.lit("")).cast("binary")
        rows = self._each(count, count.schema).groupBy(of.pmod(of.crc32(term), of.lit(parts)))
        sums = rows.applyInArrow(_handing_on(add, schema), spelled(schema))
        kept = {**KEPT, ERROR: pl.String}
        by_shard = sums.groupBy(of.coalesce("shard", of.lit("")))
        brought(by_shard.applyInArrow(_handing_on(keep, kept), spelled(kept)))


def _handing_on(
    work: Callable[[pl.DataFrame], pl.DataFrame], schema: Schema
) -> Callable[[pa.Table], pa.Table]:
    """What works on a group of rows, and hands on what was wrong with them."""

    def part(table: pa.Table) -> pa.Table:
        found = pl.DataFrame(table)
        told = found.filter(pl.col(ERROR).is_not_null()).select(ERROR)
        try:
            made = told if told.height else work(found.drop(ERROR))
        except CitebedError as error:
            made = wrong(error)
        return sent(made, schema)

    return part
