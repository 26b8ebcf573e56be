"""Running a filter on an engine, with the same output as `run_filter` on one machine.

The output is assembled in ``OUT.partial`` when all parts are scored, and renamed when it is
complete. A killed command leaves ``OUT.parts``; the same command continues from there.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import BoundedSemaphore, Event, Thread
from typing import NamedTuple

import numpy as np
import polars as pl

from citebed.distributed.arrow import Schema, raise_errors
from citebed.distributed.filtering.stream_parts import (
    PartTask,
    WorkFolder,
    cuts,
    first_line,
    unpack_task,
)
from citebed.distributed.filtering.worker import (
    read_learning_documents,
    read_part,
    read_rows,
    restore_counts,
    score_part,
    store_learning_documents,
)
from citebed.distributed.remote_files import as_address, fetch_files
from citebed.distributed.sessions import Engine, collect_arrow
from citebed.distributed.shuffle import each
from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import is_compressed
from citebed.files.lines import read_chunks, read_numbered_lines
from citebed.files.output_files import replace_files, translate_write_errors
from citebed.records import Problem
from citebed.runs.writer import filter_names, header_line
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.checkpoint import LISTED, Progress
from citebed.timeline.filters.online_learning import RunningFilter
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
from citebed.timeline.filters.topics import DocumentFeatures, Skipped
from citebed.timeline.streams.stream_files import Decoded, Source, blocks
from citebed.wording import printable


class StreamTotals(NamedTuple):
    """What reading the parts found: totals of the stream, the numbers of documents and lines before
    each part, and the times of judged documents by part."""

    whole: Progress
    documents_before: list[int]
    lines_before: list[int]
    judged: dict[int, list[int]]


def line_of(task: PartTask, totals: StreamTotals, number: int, line: int) -> int:
    """Return the stream's line number of a line in a part."""
    return totals.lines_before[number] + line - first_line(task.cuts[number]) + 1


def sum_parts(task: PartTask, parts: int) -> StreamTotals:
    """Sum up what reading parts 0 to ``parts - 1`` found; raise if times go backwards."""
    totals = StreamTotals(Progress(), [], [], {})
    whole = totals.whole
    for number in range(parts):
        totals.documents_before.append(whole.documents)
        totals.lines_before.append(whole.line - 1)
        progress, state = checkpoint.load(task.part(number).summary, {})
        if state["first"].size:  # an error if it is earlier than the end of the part before
            line, time = state["first"].tolist()
            at = line_of(task, totals, number, line)
            row = pl.DataFrame({"line": [at], "doc_id": [str(state["first_id"])], "time": [time]})
            check_order(Decoded(row, ()), whole.last_time, task.name)
        whole.line += progress.line - 1
        whole.documents += progress.documents
        if progress.last_time is not None:
            whole.last_time = progress.last_time
        whole.skipped += progress.skipped
        whole.repeated += progress.repeated
        whole.problems += [
            each._replace(line=line_of(task, totals, number, each.line))
            for each in progress.problems[: LISTED - len(whole.problems)]
        ]
        if state["judged"].size:
            totals.judged[number] = state["judged"][:, 1].tolist()
    totals.documents_before.append(whole.documents)
    totals.lines_before.append(whole.line - 1)
    return totals


def save_states(task: PartTask, totals: StreamTotals) -> RunningFilter:
    """Save the filter's state at the beginning of each unscored part. Return the final state."""
    filtering = task.started()
    for number in range(task.parts):
        part = task.part(number)
        if not part.scored.exists():
            begin = Progress(documents=totals.documents_before[number])
            checkpoint.save(part.state, {}, begin, filtering.state())
        _, state = checkpoint.load(part.summary, {})
        first, after = totals.documents_before[number : number + 2]
        learning = read_learning_documents(part.learning_documents) if totals.judged else None
        documents = _PartDocuments(read_rows(task, number, range(after - first)))
        counts = restore_counts(filtering, state)
        filtering.skip(Skipped(first, after - first, counts, learning, documents))
    return filtering


class _PartDocuments:
    """Yields all documents of a part, range after range; it reads the part only on demand."""

    def __init__(self, told: Iterator[DocumentFeatures]) -> None:
        self._told = told
        self._left: DocumentFeatures | None = None

    def __call__(self, start: int, end: int) -> Iterator[DocumentFeatures]:
        while True:
            told = self._left if self._left is not None else next(self._told)
            rows = told.rows
            first, last = np.searchsorted(rows, (start, end)).tolist()
            self._left = told.take(np.arange(last, rows.size)) if last < rows.size else None
            if first < last:
                yield told.take(np.arange(first, last))
            if rows[-1] >= end - 1:
                break


_RESULT: Schema = {"part": pl.Int64, "line": pl.Int64, "what": pl.String}
_POLL_SECONDS = 1.0
_STREAM_SETTING = "the stream's bytes"
_LAYOUT_SETTING = {"the layout of parts": 3}
_COPY_BYTES = 1 << 22
_MIN_PART_BYTES, _MAX_PART_BYTES, _USUAL_PARTS = 16 << 20, 128 << 20, 32
"""The least and most bytes of a part, and the number of parts to aim at in between."""
_AT_ONCE = BoundedSemaphore(os.cpu_count() or 1)
"""Limits Sail (the engine ``local``), which would work on all parts at once in threads."""
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

    The workers must see the stream and the folder of the output under the same names. The stream
    may also be an address that the engine reads (``s3a://…``): a file, or several, which are read
    in the order of their names. citebed copies them first. ``part`` is the approximate number of
    bytes in a part; 0 lets citebed choose by the size of the stream.
    """
    files = OutputFiles(output, options.skipped)
    files.check(options.overwrite)
    task.declared.start(task.topics, task.tools)  # report its errors first
    address = as_address(task.source.path) if task.source.path else None
    if address:  # a path has lost a slash: s3a:/
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
            return run.execute(task, output, advance, part)
        except FormatError:  # the user must repair the stream, which invalidates all parts
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
            files.remove()  # ``OUT.partial`` can be made again from the parts


class _Run(NamedTuple):
    """A filter that runs on an engine, from the stream to the run."""

    engine: Engine
    folder: WorkFolder
    files: OutputFiles
    drafts: Drafts
    options: FilterOptions

    def execute(self, task: FilterTask, output: Path, advance: Advance, part: int) -> FilterReport:
        """Do everything that is not done yet."""
        if self.options.restart:
            self.folder.remove()
        self.folder.make()
        try:
            planned = self._plan(task, part)
        except BaseException:  # the stream cannot be read: leave no files
            if not self.folder.plan.exists():
                self.folder.remove()
            raise
        resumed = [n for n in range(planned.parts) if planned.part(n).scored.exists()]
        summaries = [planned.part(n).summary for n in range(planned.parts)]
        self._run_step(planned, read_part, summaries, advance)
        totals = sum_parts(planned, planned.parts)
        if not totals.whole.documents:
            self._write_list(planned, totals)
            self.files.put_list_in_place(self.drafts)
            raise no_documents(task.source.name, totals.whole)
        missing = self._score(planned, totals, advance)
        self._write(task, planned, totals)
        before = sum(totals.documents_before[n + 1] - totals.documents_before[n] for n in resumed)
        return report_of(task, totals.whole, missing, output, before)

    def _plan(self, task: FilterTask, part: int) -> PartTask:
        """Return the task, with the parts of an earlier attempt if there was one."""
        options = self.options
        stream, what = self._stream(task.source)
        identity = {**identity_of(task, options), _STREAM_SETTING: what, **_LAYOUT_SETTING}
        plan = self.folder.plan
        if plan.exists():
            found = checkpoint.load(plan, identity)[1]["cuts"].tolist()
        else:
            usual = stream.stat().st_size // _USUAL_PARTS
            size = part or min(_MAX_PART_BYTES, max(_MIN_PART_BYTES, usual))
            found = cuts(stream, size, naive_is_utc=options.naive_is_utc)
            checkpoint.save(plan, identity, Progress(), {"cuts": np.array(found, np.int64)})
        return PartTask(
            folder=self.folder.path,
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
        copy = self.folder.stream
        address = as_address(source.path) if source.path else None
        if address is None:
            crc = _copy_stream(copy, (block.data for block in blocks(source, _COPY_BYTES)))
            return copy, {"crc": crc, "size": copy.stat().st_size}
        if not copy.exists() or not self.folder.plan.exists():
            _copy_stream(copy, self._fetch_lines(address))
        return copy, {"address": address, "size": copy.stat().st_size}

    def _fetch_lines(self, address: str) -> Iterator[bytes]:
        """Yield the lines of all files at an address, in the order of their names."""
        folder = Path(tempfile.mkdtemp(prefix=".citebed-", dir=self.folder.path))
        try:
            for path in fetch_files(self.engine, address, folder).files:
                try:
                    for lines in read_chunks(path, _COPY_BYTES):
                        yield lines if lines.endswith(b"\n") or not lines else lines + b"\n"
                except FormatError as error:
                    name = f"{address} ({printable(path.relative_to(folder))})"
                    raise FormatError(name, error.line, error.what) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # a repeated task may still write to it

    def _score(self, task: PartTask, totals: StreamTotals, advance: Advance) -> list[str]:
        """Score all unscored parts; return the documents that did not occur."""
        times = {time for judged in totals.judged.values() for time in judged}
        task = task._replace(due=tuple(sorted(time + task.tools.delay for time in times)))
        parts = [task.part(number) for number in range(task.parts)]
        looks_back = task.declared.looks_back
        if times:
            files = [
                part.learning_documents if looks_back or number in totals.judged else None
                for number, part in enumerate(parts)
            ]
            self._run_step(task, store_learning_documents, files)
        missing = save_states(task, totals).unmet()
        self._run_step(task, score_part, [part.scored for part in parts], advance)
        return missing

    def _run_step(
        self,
        task: PartTask,
        work: Work,
        files: Sequence[Path | None],
        advance: Advance = lambda _: None,
    ) -> None:
        """Let workers do ``work`` for each part whose file is missing; as files are completed,
        report half of their parts' bytes: a part is read, and then scored."""
        todo = [n for n, path in enumerate(files) if path and not path.exists()]
        half = {
            path: (end - begin) // 2
            for path, (begin, end) in zip(files, pairwise(task.cuts), strict=True)
            if path
        }
        with _advancing(half, advance):
            if not todo:
                return
            run = partial(_work_on_part, task.pickled(), work)
            table = pl.DataFrame(collect_arrow(each(self.engine, todo, run, _RESULT)))
        for number, line, what in table.sort("part").select("part", "line", "what").iter_rows():
            if what is not None:
                totals = sum_parts(task, number)  # raises if an earlier part has an error
                at = None if line is None else line_of(task, totals, number, line)
                raise FormatError(task.name, at, what)
        raise_errors(table)

    def _write(self, task: FilterTask, planned: PartTask, totals: StreamTotals) -> None:
        """Write the run from the lines of its parts."""
        whole = totals.whole
        with translate_write_errors(self.files.partial):
            self.drafts.run.truncate(0)
            self.drafts.run.write(header_line(header_of(task, self.options)))
            for number in range(planned.parts):
                part = planned.part(number)
                with part.lines.open("rb") as lines:
                    shutil.copyfileobj(lines, self.drafts.run, 1 << 20)
                scored, _ = checkpoint.load(part.scored, {})
                whole.written += scored.written
                whole.topics = list(dict.fromkeys((*whole.topics, *scored.topics)))
            self.drafts.run.flush()
        self._write_list(planned, totals)
        self.files.put_in_place(self.drafts)
        self.folder.remove()

    def _write_list(self, task: PartTask, totals: StreamTotals) -> None:
        """Write the list of skipped lines, if requested."""
        listing = self.drafts.listing
        if listing:
            with translate_write_errors(self.files.listing or self.files.partial):
                listing.truncate(0)
                for number in range(task.parts):
                    lines = read_numbered_lines(task.part(number).skipped)
                    found = (json.loads(line) for _, line in lines if line)
                    problems = [
                        Problem(line_of(task, totals, number, line), what) for line, what in found
                    ]
                    listing.write(listed(task.name, problems))
                listing.flush()


def _copy_stream(copy: Path, lines: Iterable[bytes]) -> int:
    """Write the lines of a stream to a file atomically; return their checksum."""
    crc = 0
    with replace_files(copy) as (draft,), draft.open("wb") as file:
        for each in lines:
            crc = zlib.crc32(each, crc)
            file.write(each)
    return crc


@contextmanager
def _advancing(bytes_of_file: dict[Path, int], advance: Advance) -> Iterator[None]:
    """Report the bytes of parts as workers complete their files."""
    waiting, finished = dict(bytes_of_file), Event()

    def poll() -> None:
        while not finished.wait(_POLL_SECONDS):
            report()

    def report() -> None:
        advance(sum(waiting.pop(path) for path in list(waiting) if path.exists()))

    report()
    poller = Thread(target=poll, daemon=True)
    poller.start()
    try:
        yield
    finally:
        finished.set()
        poller.join()
        report()


def _work_on_part(data: bytes, work: Work, number: int) -> pl.DataFrame:
    """On a worker: work on a part, and return a row with the error of its lines, if any."""
    line, what = None, None
    try:
        with _AT_ONCE:
            work(unpack_task(data), number)
    except FormatError as error:
        line, what = error.line, error.what
    return pl.DataFrame({"part": [number], "line": [line], "what": [what]}, _RESULT)
