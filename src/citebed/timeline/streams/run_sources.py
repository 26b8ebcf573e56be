"""Named runs to be scored: tables, or files that are read one at a time.

This module does not import numpy, so that reading can start before the rest of citebed is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from citebed.files.input_files import reusable_path
from citebed.runs.reader import as_run, as_runs, check_names, distinct_names, read_run
from citebed.runs.tables import Run
from citebed.runs.texts import RunText, large_run_text


class RunSource(NamedTuple):
    """A named run that is read each time it is scored, so that only one run is in memory.

    ``long`` is set for a file that is better read in parts.
    """

    name: str
    read: Callable[[], Run]
    long: RunText | None = None


@contextmanager
def opened_runs(runs: Any) -> Iterator[list[RunSource]]:
    """Open runs under distinct names: files, pipes, tables, or anything that `as_runs` accepts.

    ``runs`` is one run, a list, or a dict by name. Reading the first file starts at once, in a
    thread.
    """
    with ExitStack() as held:
        sources = _sources(runs, held)
        check_names([source.name for source in sources])
        yield sources


def _sources(runs: Any, held: ExitStack) -> list[RunSource]:
    named = [*runs] if isinstance(runs, Mapping) else None
    several = [runs] if isinstance(runs, str | Path) else runs if named is None else runs.values()
    items = [*several] if isinstance(runs, list | tuple | Mapping | str | Path) else []
    if isinstance(runs, list | tuple) and all(isinstance(item, RunSource) for item in items):
        return items
    paths = [Path(item) for item in items if isinstance(item, str | Path)]
    if not paths:
        return [RunSource(run.name, partial(_same, run)) for run in as_runs(runs)]
    of_files = iter(distinct_names(paths))
    names = named or [
        next(of_files) if isinstance(item, str | Path) else f"run{number}"
        for number, item in enumerate(items, 1)
    ]
    sources = [_source(str(name), item, held) for name, item in zip(names, items, strict=True)]
    return [_begun(sources[0]), *sources[1:]]


def _source(name: str, run: Any, held: ExitStack) -> RunSource:
    if not isinstance(run, str | Path):
        return RunSource(name, partial(_same, replace(as_run(run), name=name)))
    file = held.enter_context(reusable_path(Path(run)))
    return RunSource(name, lambda: replace(read_run(file), name=name), large_run_text(file, name))


def _same(run: Run) -> Run:
    return run


def _begun(source: RunSource) -> RunSource:
    """Start reading a run in a thread; the first ``read()`` returns that result."""
    if source.long is not None:
        return source
    beside = ThreadPoolExecutor(1)
    begun = [beside.submit(source.read)]
    beside.shutdown(wait=False)
    return source._replace(read=lambda: begun.pop().result() if begun else source.read())
