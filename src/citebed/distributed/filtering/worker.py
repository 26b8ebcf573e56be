"""The work on one part of a stream: read it, extract training documents, score it.

Each step uses only files in the work folder, and gives the same result on every machine. The
features of documents are stored in Arrow files, one batch for each block of the stream.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import polars as pl

from citebed.distributed.filtering.stream_parts import WIDTH, Part, PartTask, first_line, moments
from citebed.files.lines import read_part as read_part_bytes
from citebed.files.lines import split_blocks
from citebed.files.output_files import add_files
from citebed.runs.tables import Ints
from citebed.runs.writer import filter_lines
from citebed.timeline.filters import checkpoint
from citebed.timeline.filters.checkpoint import Progress
from citebed.timeline.filters.online_learning import packed, unpacked
from citebed.timeline.filters.stream_checks import Admission
from citebed.timeline.filters.topics import (
    DocumentFeatures,
    LearningDocuments,
    RunningFilter,
    State,
    TermStatistics,
    Vectors,
    no_terms,
)
from citebed.timeline.streams.stream_files import Decoded, decode

if TYPE_CHECKING:
    import pyarrow as pa


_COMPRESSION = "lz4"
_NONE: Ints = np.empty(0, np.int64)
_NOBODY = DocumentFeatures(_NONE, pl.Series(dtype=pl.String), _NONE, {}, no_terms(0))
_NOTHING = LearningDocuments(_NOBODY, np.empty(0), {})


@contextmanager
def _writing(path: Path, like: pa.RecordBatch) -> Iterator[pa.ipc.RecordBatchFileWriter]:
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
    with pa.ipc.new_file(path, like.schema, options=options) as writer:
        yield writer


def read_batches(path: Path) -> Iterator[DocumentFeatures]:
    """Read stored features of documents."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        for number in range(file.num_record_batches):
            yield _reads_of(file.get_batch(number))


def read_learning_documents(path: Path) -> LearningDocuments:
    """Read these documents at once; return none if the file is missing."""
    import pyarrow as pa

    if not path.exists():
        return _NOTHING
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        (batch,) = file.read_all().combine_chunks().to_batches() or [_told_batch(_NOTHING)]
    _, terms = _flat(batch.column("terms_so_far"), np.float64)
    return LearningDocuments(_reads_of(batch), terms, _by_place(batch.column("names_so_far")))


def _read_batch(reads: DocumentFeatures) -> pa.RecordBatch:
    import pyarrow as pa

    ends, numbers, tf = reads.terms
    mentions = [reads.mentions.get(place, ()) for place in range(len(reads))]
    return pa.RecordBatch.from_pydict(
        {
            "row": pa.array(reads.rows, pa.int64()),
            "doc_id": reads.doc_ids.to_arrow(),
            "time": pa.array(reads.times, pa.int64()),
            "mentions": _lists_of(mentions),
            "numbers": _lists(ends, numbers),
            "tf": _lists(ends, tf),
        }
    )


def _told_batch(told: LearningDocuments) -> pa.RecordBatch:
    batch = _read_batch(told.reads)
    batch = batch.append_column("terms_so_far", _lists(told.reads.terms.ends, told.terms))
    names = [told.names.get(place, ()) for place in range(len(told.reads))]
    return batch.append_column("names_so_far", _lists_of(names))


def _lists_of(lists: Sequence[Sequence[int] | Ints]) -> pa.ListArray:
    ends = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=ends[1:])
    return _lists(ends, np.array([number for each in lists for number in each], np.uint32))


def _lists(ends: Ints, flat: np.ndarray[Any, Any]) -> pa.ListArray:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(flat.astype(np.uint32)))


def _reads_of(batch: pa.RecordBatch) -> DocumentFeatures:
    ends, numbers = _flat(batch.column("numbers"), np.int64)
    return DocumentFeatures(
        batch.column("row").to_numpy(),
        pl.Series(batch.column("doc_id")),
        batch.column("time").to_numpy(),
        {at: each.tolist() for at, each in _by_place(batch.column("mentions")).items()},
        Vectors(ends, numbers, _flat(batch.column("tf"), np.float64)[1]),
    )


def _by_place(column: pa.ListArray) -> dict[int, Ints]:
    """Return the lists that are not empty, by position."""
    ends, flat = _flat(column, np.int64)
    places = np.flatnonzero(np.diff(ends)).tolist()
    return {place: flat[slice(*ends[place : place + 2])] for place in places}


def _flat(column: pa.ListArray, kind: Any) -> tuple[Ints, Any]:
    """Return the ends of lists, and their values."""
    ends = column.offsets.to_numpy().astype(np.int64)
    flat = column.values.to_numpy(zero_copy_only=False).astype(kind)
    return ends - ends[0], flat[ends[0] : ends[-1]]


def read_part(task: PartTask, number: int) -> None:
    """Store the features of a part's documents, the counts and the skipped lines."""
    part = task.part(number)
    with add_files(part.folder) as draft:
        made = Part(draft)
        reading = _Reading(task)
        with (
            _writing(made.reads, _read_batch(_NOBODY)) as reads,
            made.skipped.open("wb") as skipped,
        ):
            reading.read(number, reads, skipped)
        checkpoint.save(made.summary, {}, reading.admission.progress, reading.state())


class _Reading:
    """Reads a part."""

    def __init__(self, task: PartTask) -> None:
        self._task = task
        self._filtering = task.started()
        self._tally = self._filtering.tally()
        self._judged: list[tuple[int, int]] = []
        self._first: Decoded | None = None
        self.admission = Admission(task.name, Progress(), strict=task.strict)

    def read(self, number: int, reads: pa.ipc.RecordBatchFileWriter, skipped: BinaryIO) -> None:
        task, begin, end = self._task, *self._task.cuts[number : number + 2]
        lines = read_part_bytes(task.stream, begin, end)
        for block in split_blocks(lines, task.name, task.block, first_line(begin)):
            decoded = self.admission.admitted(decode(block, task.naive_is_utc))
            self._take(decoded, reads)
            for line, what, _ in decoded.problems:
                skipped.write(json.dumps([line, what]).encode() + b"\n")
            self.admission.passed(block, decoded)

    def _take(self, decoded: Decoded, writer: pa.ipc.RecordBatchFileWriter) -> None:
        if self._first is None and decoded.table.height:
            self._first = Decoded(decoded.table.head(1), ())
        before = self.admission.progress.documents
        reads = self._filtering.read(decoded.table)
        reads = replace(reads, rows=before + reads.rows)
        writer.write_batch(_read_batch(reads))
        self._tally.add(reads)
        judged = list(self._filtering.judged(reads))
        self._judged += zip(reads.rows[judged].tolist(), reads.times[judged].tolist(), strict=True)

    def state(self) -> State:
        """Return the counts, the judged rows and the first document."""
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


def restore_counts(filtering: RunningFilter, state: State) -> TermStatistics:
    """Restore the counts of a part."""
    tally = filtering.tally()
    tally.names = state["names"].astype(np.int64)
    tally.terms = unpacked("terms", state, tally.terms.shape)
    return tally


# --- training documents -----------------------------------------------------------------------


def store_learning_documents(task: PartTask, number: int) -> None:
    """Store the documents that a filter must learn from to skip a part."""
    part = task.part(number)
    _, state = checkpoint.load(part.summary, {})
    rows = set(state["judged"][:, 0].tolist())
    if task.declared.looks_back:
        import pyarrow as pa

        # Rows where training examples become due, and the last ones before them and the end.
        options = pa.ipc.IpcReadOptions(included_fields=[0, 2])
        with (
            pa.memory_map(str(part.reads)) as source,
            pa.ipc.open_file(source, options=options) as file,
        ):
            table = file.read_all()
        end = len(table)
        marks = [*moments(table["time"].to_numpy(), task.due), end]
        rows |= {row for mark in marks for row in range(max(0, mark - WIDTH), min(mark + 1, end))}
    with add_files(part.folder) as draft:
        path = Part(draft).learning_documents
        with _writing(path, _told_batch(_NOTHING)) as writer:
            for some in read_rows(task, number, rows):
                writer.write_batch(_told_batch(some))


def read_rows(task: PartTask, number: int, rows: Container[int]) -> Iterator[LearningDocuments]:
    """Yield documents of a part by row, with the part's counts at their time."""
    tally = task.started().tally()
    for reads in read_batches(task.part(number).reads):
        places = [place for place, row in enumerate(reads.rows.tolist()) if row in rows]
        if places:
            yield tally.told(reads).take(np.array(places))
        else:
            tally.add(reads)


# --- scores -----------------------------------------------------------------------------------


def score_part(task: PartTask, number: int) -> None:
    """Write a part's lines of the run, starting from the filter's state at its beginning."""
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
