"""How work gets to shards and back: on an engine's workers, or one shard after another here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from citebed.retrieval.sharded.all_terms import CountAll, KeepAll
from citebed.retrieval.sharded.indexed import IndexedShards, Shard, opened_shard
from citebed.retrieval.sharded.shard import best

Schema = Mapping[str, Any]
Work = Callable[[Shard], pl.DataFrame]
"""What is done with a shard, and gives rows; it travels to workers."""


class Spread(Protocol):
    """The shards of a collection, wherever they are worked on."""

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        """What work makes of all shards."""

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """The same with all numbers of the same keys added up."""

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        """The best documents of each query, of those that work finds in all shards."""

    def handed_back(self, count: CountAll, keep: KeepAll) -> None:
        """The terms of all shards counted, and the sums handed back to each shard, for its own
        terms."""


@dataclass(frozen=True)
class Here:
    """The shards one after another in this process."""

    folder: Path
    indexed: IndexedShards

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        """What work makes of all shards."""
        shards = (opened_shard(self.folder, entry) for entry in self.indexed.shards)
        return pl.concat([pl.DataFrame(schema=schema), *map(work, shards)])

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """The same with all numbers of the same keys added up."""
        return self.rows(work, schema).group_by(keys).sum()

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        """The best documents of each query."""
        return best(self.rows(work, schema), depth)

    def handed_back(self, count: CountAll, keep: KeepAll) -> None:
        """The terms of all shards counted, and the sums handed back to each shard."""
        added = summed(self.rows(count, count.schema), count.numbers)
        for table in added.partition_by("shard"):
            keep(table)


def summed(table: pl.DataFrame, numbers: Sequence[str]) -> pl.DataFrame:
    """The rows of shards' terms, with the sums of all shards for their numbers."""
    return table.with_columns(pl.col(list(numbers)).sum().over("term"))
