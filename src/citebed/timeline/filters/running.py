"""Running a filter over a stream: in the order of time, restartable, written when it is done.

While it runs, the output stands in ``OUT.partial`` and a checkpoint in ``OUT.checkpoint``. Both go
when the output is put in place. A run that was killed goes on from its checkpoint, and gives the
same bytes as one that was not: the output is cut back to where the checkpoint was made, and the
model restored to what it knew there. Where checkpoints fall does not matter for that.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from citebed.errors import CitebedError, FormatError
from citebed.records import Problem
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.base import Batch, Filter, Tools
from citebed.timeline.filters.checkpoint import LISTED, Progress
from citebed.timeline.filters.stream import Block, Decoded, Source, blocks, checksum, decode
from citebed.timeline.filters.topics import Topic
from citebed.timeline.kba_format import FilterRunWriter


class FilterTask(NamedTuple):
    """What is filtered, for which topics, and how."""

    source: Source
    topics: Sequence[Topic]
    declared: Filter
    tools: Tools


@dataclass(frozen=True)
class RunOptions:
    """How a filter is run.

    ``about`` is what a checkpoint must agree on beside model, topics and judgements. ``block`` is
    in bytes; 0 leaves it to the model. A checkpoint is made every so many seconds.
    """

    team: str = "citebed"
    header: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    naive_is_utc: bool = False
    strict: bool = False
    overwrite: bool = False
    restart: bool = False
    every: float = 10.0
    block: int = 0


class FilterReport(NamedTuple):
    """What a run did; ``resumed`` is how many documents a run before it had done."""

    output: Path
    documents: int
    lines: int
    skipped: int
    problems: tuple[Problem, ...]
    resumed: int


class _Files(NamedTuple):
    output: Path
    partial: Path
    checkpoint: Path


def run_filter(
    task: FilterTask,
    output: Path,
    options: RunOptions,
    advance: Callable[[int], None] = lambda _: None,
) -> FilterReport:
    """Filter a stream and write a filter run (gzip if the name ends so).

    Goes on where a run that was killed stopped; ``advance`` is told how many bytes of the stream
    are done. A document that is earlier than the one before it is an error, since a filter that
    reads on could not be said not to look ahead.
    """
    files = _Files(
        output,
        output.with_name(output.name + ".partial"),
        output.with_name(output.name + ".checkpoint"),
    )
    if output.exists() and not options.overwrite:
        raise CitebedError(f"'{output}' is there already; add --overwrite to replace it")
    output.parent.mkdir(parents=True, exist_ok=True)
    with _alone(files.partial):
        if options.restart:
            files.checkpoint.unlink(missing_ok=True)
        run = _Run(task, files, options)
        resumed = run.progress.documents
        run.go_on(advance)
        _put_in_place(files)
    done = run.progress
    return FilterReport(
        output, done.documents, done.written, done.skipped, tuple(done.problems), resumed
    )


@contextmanager
def _alone(partial: Path) -> Iterator[None]:
    """Keep the unfinished output to one process; the lock goes with the process."""
    with partial.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CitebedError(
                f"another process is writing {partial}; wait for it, or choose another output"
            ) from None
        yield


class _Run:
    """A filter on its way through a stream."""

    def __init__(self, task: FilterTask, files: _Files, options: RunOptions) -> None:
        self.task = task
        self.files = files
        self.options = options
        self.filtering = task.declared.start(task.topics, task.tools)
        self.header = {**options.header, "model": str(task.declared)}
        self.identity = _identity(task, options, self.header)
        self.progress = self._resume() if files.checkpoint.exists() else Progress()
        os.truncate(files.partial, self.progress.output)

    def _resume(self) -> Progress:
        """The progress of the checkpoint, once it is clear that it belongs to this run."""
        path = self.files.checkpoint
        identity, progress, state = checkpoint.load(path)
        checkpoint.check_identity(path, identity, self.identity)
        if self.files.partial.stat().st_size < progress.output:
            raise CitebedError(
                f"{self.files.partial} is shorter than the checkpoint {path} says; "
                "add --restart to start over"
            )
        if checksum(self.task.source, progress.offset) != progress.crc:
            raise CitebedError(
                f"{self.task.source.name} has changed since the checkpoint {path} was made: its "
                f"first {progress.offset:,} bytes differ. Add --restart to start over"
            )
        self.filtering.restore(state)
        return progress

    def go_on(self, advance: Callable[[int], None]) -> None:
        """Read the stream to its end, from where the progress is."""
        progress = self.progress
        advance(progress.offset)
        size = self.options.block or self.task.declared.block
        stream = blocks(self.task.source, size, progress.line, progress.offset)
        saved = time.monotonic()
        team, system = self.options.team, self.task.declared.name
        with FilterRunWriter(self.files.partial, self.header, team, system) as writer:
            for block, decoded in _ahead(stream, self.options.naive_is_utc):
                self._take(block, decoded, writer)
                advance(len(block.data))
                if time.monotonic() - saved >= self.options.every:
                    self._save(writer)
                    saved = time.monotonic()
            self._save(writer)

    def _take(self, block: Block, decoded: Decoded, writer: FilterRunWriter) -> None:
        """Score the documents of a block and write what was found."""
        progress = self.progress
        name = self.task.source.name
        if decoded.problems and self.options.strict:
            raise FormatError(name, decoded.problems[0].line, decoded.problems[0].what)
        _check_order(decoded, progress.last_time, name)
        lines = self.filtering.score(Batch(progress.documents, decoded.table))
        writer.write(lines)
        progress.offset += len(block.data)
        progress.crc = zlib.crc32(block.data, progress.crc)
        progress.line += block.lines
        progress.documents += decoded.table.height
        if decoded.table.height:
            progress.last_time = decoded.table["time"][-1]
        progress.written += len(lines)
        progress.skipped += len(decoded.problems)
        progress.problems += decoded.problems[: LISTED - len(progress.problems)]

    def _save(self, writer: FilterRunWriter) -> None:
        self.progress.output = writer.flush()
        with self.files.partial.open("rb") as handle:
            os.fsync(handle.fileno())
        checkpoint.save(self.files.checkpoint, self.identity, self.progress, self.filtering.state())


def _ahead(stream: Iterator[Block], naive_is_utc: bool) -> Iterator[tuple[Block, Decoded]]:
    """Blocks with their documents, the next one being read while one is worked on."""

    def step() -> tuple[Block, Decoded] | None:
        block = next(stream, None)
        return None if block is None else (block, decode(block, naive_is_utc))

    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(step)
        while (pair := coming.result()) is not None:
            coming = reader.submit(step)
            yield pair


def _check_order(decoded: Decoded, last: int | None, name: str) -> None:
    times = decoded.table["time"]
    before = times.shift(1, fill_value=last)
    early = (times < before).fill_null(False).arg_true()
    if not early.len():
        return
    row = decoded.table.row(early[0], named=True)
    raise FormatError(
        name,
        row["line"],
        f"'{row['doc_id']}' is of {row['time']}, earlier than the document before it "
        f"({before[early[0]]}). A stream must be in the order of time: sort it, for instance with "
        "jq -s -c 'sort_by(.time)[]'",
    )


def _identity(task: FilterTask, options: RunOptions, header: dict[str, Any]) -> dict[str, Any]:
    """What must be the same when a run goes on."""
    labels = {doc_id: dict(found) for doc_id, found in task.tools.labels.items()}
    return {
        **options.about,
        "model": str(task.declared),
        "topics": _digest(list(task.topics)),
        "judgements": _digest(labels),
        "feedback delay": task.tools.delay,
        "team": options.team,
        "times without a zone": "UTC" if options.naive_is_utc else "refused",
        "header": header,
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _put_in_place(files: _Files) -> None:
    """Make the unfinished output the output. The checkpoint goes first: without the other, each
    of them is understood, as a run that starts over or one that is done."""
    ready = files.partial
    if files.output.suffix == ".gz":
        ready = files.partial.with_name(files.partial.name + ".gz")
        with files.partial.open("rb") as plain, ready.open("wb") as raw:
            _compress(plain, raw)
    files.checkpoint.unlink()
    ready.replace(files.output)
    files.partial.unlink(missing_ok=True)


def _compress(plain: IO[bytes], raw: IO[bytes]) -> None:
    """Without a name or a time in it, so that equal lines make equal files."""
    with gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped:
        shutil.copyfileobj(plain, zipped, 1 << 20)
