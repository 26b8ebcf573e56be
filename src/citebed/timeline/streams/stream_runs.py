"""Runs over a stream as lines, read in batches, and ahead of their use if one likes.

Nothing here waits for numpy: a run can be begun while the rest of a program still loads.
"""

from __future__ import annotations

import io
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.files.line_blocks import file_blocks
from citebed.files.packed import polars_misreads
from citebed.files.parquet import read_parquet
from citebed.files.reading import at_hand, is_packed, opened
from citebed.files.system_errors import reading_told
from citebed.runs.plain_text import separators, separators_in
from citebed.runs.reading import Form, as_runs, check_names, distinct_names, form_of, name_of
from citebed.runs.tables import checked_columns
from citebed.runs.times import ten_digits, time_column
from citebed.runs.trec_files import RUN, plain_lines, read_trec
from citebed.timeline.streams.times import joined_times

_Waiting = queue.Queue[pl.DataFrame | BaseException | None]
_Lines = Callable[[], Iterable[pl.LazyFrame]]
_ROWS = 100_000
_AHEAD = 8
_BLOCK = 1 << 25
_LONGEST = 1 << 16


@dataclass(frozen=True, eq=False)
class StreamRun:
    """A run: its name or file, and a way to its lines, part by part: ``query_id, doc_id, score``
    and perhaps ``time``.

    ``careful`` is a slower way for when the first one fails: it succeeds or names the line.
    ``separators`` counts what parts the fields, beside the reading; the first way has failed
    where it is not what so many lines have. ``begun`` gives the tables of a run whose reading
    has begun, and ``None`` from then on. A ``timeless`` run has the same time throughout. ``team``
    is whose it is, where it says so.
    """

    called: str | Path
    lines: _Lines
    careful: _Lines | None = None
    separators: Callable[[], int | None] | None = None
    begun: Callable[[], Iterator[pl.DataFrame] | None] | None = None
    timeless: bool = False
    team: str = ""

    @property
    def name(self) -> str:
        """The name it was given, or its file's name without endings."""
        return name_of(self.called) if isinstance(self.called, Path) else self.called


_OURS = (str, Path, pl.DataFrame, StreamRun)
"""Runs that are read in batches, and with their times; others are whole tables without."""


class NotPlain(Exception):
    """The quick way of reading met something that the careful one has to look at."""


def open_run(path: str | Path) -> StreamRun:
    """A run in TREC's form, in KBA's, or Parquet; the file is recognised, not yet read."""
    path = Path(path)
    form = form_of(path)
    if form is Form.PARQUET:
        return StreamRun(path, lambda: [_parquet(path)])
    if form is Form.KBA:
        return _kba(path)
    if form is Form.TREC_RUN:
        return _trec(path)
    raise FormatError(
        path,
        None,
        f"this looks like {form.value} where a run should stand. Are the files in the right order?",
    )


@contextmanager
def opened_runs(runs: Any, *, ahead: bool = False) -> Iterator[list[StreamRun]]:
    """Runs under names that tell them apart: files (pipes too), tables, or what `as_runs` takes.

    One, several, or several by name. With ``ahead`` the first is read while all else gets ready.
    """
    with ExitStack() as held:
        found = list(_opened(runs, held))
        check_names([run.name for run in found])
        if ahead and found[0].careful and found[0].begun is None:
            found[0] = held.enter_context(read_ahead(found[0]))
        yield found


def _opened(runs: Any, held: ExitStack) -> Iterator[StreamRun]:
    one = isinstance(runs, _OURS)
    by_name = dict(runs) if isinstance(runs, Mapping) else {}
    several = [runs] if one else [*by_name.values()] if by_name else runs
    if not isinstance(several, list | tuple) or not all(isinstance(x, _OURS) for x in several):
        yield from (run_of(run.table, run.name) for run in as_runs(runs))
        return
    paths = [Path(run) for run in several if isinstance(run, str | Path)]
    names = iter(by_name or distinct_names(paths))
    files = iter([held.enter_context(at_hand(path)) for path in paths])
    for number, given in enumerate(several, 1):
        if isinstance(given, str | Path):
            yield replace(open_run(next(files)), called=next(names))
        elif isinstance(given, StreamRun):
            yield given if not by_name else replace(given, called=next(names))
        else:
            usual = "run" if one else f"run{number}"
            yield run_of(given, next(names) if by_name else usual)


def without_times(run: StreamRun, times: pl.DataFrame | None = None) -> StreamRun:
    """The run for a scoring that knows no time: all documents are of the same second.

    Of ``times`` only the ids count, which are known again with a time in front.
    """
    if run.timeless:
        return run

    def timeless(lines: _Lines) -> _Lines:
        def same() -> Iterator[pl.LazyFrame]:
            for part in lines():
                plain = part if times is None else joined_times(part, times)
                yield plain.with_columns(pl.lit(0, pl.Int64).alias("time"))

        return same

    careful = None if run.careful is None else timeless(run.careful)
    return replace(run, lines=timeless(run.lines), careful=careful, begun=None, timeless=True)


def run_of(table: pl.DataFrame, name: str = "run") -> StreamRun:
    """A run from a table: ``query_id, doc_id, score`` and perhaps ``time``."""
    checked = checked_columns(table, RUN)
    if "time" in table.columns:
        checked = checked.with_columns(time_column(table["time"]))
    return StreamRun(name, lambda: [checked.lazy()])


def _kba(path: Path) -> StreamRun:
    from citebed.runs.kba_files import read_filter_run, run_names

    team, _ = run_names(path)
    return StreamRun(path, lambda: [read_filter_run(path).table.lazy()], team=team)


def _parquet(path: Path) -> pl.LazyFrame:
    table = read_parquet(path)
    try:
        (lines,) = run_of(table).lines()
    except CitebedError as error:
        raise FormatError(path, None, str(error)) from None
    return lines


def _trec(path: Path) -> StreamRun:
    """A run as polars reads it: six fields between single blanks or tabs, and no comments.

    polars leaves a null where a line is short; none is long if there are no more separators.
    """

    def careful() -> list[pl.LazyFrame]:
        return [read_trec(path, RUN).select(RUN.columns).lazy()]

    if is_packed(path):
        return StreamRun(path, lambda: _unpacked(path), careful)
    with opened(path) as handle:
        first = handle.readline(_LONGEST)
    mark = _mark(first)
    if first.startswith(b"#") or polars_misreads(first):
        return StreamRun(path, careful)
    return StreamRun(
        path, lambda: [_scanned(path, mark)], careful, lambda: separators(path, 0, mark)
    )


def _mark(first: bytes) -> bytes:
    return b"\t" if b"\t" in first else b" "


def _unpacked(path: Path) -> Iterator[pl.LazyFrame]:
    """The lines of a packed run, so many at a time that it is never in memory as a whole."""
    mark = None
    for block in file_blocks(path, _BLOCK):
        mark = mark or _mark(block.data.partition(b"\n")[0])
        found = separators_in(io.BytesIO(block.data), mark)
        if found != RUN.gaps * block.lines or polars_misreads(block.data):
            raise NotPlain
        yield _scanned(block.data, mark)


def _scanned(source: Path | bytes, mark: bytes) -> pl.LazyFrame:
    lines = plain_lines(source, RUN, mark)
    return lines.select(*RUN.columns, pl.col("tag").is_not_null().alias("whole"))


# --- batches --------------------------------------------------------------------------------


def tables(run: StreamRun, times: pl.DataFrame | None = None) -> Iterator[pl.DataFrame]:
    """The run's lines in batches: ``query_id, query_hash, doc_id, doc_hash, score``, and ``time``
    (from ``times``, or the run's own) or the ``digits`` that its ids start with.

    Raises `NotPlain` where `StreamRun.careful` has to help.
    """
    begun = run.begun() if run.begun is not None and times is None else None
    yield from _tables(run, times) if begun is None else begun


def _tables(run: StreamRun, times: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
    try:
        with reading_told(Path(run.called)):
            for part in run.lines():
                plan = _plan(part, times)
                for table in plan.collect_batches(chunk_size=_ROWS, maintain_order=True):
                    if run.careful is not None and not _is_plain(table):
                        raise NotPlain
                    yield table
    except pl.exceptions.PolarsError:
        if run.careful is None:
            raise
        raise NotPlain from None


def _plan(lines: pl.LazyFrame, times: pl.DataFrame | None) -> pl.LazyFrame:
    """What polars can work out while it reads, on all processors."""
    time = ten_digits(pl.col("doc_id")).alias("digits")
    if times is not None:
        lines = joined_times(lines, times)
        time = pl.col("time")
    elif "time" in lines.collect_schema():
        time = pl.col("time")
    hashes = [pl.col(f"{kind}_id").hash().alias(f"{kind}_hash") for kind in ("query", "doc")]
    whole = ["whole"] if "whole" in lines.collect_schema() else []
    return lines.select("query_id", "doc_id", "score", time, *hashes, *whole)


def _is_plain(table: pl.DataFrame) -> bool:
    """Whether every line has a query, a document and a finite score."""
    if any(table[name].null_count() for name in ("query_id", "doc_id", "score")):
        return False
    if "whole" in table.columns and not table["whole"].all():
        return False
    return bool(table["score"].is_finite().all())


# --- reading ahead --------------------------------------------------------------------------


@contextmanager
def read_ahead(run: StreamRun) -> Iterator[StreamRun]:
    """The same run, its reading begun beside whatever else is done until it is used.

    No more than some batches are kept waiting. Times from elsewhere cannot be given to it.
    """
    waiting: _Waiting = queue.Queue(_AHEAD)
    stopped = threading.Event()
    reader = threading.Thread(target=_read_into, args=(run, waiting, stopped))
    reader.start()
    begun = iter([_out_of(waiting)])
    try:
        yield replace(run, begun=lambda: next(begun, None))
    finally:
        stopped.set()
        while reader.is_alive():
            while not waiting.empty():
                waiting.get_nowait()
            reader.join(0.01)


def _read_into(run: StreamRun, waiting: _Waiting, stopped: threading.Event) -> None:
    try:
        for table in _tables(run, None):
            waiting.put(table)
            if stopped.is_set():
                return
        waiting.put(None)
    except BaseException as error:  # whatever it is, it belongs to who asks for the lines
        waiting.put(error)


def _out_of(waiting: _Waiting) -> Iterator[pl.DataFrame]:
    while (found := waiting.get()) is not None:
        if isinstance(found, BaseException):
            raise found
        yield found
