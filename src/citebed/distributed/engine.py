"""The engine: ``with citebed.engine("sc://host:15002") as spark: spark.evaluate(…)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection, open_collection
from citebed.collection.building.import_report import ImportReport
from citebed.collection.importing import DEFAULTS, ImportOptions
from citebed.collection.progress import SILENT, Progress
from citebed.distributed import sessions
from citebed.distributed.evaluation import evaluate_on, runs_on
from citebed.distributed.filtering.driver import filter_on
from citebed.distributed.importing.driver import import_on
from citebed.distributed.shards import SparkShards, count_shards
from citebed.distributed.shuffle import each
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import DEFAULT_MEASURES, TREC_EVAL, Settings
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.report.collection import CollectionStats, collection_stats
from citebed.retrieval.execution.runner import RunOptions
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.search.fields import DEFAULT_FIELDS
from citebed.retrieval.search.queries import read_queries
from citebed.retrieval.sharded.search import ShardedSearch
from citebed.retrieval.sharded.sharded_index import BUILT, ShardOptions, index_shards, read_indexed
from citebed.runs.tables import Run
from citebed.timeline.filters.runner import FilterOptions, FilterReport, FilterTask
from citebed.timeline.timelines import Timeline, timeline

_AS_USUAL = FilterOptions()


class Engine(sessions.Engine):
    """An engine with the commands of the command line as methods."""

    def evaluate(
        self,
        qrels: Any,
        runs: str | Path | Sequence[str | Path],
        measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
        settings: Settings = TREC_EVAL,
    ) -> Evaluation:
        """Score runs (files or folders) that the engine reads, with the results of
        `citebed.evaluate`.
        """
        several = [runs] if isinstance(runs, str | Path) else runs
        return evaluate_on(self, qrels, several, measures, settings)

    def import_sources(
        self,
        folder: str | Path,
        paths: str | Path | Sequence[str | Path],
        options: ImportOptions = DEFAULTS,
        progress: Progress = SILENT,
    ) -> ImportReport:
        """Import files and folders into a sharded collection on the workers.

        The result equals `citebed.collection.import_sources` with the same ``shard_size``.
        """
        several = [paths] if isinstance(paths, str | Path) else paths
        return import_on(self, folder, several, options, progress)

    def stats(self, collection: str | Path | Collection) -> CollectionStats:
        """Count the contents of a collection, its documents shard by shard on the workers.

        The result equals `Collection.stats`.
        """
        opened = collection if isinstance(collection, Collection) else open_collection(collection)
        return collection_stats(opened, count_shards(self, opened))

    def timeline(
        self, judgements: Any, runs: str | Path | Sequence[str | Path], **options: Any
    ) -> Timeline:
        """Score runs that the engine reads slice by slice, with the options and results of
        `citebed.timeline`.
        """
        several = [runs] if isinstance(runs, str | Path) else runs
        return timeline(judgements, runs_on(self, several), **options)

    def index(
        self, collection: str | Path | Collection, options: ShardOptions | None = None
    ) -> IndexReport:
        """Index the shards of a collection, each on a worker."""
        opened = open_collection(collection)

        def index_everywhere(
            work: Callable[[Path], pl.DataFrame], folders: list[Path]
        ) -> pl.DataFrame:
            return sessions.collect_frame(each(self, folders, work, BUILT))

        report = index_shards(opened, options or ShardOptions(), index_everywhere)
        self.shards_of(opened).keep_all_terms(DEFAULT_FIELDS)
        return report

    def search(
        self,
        collection: str | Path | Collection,
        queries: str | pl.DataFrame,
        model: str = "bm25",
        options: RunOptions | None = None,
    ) -> Run:
        """Search a sharded collection with every query of a set, a file or a table.

        The run is the same as with one index of all documents.
        """
        found = self.shards_of(collection)
        table = read_queries(found.collection, queries)
        return found.run(table, parse_pipeline(model), options or RunOptions())

    def shards_of(self, collection: str | Path | Collection) -> ShardedSearch:
        """Open the shards of a collection for queries."""
        opened = open_collection(collection)
        indexed = read_indexed(opened)
        return ShardedSearch(opened, indexed, SparkShards(self, opened.folder, indexed))

    def filter(
        self,
        task: FilterTask,
        output: str | Path,
        options: FilterOptions = _AS_USUAL,
        advance: Callable[[int], None] = lambda _: None,
        part: int = 0,
    ) -> FilterReport:
        """Filter a stream that the workers see, and write a filter run with the same bytes as
        `run_filter`. ``part`` is the approximate number of bytes in a part; by default the size of
        the stream decides."""
        return filter_on(self, task, Path(output), options, advance, part)


@contextmanager
def engine(on: str = sessions.LOCAL, conf: Iterable[str] = ()) -> Iterator[Engine]:
    """Connect to the engine at an address, and close it at the end.

    The address is ``local``, ``sc://host:15002`` (Spark Connect) or a Spark master; ``conf`` are
    Spark settings as ``key=value``.
    """
    with sessions.session(on, conf) as (opened, checked):
        yield Engine(opened, on, checked)
