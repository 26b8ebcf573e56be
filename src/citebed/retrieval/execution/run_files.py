"""Run files: search a query set, and write the run with a record of how it was made."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Sized
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citebed._version import __version__
from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.files.output_files import check_not_link, write_file
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import DESCRIPTION
from citebed.retrieval.pipeline import Pipeline, parse_pipeline
from citebed.retrieval.search.queries import read_queries
from citebed.runs.metadata import describe_run, format_metadata, is_yaml
from citebed.runs.tables import is_parquet
from citebed.runs.writer import check_ids, write_run
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.runs.tables import Run

RUNS = "runs"
_PACKAGES = ("numpy", "polars", "numba", "PyStemmer", "onnxruntime", "tokenizers", "torch")


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A query set to search with a model.

    ``output`` is the run file (default: in the collection's ``runs`` folder); ``command`` is the
    command line to record. ``metadata`` describes the run as ir_metadata: ``header`` in comments at
    the top of the run, or a path in a YAML file.
    """

    queries: str
    model: str = "bm25"
    options: RunOptions = field(default_factory=RunOptions)
    output: Path | None = None
    overwrite: bool = False
    metadata: str | None = None
    command: Sequence[str] = ()


@dataclass(frozen=True)
class SearchReport:
    """A run that was written: its files, and what to tell the user."""

    run: Run
    files: tuple[Path, ...]
    summary: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SearchTarget:
    """An index, or the indexes of many shards, to search.

    ``facts`` identify the index in a run's record. ``run`` searches for every query of a table;
    ``is_current`` returns True if the collection has not changed since it was indexed.
    """

    fields: Sized[str]
    analyser: str
    facts: Mapping[str, Any]
    run: Callable[[pl.DataFrame, Pipeline, RunOptions, Progress], Run]
    is_current: Callable[[], bool]


def _single_index(collection: Collection) -> SearchTarget:
    index = open_index(collection, verified=True)
    description = index.description
    facts = {
        "documents": description.documents,
        "sha256": hash_file(index.folder / DESCRIPTION),
        "sources": {name: state["sha256"] for name, state in description.sources.items()},
    }
    return SearchTarget(
        index.fields, description.analyser, facts,
        lambda *given: run_queries(collection, index, *given), index.is_current,
    )  # fmt: skip


def search_to_file(
    folder: Path,
    request: SearchRequest,
    progress: Progress = SILENT,
    target: SearchTarget | None = None,
) -> SearchReport:
    """Search with every query of a set, and write a run atomically.

    ``target`` is what to search (default: the collection's one index). The run's record has the
    command, the model, versions, and hashes of the inputs.
    """
    import platform
    from importlib import metadata

    pipeline = parse_pipeline(request.model)
    collection = open_collection(folder)
    searched = target or _single_index(collection)
    table = read_queries(collection, request.queries)
    if table.is_empty():
        raise CitebedError(f"the query set '{request.queries}' has judgements but no queries.")
    path = request.output or run_file(folder, request.model, request.queries)
    in_header = request.metadata == "header"
    if in_header and is_parquet(path):
        raise CitebedError("a Parquet file has no header. Name a file, such as ir-metadata.yml.")
    if request.metadata and not in_header and not is_yaml(Path(request.metadata)):
        found = printable(request.metadata)
        raise CitebedError(f"metadata is '{found}'; expected 'header', or a file ending in .yml.")
    apart = [Path(request.metadata)] if request.metadata and not in_header else []
    for place in (path, *apart):
        if place.exists() and not request.overwrite:
            what = f"'{printable(place)}' already exists. Add --overwrite to replace it."
            raise CitebedError(what)
    check_ids(table.select("query_id"), path)  # now, not after an hour of searching
    with measured() as resources:
        run = searched.run(table, pipeline, request.options, progress)
    source = Path(request.queries)
    if request.queries in collection.query_sets:
        source = collection.folder / "queries" / f"{request.queries}.jsonl"
    queries = {"set": request.queries, "number": table.height, "sha256": hash_file(source)}
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package.lower()] = metadata.version(package)
    facts = {
        "made_by": f"citebed {__version__}",
        "command": list(request.command),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": str(pipeline),
        "fields": str(request.options.fields.of(searched.fields)),
        "depth": request.options.depth,
        "queries_as_is": request.options.as_is,
        "seed": None,
        "analyser": searched.analyser,
        "queries": queries,
        "index": searched.facts,
        **run.facts,
        "notes": list(run.notes),
        "versions": versions,
        "resources": resources,
        "collection": collection.name,
        "run": path.name,
    }
    header = format_metadata(describe_run(facts), header=True) if in_header else ""
    written = write_run(path, run, str(pipeline), facts, header)
    for place in apart:
        write_file(place, format_metadata(describe_run(facts)))
    name = printable(folder)
    old = f"{name} has changed since it was indexed. Run: citebed index {name}"
    return SearchReport(
        run, tuple(written),
        f"{count(table.height, 'query')}, {count(run.table.height, 'result')} "
        f"with {pipeline}: {printable(written[0])} (and {printable(written[1].name)})",
        (*(() if searched.is_current() else (old,)), *run.notes),
    )  # fmt: skip


@contextlib.contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """Measure a block: its start, milliseconds, and the most memory of the process so far, in KB.

    The result is filled when the block ends. The times are of this process with its children.
    """
    started, before = datetime.now(UTC), os.times()
    used: dict[str, Any] = {"start": started.isoformat(timespec="milliseconds")}
    yield used
    after = os.times()
    used["wallclock"] = round((after.elapsed - before.elapsed) * 1000)
    for name in ("user", "system"):
        times = (
            getattr(each, name) + getattr(each, f"children_{name}") for each in (after, before)
        )
        used[name] = round((next(times) - next(times)) * 1000)
    unit = 1024 if sys.platform == "darwin" else 1
    used["ram"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def run_file(folder: Path, model: str, queries: str) -> Path:
    """Return the path of a run without a name: in the collection's ``runs``, and not a link."""
    name = "".join(c if c.isalnum() or c in ".-=" else "_" for c in model).strip("_")
    path = check_not_link(folder / RUNS) / f"{name}.{Path(queries).stem}.run"
    if path.is_symlink():
        raise CitebedError(f"'{printable(path)}' is a link. Name the run file with -o.")
    return path
