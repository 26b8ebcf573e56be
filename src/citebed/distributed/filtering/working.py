"""What workers do with a part of a stream: read it, tell of what is learned from, score it.

Each of these is done from what lies in the work folder alone, and gives the same whoever does it
and how often.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from citebed.distributed.filtering.cutting import part_blocks
from citebed.distributed.filtering.folder import Part
from citebed.distributed.filtering.read_files import (
    ReadWriter,
    read_batches,
    times_of,
    write_told,
    writing_reads,
)
from citebed.distributed.filtering.task import WIDTH, PartTask, moments
from citebed.files.output_files import add_files
from citebed.runs.writer import filter_lines
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.checkpoint import Progress
from citebed.timeline.filters.online_learning import packed, unpacked
from citebed.timeline.filters.stream_checks import Admission
from citebed.timeline.filters.topics import LearningDocuments, RunningFilter, State, TermStatistics
from citebed.timeline.streams.stream_files import Decoded, decode


def read_part(task: PartTask, number: int) -> None:
    """Read the documents of a part: what they say, what was counted, and what is no document."""
    part = task.part(number)
    with add_files(part.folder) as draft:
        made = Part(draft)
        reading = _Reading(task)
        with writing_reads(made.reads) as reads, made.skipped.open("wb") as skipped:
            reading.read(number, reads, skipped)
        checkpoint.save(made.summary, {}, reading.admission.progress, reading.state())


class _Reading:
    """A part as it is read."""

    def __init__(self, task: PartTask) -> None:
        self._task = task
        self._filtering = task.started()
        self._tally = self._filtering.tally()
        self._judged: list[tuple[int, int]] = []
        self._first: Decoded | None = None
        self.admission = Admission(task.name, Progress(), strict=task.strict)

    def read(self, number: int, reads: ReadWriter, skipped: BinaryIO) -> None:
        task, begin, end = self._task, *self._task.cuts[number : number + 2]
        for block in part_blocks(task.stream, task.name, begin, end, task.block):
            decoded = self.admission.admitted(decode(block, task.naive_is_utc))
            self._take(decoded, reads)
            for line, what, _ in decoded.problems:
                skipped.write(json.dumps([line, what]).encode() + b"\n")
            self.admission.passed(block, decoded)

    def _take(self, decoded: Decoded, writer: ReadWriter) -> None:
        if self._first is None and decoded.table.height:
            self._first = Decoded(decoded.table.head(1), ())
        before = self.admission.progress.documents
        reads = self._filtering.read(decoded.table)
        reads = replace(reads, rows=before + reads.rows)
        writer.write(reads)
        self._tally.add(reads)
        judged = list(self._filtering.judged(reads))
        self._judged += zip(reads.rows[judged].tolist(), reads.times[judged].tolist(), strict=True)

    def state(self) -> State:
        """What was counted, which rows are judged, and the first document."""
        first = self._first.table.row(0, named=True) if self._first else {}
        return {
            "names": self._tally.names,
            **packed("terms", self._tally.terms),
            "judged": np.array(self._judged, np.int64).reshape(-1, 2),
            "first": np.array(
                [first[name] for name in ("line", "time")] if first else [], np.int64
            ),
            "first_id": np.array(first.get("doc_id", "")),
        }


def tallied(filtering: RunningFilter, state: State) -> TermStatistics:
    """What was counted in a part."""
    tally = filtering.tally()
    tally.names = state["names"].astype(np.int64)
    tally.terms = unpacked("terms", state, tally.terms.shape)
    return tally


# --- what is learned from ---------------------------------------------------------------------


def tell_part(task: PartTask, number: int) -> None:
    """Tell of the documents of a part that a filter must know to skip it."""
    part = task.part(number)
    _, state = checkpoint.load(part.summary, {})
    rows = set(state["judged"][:, 0].tolist())
    if task.declared.looks_back:
        rows |= _windows(part.reads, task.due)
    with add_files(part.folder) as draft:
        write_told(Part(draft).told, telling(task, number, rows))


def _windows(reads: Path, due: tuple[int, ...]) -> set[int]:
    """The rows at which a lesson becomes due, and the last ones before them and before the end."""
    rows, times = times_of(reads)
    marks = [*moments(times, due), len(rows)]
    return {row for mark in marks for row in range(max(0, mark - WIDTH), min(mark + 1, len(rows)))}


def telling(task: PartTask, number: int, rows: Container[int]) -> Iterator[LearningDocuments]:
    """Documents of a part by their rows, with what was counted in it when they came."""
    tally = task.started().tally()
    for reads in read_batches(task.part(number).reads):
        places = [place for place, row in enumerate(reads.rows.tolist()) if row in rows]
        if places:
            yield tally.told(reads).take(np.array(places))
        else:
            tally.add(reads)


# --- scores -----------------------------------------------------------------------------------


def score_part(task: PartTask, number: int) -> None:
    """Write a part's lines of the run, from what the filter knows at its beginning."""
    part = task.part(number)
    begin, state = checkpoint.load(part.state, {})
    filtering = task.started()
    filtering.restore(state)
    done = Progress()
    with add_files(part.folder) as draft:
        made = Part(draft)
        with made.lines.open("wb") as file:
            for reads in read_batches(part.reads):
                lines = filtering.take(begin.documents, reads)
                file.write(filter_lines(task.names, lines))
                done.written += len(lines)
                named = (line.query_id for line in lines)
                done.topics = list(dict.fromkeys((*done.topics, *named)))
        checkpoint.save(made.scored, {}, done, {})
