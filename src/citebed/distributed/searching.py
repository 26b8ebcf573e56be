"""Indexing and searching on an engine: collections in shards, with the scores of one index."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.distributed.arrow import brought
from citebed.distributed.sessions import Engine
from citebed.distributed.shards import OnEngine, each
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.search.fields import DEFAULT_FIELDS
from citebed.retrieval.sharded.building import BUILT, IndexShard, ShardOptions, index_shards
from citebed.retrieval.sharded.indexed import read_indexed
from citebed.retrieval.sharded.searching import ShardedSearch


def index_on(
    engine: Engine,
    collection: str | Path | Collection,
    options: ShardOptions | None = None,
    progress: Progress = SILENT,
) -> IndexReport:
    """Index the shards of a collection, each on a worker."""
    opened = open_collection(collection)
    progress.step("indexing shards", 0)
    report = index_shards(opened, options or ShardOptions(), partial(_everywhere, engine))
    search_on(engine, opened).keep_all_terms(DEFAULT_FIELDS)
    return report


def _everywhere(engine: Engine, work: IndexShard, folders: list[Path]) -> pl.DataFrame:
    return brought(each(engine, folders, work, BUILT))


def search_on(engine: Engine, collection: str | Path | Collection) -> ShardedSearch:
    """A collection in shards whose shards are searched on an engine."""
    opened = open_collection(collection)
    indexed = read_indexed(opened)
    return ShardedSearch(opened, indexed, OnEngine(engine, opened.folder, indexed))
