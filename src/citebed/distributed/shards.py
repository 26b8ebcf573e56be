"""Work on the shards of a collection, spread over workers: one task per shard.

The workers see the folder of the collection under the same path as this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from citebed.collection import Collection
from citebed.collection.statistics import count_documents
from citebed.distributed.arrow import ERROR, error_row, spark_schema, to_arrow
from citebed.distributed.sessions import Engine, collect_frame, one_row_batches
from citebed.distributed.shuffle import (
    Given,
    Message,
    collect_messages,
    each,
    map_partitions,
    pack_table,
    send_values,
    unpack_json,
    unpack_table,
)
from citebed.errors import CitebedError
from citebed.retrieval.sharded.sharded_index import IndexedShards, opened_shard
from citebed.retrieval.sharded.term_counts import KEPT
from citebed.retrieval.sharded.workers import Schema, Work, best, sum_terms

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


_TERMS, _FEWEST = 1_000_000, 8
"""Number of documents whose terms a worker adds up at a time, and the minimum number of parts."""
_TOGETHER = 64
"""Number of queries whose documents a worker merges at a time."""


@dataclass(frozen=True)
class SparkShards:
    """The shards of an indexed collection, on an engine."""

    engine: Engine
    folder: Path
    indexed: IndexedShards

    def _each(self, work: Work, schema: Schema) -> DataFrame:
        folder = self.folder.resolve()
        return each(
            self.engine,
            self.indexed.shards,
            lambda entry: work(opened_shard(folder, entry)),
            schema,
        )

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        if pl.Binary not in schema.values():
            return collect_frame(self._each(work, schema))
        with one_row_batches(self.engine):
            return collect_frame(self._each(work, schema))

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """Return the rows of all shards; the numbers of rows with equal keys are added up."""
        from pyspark.sql import functions as of

        numbers = [of.sum(name).alias(name) for name in schema if name not in keys]
        grouped = self._each(work, schema).groupBy(*keys)
        return collect_frame(grouped.agg(*numbers, of.max(ERROR).alias(ERROR)))

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        from pyspark.sql import functions as of

        whole = {**schema, ERROR: pl.String}

        part = of.floor(of.coalesce(of.col("query"), of.lit(0)) / of.lit(_TOGETHER))
        merged = self._each(work, schema).groupBy(part)
        merge = _handing_on(lambda found: best(found, depth), whole)
        return collect_frame(merged.applyInArrow(merge, spark_schema(whole)))

    def handed_back(
        self, count: Work, schema: Schema, keep: Callable[[pl.DataFrame], pl.DataFrame]
    ) -> None:
        """Count the terms of all shards, and give each shard the sums of its own terms."""
        from pyspark.sql import functions as of

        parts = max(_FEWEST, math.ceil(self.indexed.documents / _TERMS))
        term = of.coalesce(of.col("term"), of.lit("")).cast("binary")
        rows = self._each(count, schema).groupBy(of.pmod(of.crc32(term), of.lit(parts)))
        whole = {**schema, ERROR: pl.String}
        sums = rows.applyInArrow(_handing_on(sum_terms, whole), spark_schema(whole))
        kept = {**KEPT, ERROR: pl.String}
        by_shard = sums.groupBy(of.coalesce("shard", of.lit("")))
        collect_frame(by_shard.applyInArrow(_handing_on(keep, kept), spark_schema(kept)))


def _handing_on(
    work: Callable[[pl.DataFrame], pl.DataFrame], schema: Schema
) -> Callable[[pa.Table], pa.Table]:
    """Return a step that works on a group of rows and passes errors on."""

    def part(table: pa.Table) -> pa.Table:
        found = pl.DataFrame(table)
        told = found.filter(pl.col(ERROR).is_not_null()).select(ERROR)
        try:
            made = told if told.height else work(found.drop(ERROR))
        except CitebedError as error:
            made = error_row(error)
        return to_arrow(made, schema)

    return part


def count_shards(engine: Engine, collection: Collection) -> pl.DataFrame:
    """Count the documents of a collection, shard by shard on an engine's workers, which must see
    the collection at the same path."""
    folders = collection.shards or (collection.folder,)
    shards = send_values(engine, "shard", (str(folder.absolute()) for folder in folders))
    made = collect_messages(map_partitions(shards, _count, len(folders)))
    return pl.concat(unpack_table(data) for _, data in made)


def _count(number: int, given: Given) -> Iterator[Message]:
    tally = count_documents(Collection(unpack_json(given, "shard")))
    yield Message("tally", number, pack_table(tally))
