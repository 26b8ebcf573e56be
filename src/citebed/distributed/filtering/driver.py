"""Running a filter on an engine, with the same output as `run_filter` on one machine.

The run is assembled in ``OUT.partial`` when all parts are scored, and renamed when it is complete.
A run that was killed leaves ``OUT.parts``, and continues from it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import BoundedSemaphore, Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from citebed._version import __version__
from citebed.distributed.arrow import (
    ERROR,
    Batches,
    Schema,
    check_version,
    error_row,
    raise_errors,
    spark_schema,
    to_arrow,
)
from citebed.distributed.filtering.stream_parts import (
    PartTask,
    WorkFolder,
    cuts,
    first_line,
    received,
)
from citebed.distributed.filtering.worker import (
    read_part,
    read_told,
    score_part,
    tallied,
    tell_part,
    telling,
)
from citebed.distributed.remote_files import as_address, fetch_files
from citebed.distributed.sessions import Engine, collect_arrow
from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import is_compressed
from citebed.files.lines import read_chunks, read_numbered_lines
from citebed.files.output_files import replace_files, translate_write_errors
from citebed.records import Problem
from citebed.runs.writer import filter_names, header_line
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.checkpoint import LISTED, Progress
from citebed.timeline.filters.output_files import Drafts, OutputFiles
from citebed.timeline.filters.runner import (
    FilterOptions,
    FilterReport,
    FilterTask,
    header_of,
    identity_of,
    listed,
    no_documents,
    report_of,
)
from citebed.timeline.filters.stream_checks import check_order
from citebed.timeline.filters.topics import LearningDocuments, RunningFilter, Skipped
from citebed.timeline.streams.stream_files import Decoded, Source, blocks
from citebed.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa


class StreamPosition(NamedTuple):
    """Results of reading: totals of the stream, the documents and lines before each part, and the
    times of judged documents by part."""

    whole: Progress
    documents: list[int]
    lines: list[int]
    judged: dict[int, list[int]]


def line_of(task: PartTask, account: StreamPosition, number: int, line: int) -> int:
    """Return the stream's line number of a line in a part."""
    return account.lines[number] + line - first_line(task.cuts[number]) + 1


def read_position(task: PartTask, parts: int) -> StreamPosition:
    """Sum up the first parts. Raise if they are not in order of time."""
    account = StreamPosition(Progress(), [], [], {})
    whole = account.whole
    for number in range(parts):
        account.documents.append(whole.documents)
        account.lines.append(whole.line - 1)
        progress, state = checkpoint.load(task.part(number).summary, {})
        if state["first"].size:  # a part may begin earlier than the one before it ends
            line, time = state["first"].tolist()
            at = line_of(task, account, number, line)
            row = pl.DataFrame({"line": [at], "doc_id": [str(state["first_id"])], "time": [time]})
            check_order(Decoded(row, ()), whole.last_time, task.name)
        whole.line += progress.line - 1
        whole.documents += progress.documents
        if progress.last_time is not None:
            whole.last_time = progress.last_time
        whole.skipped += progress.skipped
        whole.repeated += progress.repeated
        whole.problems += [
            each._replace(line=line_of(task, account, number, each.line))
            for each in progress.problems[: LISTED - len(whole.problems)]
        ]
        if state["judged"].size:
            account.judged[number] = state["judged"][:, 1].tolist()
    account.documents.append(whole.documents)
    account.lines.append(whole.line - 1)
    return account


def save_states(task: PartTask, account: StreamPosition) -> RunningFilter:
    """Save the filter's state at the beginning of each unscored part. Return the final state."""
    filtering = task.started()
    for number in range(task.parts):
        part = task.part(number)
        if not part.scored.exists():
            begin = Progress(documents=account.documents[number])
            checkpoint.save(part.state, {}, begin, filtering.state())
        _, state = checkpoint.load(part.summary, {})
        first, after = account.documents[number : number + 2]
        told = read_told(part.learning_documents) if account.judged else None
        more = _More(telling(task, number, range(after - first)))
        filtering.skip(Skipped(first, after - first, tallied(filtering, state), told, more))
    return filtering


class _More:
    """Yields all documents of a part, range after range; it reads the part only on demand."""

    def __init__(self, told: Iterator[LearningDocuments]) -> None:
        self._told = told
        self._left: LearningDocuments | None = None

    def __call__(self, start: int, end: int) -> Iterator[LearningDocuments]:
        while True:
            told = self._left if self._left is not None else next(self._told)
            rows = told.reads.rows
            first, last = np.searchsorted(rows, (start, end)).tolist()
            self._left = told.take(np.arange(last, rows.size)) if last < rows.size else None
            if first < last:
                yield told.take(np.arange(first, last))
            if rows[-1] >= end - 1:
                break


_DONE: Schema = {"part": pl.Int64, "line": pl.Int64, "what": pl.String, ERROR: pl.String}
_SECONDS = 1.0
_BYTES = "the stream's bytes"
_LAYOUT = {"the layout of parts": 2}
_LAID = 1 << 22
_LEAST, _MOST, _PARTS = 16 << 20, 128 << 20, 32
"""Sizes of a part: some dozens of parts per stream, unless they would be small or large."""
_AT_ONCE = BoundedSemaphore(os.cpu_count() or 1)
"""Sail works on all parts at once in threads of one process; a Spark worker has one thread."""
Work = Callable[[PartTask, int], None]
Advance = Callable[[int], None]


def filter_on(
    engine: Engine,
    task: FilterTask,
    output: Path,
    options: FilterOptions,
    advance: Advance = lambda _: None,
    part: int = 0,
) -> FilterReport:
    """Filter a stream on an engine and write a filter run with the same bytes as `run_filter`.

    The workers must see the stream and the folder of the output under the same names. Or the stream
    is an address that the engine reads (``s3a://…``), of one file or of several in the order of
    their names; these are copied first. ``part`` is the approximate number of bytes in a part; 0
    lets citebed choose by the size of the stream.
    """
    files = OutputFiles(output, options.skipped)
    files.check(options.overwrite)
    task.declared.start(task.topics, task.tools)  # report its errors first
    address = as_address(task.source.path) if task.source.path else None
    if address:  # a path would have lost a slash
        task = task._replace(source=task.source._replace(name=address))
    folder = WorkFolder(Path(f"{files.output.absolute()}.parts"))
    if task.source.path is not None and folder.path in task.source.path.absolute().parents:
        raise CitebedError(
            f"{task.source.name} is in {printable(folder.path)}, the folder for parts of the run; "
            "choose another output"
        )
    with files.alone() as drafts:
        if options.restart:
            files.checkpoint.unlink(missing_ok=True)
        elif files.checkpoint.exists() and files.partial.stat().st_size:
            raise CitebedError(
                f"{printable(files.partial)} was begun on one machine: continue it without --on, "
                "or add --restart to start over"
            )
        run = _Run(engine, folder, files, drafts, options)
        try:
            return run.done(task, output, advance, part)
        except FormatError:  # the stream must change, and then all parts are invalid
            folder.remove()
            raise
        except BaseException as cause:
            if folder.plan.exists():
                cause.add_note(
                    "to go on, run the same command again "
                    f"({printable(folder.path)} is kept for that); add --restart to start over"
                )
            raise
        finally:
            files.remove()  # the parts can restore its content


class _Run:
    """A filter that runs on an engine, from the stream to the run."""

    def __init__(
        self,
        engine: Engine,
        folder: WorkFolder,
        files: OutputFiles,
        drafts: Drafts,
        options: FilterOptions,
    ) -> None:
        self._engine, self._folder = engine, folder
        self._files, self._drafts, self._options = files, drafts, options

    def done(self, task: FilterTask, output: Path, advance: Advance, part: int) -> FilterReport:
        """Do everything that is not done yet."""
        if self._options.restart:
            self._folder.remove()
        self._folder.make()
        try:
            planned = self._planned(task, part)
        except BaseException:  # the stream cannot be read: leave no files
            if not self._folder.plan.exists():
                self._folder.remove()
            raise
        resumed = [n for n in range(planned.parts) if planned.part(n).scored.exists()]
        # Reading is half of the work.
        summaries = [planned.part(n).summary for n in range(planned.parts)]
        self._each(planned, read_part, summaries, advance)
        account = read_position(planned, planned.parts)
        if not account.whole.documents:
            self._write_list(planned, account)
            self._files.put_list_in_place(self._drafts)
            raise no_documents(task.source.name, account.whole)
        unmet = self._scored(planned, account, advance)
        self._write(task, planned, account)
        before = sum(account.documents[n + 1] - account.documents[n] for n in resumed)
        return report_of(task, account.whole, unmet, output, before)

    def _planned(self, task: FilterTask, part: int) -> PartTask:
        """Return the task, with the parts of an earlier attempt if there was one."""
        options = self._options
        stream, what = self._stream(task.source)
        identity = {**identity_of(task, options), _BYTES: what, **_LAYOUT}
        plan = self._folder.plan
        if plan.exists():
            found = checkpoint.load(plan, identity)[1]["cuts"].tolist()
        else:
            size = part or min(_MOST, max(_LEAST, stream.stat().st_size // _PARTS))
            found = cuts(stream, size, naive_is_utc=options.naive_is_utc)
            checkpoint.save(plan, identity, Progress(), {"cuts": np.array(found, np.int64)})
        return PartTask(
            folder=self._folder.path,
            stream=stream,
            cuts=tuple(found),
            name=task.source.name,
            topics=list(task.topics),
            declared=task.declared,
            tools=task.tools,
            names=filter_names(options.team, task.declared.name),
            block=options.block or task.declared.block,
            naive_is_utc=options.naive_is_utc,
            strict=options.strict,
        )

    def _stream(self, source: Source) -> tuple[Path, dict[str, int | str]]:
        """Return the stream as a plain file, and values that identify it.

        A packed or remote stream is written to the work folder, a remote one only once.
        """
        if source.path is not None and source.path.is_file() and not is_compressed(source.path):
            status = source.path.stat()
            return source.path.absolute(), {"size": status.st_size, "time": status.st_mtime_ns}
        laid = self._folder.stream
        address = as_address(source.path) if source.path else None
        if address is None:
            crc = _lay_out(laid, (block.data for block in blocks(source, _LAID)))
            return laid, {"crc": crc, "size": laid.stat().st_size}
        if not laid.exists() or not self._folder.plan.exists():
            _lay_out(laid, self._brought(address))
        return laid, {"address": address, "size": laid.stat().st_size}

    def _brought(self, address: str) -> Iterator[bytes]:
        """Yield the lines of all files at an address, in the order of their names."""
        place = Path(tempfile.mkdtemp(prefix=".citebed-", dir=self._folder.path))
        try:
            for path in fetch_files(self._engine, address, place).files:
                try:
                    for lines in read_chunks(path, _LAID):
                        yield lines if lines.endswith(b"\n") or not lines else lines + b"\n"
                except FormatError as error:
                    name = f"{address} ({printable(path.relative_to(place))})"
                    raise FormatError(name, error.line, error.what) from None
        finally:
            shutil.rmtree(place, ignore_errors=True)  # a repeated task may still use it

    def _scored(self, task: PartTask, account: StreamPosition, advance: Advance) -> list[str]:
        """Score all unscored parts; return the documents that did not occur."""
        times = {time for judged in account.judged.values() for time in judged}
        task = task._replace(due=tuple(sorted(time + task.tools.delay for time in times)))
        parts = [task.part(number) for number in range(task.parts)]
        looks_back = task.declared.looks_back
        if times:
            told = [
                part.learning_documents if looks_back or number in account.judged else None
                for number, part in enumerate(parts)
            ]
            self._each(task, tell_part, told)
        unmet = save_states(task, account).unmet()
        self._each(task, score_part, [part.scored for part in parts], advance)
        return unmet

    def _each(
        self,
        task: PartTask,
        work: Work,
        made: Sequence[Path | None],
        advance: Advance = lambda _: None,
    ) -> None:
        """Let workers make each missing file; report half of the parts' bytes as files are
        completed."""
        todo = [n for n, path in enumerate(made) if path and not path.exists()]
        half = {
            path: (end - begin) // 2
            for path, (begin, end) in zip(made, pairwise(task.cuts), strict=True)
            if path
        }
        with _advancing(half, advance):
            if not todo:
                return
            data, version = task.pickled(), __version__

            def step(batches: Batches) -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    for place in batch.column(0).to_pylist():
                        row = _row(data, todo[place], work, version)
                        yield from to_arrow(row, _DONE).to_batches()

            numbers = self._engine.session.range(0, len(todo), 1, len(todo))
            found = collect_arrow(numbers.mapInArrow(step, spark_schema(_DONE)))
        table = pl.DataFrame(found)
        for number, line, what in table.sort("part").select("part", "line", "what").iter_rows():
            if what is not None:
                account = read_position(task, number)  # an earlier error takes precedence
                at = None if line is None else line_of(task, account, number, line)
                raise FormatError(task.name, at, what)
        raise_errors(table)

    def _write(self, task: FilterTask, planned: PartTask, account: StreamPosition) -> None:
        """Write the run from the lines of its parts."""
        whole = account.whole
        with translate_write_errors(self._files.partial):
            self._drafts.run.truncate(0)
            self._drafts.run.write(header_line(header_of(task, self._options)))
            for number in range(planned.parts):
                part = planned.part(number)
                with part.lines.open("rb") as lines:
                    shutil.copyfileobj(lines, self._drafts.run, 1 << 20)
                scored, _ = checkpoint.load(part.scored, {})
                whole.written += scored.written
                whole.topics = list(dict.fromkeys((*whole.topics, *scored.topics)))
            self._drafts.run.flush()
        self._write_list(planned, account)
        self._files.put_in_place(self._drafts)
        self._folder.remove()

    def _write_list(self, task: PartTask, account: StreamPosition) -> None:
        """Write the list of skipped lines, if requested."""
        listing = self._drafts.listing
        if listing:
            with translate_write_errors(self._files.listing or self._files.partial):
                listing.truncate(0)
                for number in range(task.parts):
                    lines = read_numbered_lines(task.part(number).skipped)
                    found = (json.loads(line) for _, line in lines if line)
                    problems = [
                        Problem(line_of(task, account, number, line), what) for line, what in found
                    ]
                    listing.write(listed(task.name, problems))
                listing.flush()


def _lay_out(laid: Path, lines: Iterable[bytes]) -> int:
    """Write the lines of a stream to a file atomically; return their checksum."""
    crc = 0
    with replace_files(laid) as (draft,), draft.open("wb") as file:
        for each in lines:
            crc = zlib.crc32(each, crc)
            file.write(each)
    return crc


@contextmanager
def _advancing(coming: dict[Path, int], advance: Advance) -> Iterator[None]:
    """Report the bytes of parts as workers complete their files."""
    left, over = dict(coming), Event()

    def look() -> None:
        while not over.wait(_SECONDS):
            there()

    def there() -> None:
        advance(sum(left.pop(path) for path in list(left) if path.exists()))

    there()
    looking = Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        there()


def _row(data: bytes, number: int, work: Work, version: str) -> pl.DataFrame:
    """Work on a part, and return a row with its error, if there is one."""
    row: dict[str, list[Any]] = {"part": [number]}
    try:
        check_version(version)
        with _AT_ONCE:
            work(received(data), number)
    except FormatError as error:
        row |= {"line": [error.line], "what": [error.what]}
    except CitebedError as error:
        return error_row(error)
    schema = {name: kind for name, kind in _DONE.items() if name in row}
    return pl.DataFrame(row, schema)
