"""Run a filter over a stream, with checkpoints, so that a killed run can resume.

While a filter runs, its output is in ``OUT.partial`` and its checkpoint in ``OUT.checkpoint``.
Both disappear when the output gets its name. A resumed run truncates the partial output to the
checkpoint and restores the model's state, so that it writes the same bytes as an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from citebed.errors import CitebedError, FormatError
from citebed.files.lines import Block
from citebed.files.output_files import translate_write_errors
from citebed.records import Problem
from citebed.runs.writer import filter_lines, filter_names, header_line
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.checkpoint import Progress
from citebed.timeline.filters.online_learning import Filter, RunningFilter
from citebed.timeline.filters.output_files import Drafts, OutputFiles
from citebed.timeline.filters.stream_checks import Admission
from citebed.timeline.filters.topics import FilterContext, State, Topic
from citebed.timeline.streams.stream_files import Decoded, Source, blocks, checksum, decode
from citebed.wording import count, printable

SHOWN = 5
"""How many of the skipped lines an error message quotes."""


class FilterTask(NamedTuple):
    """A stream, its topics, a filter model and the model's context."""

    source: Source
    topics: Sequence[Topic]
    declared: Filter
    tools: FilterContext


@dataclass(frozen=True)
class FilterOptions:
    """Options of a filter run.

    ``about`` has further settings that must match a checkpoint, by a name for messages.
    ``skipped`` is a file for the list of lines that are not documents. ``block`` is the batch size
    in bytes; 0 uses the model's. ``every`` is the number of seconds between checkpoints.
    """

    team: str = "citebed"
    header: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    skipped: Path | None = None
    naive_is_utc: bool = False
    strict: bool = False
    overwrite: bool = False
    restart: bool = False
    every: float = 10.0
    block: int = 0


class FilterReport(NamedTuple):
    """Counts and unused inputs of a filter run.

    ``repeated`` of the ``skipped`` lines are repeated documents; ``problems`` lists the first
    hundred skipped lines. ``resumed`` counts the documents that an earlier, interrupted run
    completed. ``unmatched`` are topics without output lines, ``unmet`` judged and training
    documents that are not in the stream, and ``unknown`` topics that only judgements name.
    """

    output: Path
    documents: int
    lines: int
    skipped: int
    repeated: int
    resumed: int
    problems: tuple[Problem, ...]
    unmatched: tuple[str, ...]
    unmet: tuple[str, ...]
    unknown: tuple[str, ...]


def run_filter(
    task: FilterTask,
    output: Path,
    options: FilterOptions,
    advance: Callable[[int], None] = lambda _: None,
) -> FilterReport:
    """Filter a stream and write a filter run (gzip if the name ends in ``.gz``).

    Resumes after a killed run. ``advance`` is called with the number of bytes read. A document
    that is earlier than the one before it is an error, because a filter must not look ahead; so is
    a stream without documents. If a run with a checkpoint fails, its exception gets a note that
    explains how to resume (``__notes__``). Without a checkpoint no file is left behind.
    """
    files = OutputFiles(output, options.skipped)
    files.check(options.overwrite)
    filtering = task.declared.start(task.topics, task.tools)
    with files.alone() as drafts:
        if options.restart:
            files.checkpoint.unlink(missing_ok=True)
        run = _Run(task, (files, drafts), options, filtering)
        resumed = run.progress.documents
        try:
            run.go_on(advance)
            if run.progress.documents:
                files.put_in_place(drafts)
        except BaseException as cause:
            run.stopped(cause)
            raise
        if not run.progress.documents:
            files.put_list_in_place(drafts)
            files.remove()
            raise no_documents(task.source.name, run.progress)
    return report_of(task, run.progress, run.filtering.unmet(), output, resumed)


def no_documents(name: str, progress: Progress) -> FormatError:
    """Return the error for a stream without documents."""
    if not progress.skipped:
        expected = "expected JSON Lines with doc_id, time, and title, abstract or text"
        return FormatError(name, None, f"it is empty; {expected}")
    lines = count(progress.skipped, "line")
    none = "its only line is not a" if progress.skipped == 1 else f"none of its {lines} is a"
    shown = [f"{name}:{problem.line}: {problem.what}" for problem in progress.problems[:SHOWN]]
    more = progress.skipped - len(shown)
    shown += [f"and {more:,} more"] if more else []
    what = f"{none} document, so no run is written:"
    return FormatError(name, None, "\n  ".join((what, *shown)))


def report_of(
    task: FilterTask, done: Progress, unmet: Sequence[str], output: Path, resumed: int
) -> FilterReport:
    """Return the report of a completed run."""
    ids = [topic.query_id for topic in task.topics]
    judged = {query_id for topics in task.tools.labels.values() for query_id in topics}
    return FilterReport(
        output=output,
        documents=done.documents,
        lines=done.written,
        skipped=done.skipped,
        repeated=done.repeated,
        resumed=resumed,
        problems=tuple(done.problems),
        unmatched=tuple(query_id for query_id in ids if query_id not in done.topics),
        unmet=tuple(unmet),
        unknown=tuple(sorted(judged.difference(ids))),
    )


class _Run:
    """The state of a run: filter, files, and progress in the stream."""

    def __init__(
        self,
        task: FilterTask,
        place: tuple[OutputFiles, Drafts],
        options: FilterOptions,
        filtering: RunningFilter,
    ) -> None:
        self.task = task
        self.files, self.drafts = place
        self.options = options
        self.filtering = filtering
        self.header = header_of(task, options)
        self.identity = identity_of(task, options)
        self.saved: int | None = None  # documents at the last checkpoint
        is_begun = os.path.lexists(self.files.checkpoint)
        self.admission = Admission(task.source.name, Progress(), strict=options.strict)
        if is_begun:
            self.admission.progress = self._resume()
        with translate_write_errors(self.files.partial):
            for draft, length in self._lengths(self.progress):
                draft.truncate(length)

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        return self.admission.progress

    def _lengths(self, progress: Progress) -> Iterator[tuple[BinaryIO, int]]:
        """Yield the open partial files with their lengths in bytes."""
        yield self.drafts.run, progress.output
        if self.drafts.listing:
            yield self.drafts.listing, progress.listing

    def _resume(self) -> Progress:
        """Check that the checkpoint belongs to this run, restore it, and return its progress."""
        path = self.files.checkpoint
        progress, state = checkpoint.load(path, self.identity)
        if progress.output and not os.fstat(self.drafts.run.fileno()).st_size:
            return Progress()  # left by a run that was killed just after it completed
        for draft, length in self._lengths(progress):
            if os.fstat(draft.fileno()).st_size < length:
                name = self.files.partial if draft is self.drafts.run else self.files.listing
                raise CitebedError(
                    f"{printable(name or path)} is shorter than the checkpoint {printable(path)} "
                    "says; add --restart to start over"
                )
        # A stream may grow, but the part read so far must not change.
        checksums = checksum(self.task.source, progress.offset)
        if checksums != progress.crc:
            what = "are incomplete" if checksums is None else "differ"
            raise CitebedError(
                f"{self.task.source.name} has changed since the checkpoint {printable(path)} was "
                f"made: its first {progress.offset:,} bytes {what}. Add --restart to start over"
            )
        if self.options.strict and progress.problems:
            raise FormatError(self.task.source.name, *progress.problems[0][:2])
        self.filtering.restore(state)
        self.admission.repeats.restore(state)
        self.saved = progress.documents
        return progress

    def go_on(self, advance: Callable[[int], None]) -> None:
        """Filter the rest of the stream."""
        progress = self.progress
        advance(progress.offset)
        size = self.options.block or self.task.declared.block
        stream = blocks(self.task.source, size, progress.line, progress.offset)
        saved = time.monotonic()
        names = filter_names(self.options.team, self.task.declared.name)
        if not os.fstat(self.drafts.run.fileno()).st_size:
            self.drafts.run.write(header_line(self.header))
        for block, decoded in _ahead(stream, self.options.naive_is_utc):
            self._take(block, decoded, names)
            advance(len(block.data))
            if time.monotonic() - saved >= self.options.every:
                self._save()
                saved = time.monotonic()
        self._save()

    def _take(self, block: Block, decoded: Decoded, names: str) -> None:
        """Score the documents of a block and write the output lines."""
        progress = self.progress
        decoded = self.admission.admitted(decoded)
        reads = self.filtering.read(decoded.table)
        lines = self.filtering.take(progress.documents, reads)
        with translate_write_errors(self.files.partial):
            self.drafts.run.write(filter_lines(names, lines))
            if self.drafts.listing:
                self.drafts.listing.write(listed(self.task.source.name, decoded.problems))
        progress.crc = zlib.crc32(block.data, progress.crc)
        self.admission.passed(block, decoded)
        progress.written += len(lines)
        progress.topics = list(dict.fromkeys((*progress.topics, *(it.query_id for it in lines))))

    def _save(self) -> None:
        with translate_write_errors(self.files.partial):
            self.progress.output, self.progress.listing = map(_on_disk, self.drafts)
        state: State = {**self.filtering.state(), **self.admission.repeats.state()}
        checkpoint.save(self.files.checkpoint, self.identity, self.progress, state)
        self.saved = self.progress.documents

    def stopped(self, cause: BaseException) -> None:
        """Add a note on how to resume; without a checkpoint, remove the partial files instead."""
        if self.saved is None:
            self.files.remove()
        else:
            cause.add_note(
                f"to go on after document {self.saved:,}, run the same command again "
                f"({printable(self.files.partial)} and {printable(self.files.checkpoint)} are kept "
                "for that); add --restart to start over"
            )


def _on_disk(draft: BinaryIO | None) -> int:
    """Flush a partial file to the disk and return its length in bytes."""
    if draft is None:
        return 0
    draft.flush()
    os.fsync(draft.fileno())
    return os.fstat(draft.fileno()).st_size


def _ahead(stream: Iterator[Block], naive_is_utc: bool) -> Iterator[tuple[Block, Decoded]]:
    """Yield blocks with their documents; decode the next one in a thread meanwhile."""

    def step() -> tuple[Block, Decoded] | None:
        block = next(stream, None)
        return None if block is None else (block, decode(block, naive_is_utc))

    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(step)
        while (pair := coming.result()) is not None:
            coming = reader.submit(step)
            yield pair


def listed(name: str, problems: Sequence[Problem]) -> bytes:
    """Format problems for the list of skipped lines."""
    lines = (f"{name}:{line}: {what}\n" for line, what, _ in problems)
    return "".join(lines).encode("utf-8", "backslashreplace")


def header_of(task: FilterTask, options: FilterOptions) -> dict[str, Any]:
    """Return the header of a run."""
    return {**options.header, "model": str(task.declared)}


_HEADER = {"corpus_id": "the stream", "topic_set_id": "the topics file", "made_by": "the version"}


def identity_of(task: FilterTask, options: FilterOptions) -> dict[str, Any]:
    """Return the settings that must match when a run resumes, by a name for messages."""
    header = header_of(task, options)
    labels = {doc_id: dict(topics) for doc_id, topics in task.tools.labels.items()}
    elsewhere = (options.team, task.declared.name, header["model"])
    return {
        "the model": header["model"],
        "topics": _digest(list(task.topics)),
        "judgements": _digest(labels),
        "the feedback delay": f"{task.tools.delay} s",
        **options.about,
        "the team": options.team,
        "times without a zone": "UTC" if options.naive_is_utc else "refused",
        "the list of skipped lines": (
            printable(options.skipped) if options.skipped else "not written"
        ),
        **{
            _HEADER.get(name, f"the header's {name}"): value
            for name, value in header.items()
            if value not in elsewhere
        },
    }


def _digest(value: Any) -> dict[str, str]:
    """Return the hash of a value; a dict, which messages do not quote."""
    return {"sha256": hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()}
