"""A query set searched and written as a run, with the file that says how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.files.output_files import check_not_link
from citebed.retrieval.execution.run_facts import Searchable, index_facts, run_facts
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import Pipeline, parse_pipeline
from citebed.retrieval.search.queries import query_facts, read_queries
from citebed.runs.writer import check_ids, write_run
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.runs.tables import Run

RUNS = "runs"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A search of a whole query set; ``output`` is the run's file, among the collection's unless it
    is given, and ``command`` what was typed for it."""

    queries: str
    model: str = "bm25"
    options: RunOptions = field(default_factory=RunOptions)
    output: Path | None = None
    overwrite: bool = False
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Searched:
    """A run that was written: its files, and what there is to say of it."""

    run: Run
    files: tuple[Path, ...]
    summary: str
    notes: tuple[str, ...]


class Searching(Searchable, Protocol):
    """What is searched with queries: an index, or those of many shards."""

    def run(
        self, table: pl.DataFrame, pipeline: Pipeline, options: RunOptions, progress: Progress
    ) -> Run:
        """Search for every query."""

    def is_current(self) -> bool:
        """Whether the collection is as it was indexed."""


@dataclass(frozen=True)
class OneIndex:
    """The index of a collection."""

    collection: Collection
    index: Index

    @property
    def fields(self) -> Sequence[str]:
        """The fields that it has."""
        return self.index.fields

    @property
    def analyser(self) -> str:
        """How its texts become terms."""
        return self.index.description.analyser

    @property
    def facts(self) -> dict[str, Any]:
        """What tells it from any other."""
        return index_facts(self.index)

    def is_current(self) -> bool:
        """Whether the collection is as it was indexed."""
        return self.index.is_current()

    def run(
        self, table: pl.DataFrame, pipeline: Pipeline, options: RunOptions, progress: Progress
    ) -> Run:
        """Search for every query."""
        return run_queries(self.collection, self.index, table, pipeline, options, progress)


def search_to_file(
    folder: Path, asked: Asked, progress: Progress = SILENT, searching: Searching | None = None
) -> Searched:
    """Search with every query of a set and write a run; whole or not at all.

    By default the collection's one index is searched.
    """
    pipeline = parse_pipeline(asked.model)
    collection = open_collection(folder)
    index = searching or OneIndex(collection, open_index(folder, verified=True))
    table = read_queries(collection, asked.queries)
    if table.is_empty():
        raise CitebedError(f"the query set '{asked.queries}' has judgements but no queries.")
    path = asked.output or run_file(folder, asked.model, asked.queries)
    if path.exists() and not asked.overwrite:
        there = f"'{printable(path)}' is there already"
        raise CitebedError(f"{there}; add --overwrite to replace it")
    check_ids(table.select("query_id"), path)  # now, not after an hour of searching
    run = index.run(table, pipeline, asked.options, progress)
    about = query_facts(collection, asked.queries, table)
    facts = run_facts(index, pipeline, asked.options, run, about, asked.command)
    written = write_run(path, run, str(pipeline), {**facts, "run": path.name})
    name = printable(folder)
    old = f"{name} has changed since it was indexed; run: citebed index {name}"
    return Searched(
        run, tuple(written),
        f"{count(table.height, 'query')}, {count(run.table.height, 'result')} "
        f"with {pipeline}: {printable(written[0])} (and {printable(written[1].name)})",
        (*(() if index.is_current() else (old,)), *run.notes),
    )  # fmt: skip


def run_file(folder: Path, model: str, queries: str) -> Path:
    """Where a run is put that got no name: among the collection's, never through a link."""
    name = "".join(c if c.isalnum() or c in ".-=" else "_" for c in model).strip("_")
    path = check_not_link(folder / RUNS) / f"{name}.{Path(queries).stem}.run"
    if path.is_symlink():
        raise CitebedError(f"'{printable(path)}' is a link; name the run's file with -o")
    return path
