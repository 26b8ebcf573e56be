"""Collections cut into shards, and indexed shard by shard in this process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
from tests.unit.retrieval.index.making import Row

from citebed.collection import Collection
from citebed.collection.storing.shards import Shards
from citebed.collection.storing.store import Manifest
from citebed.collection.tables import QUERIES, TABLES, empty_table
from citebed.retrieval.execution.runner import RunOptions
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.sharded.search import ShardedSearch
from citebed.retrieval.sharded.sharded_index import (
    ShardOptions,
    index_shards,
    opened_shard,
    read_indexed,
)
from citebed.retrieval.sharded.workers import Schema, Work, best, sum_terms
from citebed.runs.tables import Run


def cut(whole: Path, folder: Path, size: int) -> Path:
    """The same collection with its documents in shards of a size."""
    shards, tables = Shards(folder, size), dict[str, pl.DataFrame]()
    folder.mkdir(parents=True)
    for name in ("documents", "contexts", "papers", "sections"):
        path = whole / f"{name}.parquet"
        tables[name] = pl.read_parquet(path) if path.exists() else empty_table(TABLES[name])
    shards.write_documents([tables.pop("documents")])
    shards.write_others(tables, Manifest("made"))
    for name in ("contexts", "papers"):
        if (whole / f"{name}.parquet").exists():
            shutil.copy(whole / f"{name}.parquet", folder)
    for name in ("queries", "qrels"):
        if (whole / name).is_dir():
            shutil.copytree(whole / name, folder / name)
    sets = Collection(whole).query_sets
    manifest = Manifest("made", query_sets=sets, shards=shards.names, shard_size=size)
    (folder / "citebed.toml").write_text(manifest.to_toml())
    return folder


def index_here(folder: Path, **options: Any) -> Collection:
    """Index every shard in this process."""
    return indexed_here(folder, **options)[0]


def indexed_here(folder: Path, **options: Any) -> tuple[Collection, IndexReport]:
    """The same, without waiting for the disk; and what became of it."""
    collection = Collection(folder)

    def everywhere(work: Any, folders: list[Path]) -> pl.DataFrame:
        return pl.concat(map(work, folders))

    with mock.patch("os.fsync"):
        report = index_shards(collection, ShardOptions(**options), everywhere)
    return collection, report


class Here:
    """Work on the shards of a collection one after another in this process."""

    def __init__(self, collection: Collection) -> None:
        self._folder, self._entries = collection.folder, read_indexed(collection).shards

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        shards = (opened_shard(self._folder, entry) for entry in self._entries)
        return pl.concat([pl.DataFrame(schema=schema), *map(work, shards)])

    def sums(self, work: Work, schema: Schema, keys: Any) -> pl.DataFrame:
        return self.rows(work, schema).group_by(keys).sum()

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        return best(self.rows(work, schema), depth)

    def handed_back(self, count: Work, schema: Schema, keep: Any) -> None:
        for table in sum_terms(self.rows(count, schema)).partition_by("shard"):
            keep(table)


def sharded(collection: Collection) -> ShardedSearch:
    """A collection whose shards are searched one after another."""
    return ShardedSearch(collection, read_indexed(collection), Here(collection))


def search_here(
    folder: Path, queries: pl.DataFrame, pipeline: str, options: RunOptions | None = None
) -> Run:
    """Search the shards of a collection one after another."""
    return sharded(Collection(folder)).run(
        queries, parse_pipeline(pipeline), options or RunOptions()
    )


def queries_of(*rows: Row) -> pl.DataFrame:
    """Queries as a set has them."""
    full = [{**dict.fromkeys(QUERIES), **row} for row in rows]
    return pl.DataFrame(full, schema=QUERIES, orient="row")
