"""The work on one part of a stream: read it, extract training documents, score it.

Each step uses only files in the work folder, and gives the same result on every machine. The
features of documents are stored in Arrow files, one batch for each block of the stream.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from citebed.timeline.filters.online_learning import RunningFilter, packed, unpacked
from citebed.timeline.filters.stream_checks import Admission
from citebed.timeline.filters.topics import (
    DocumentFeatures,
    State,
    TermStatistics,
    Vectors,
    no_vectors,
)
from citebed.timeline.streams.stream_files import decode

if TYPE_CHECKING:
    import pyarrow as pa


_COMPRESSION = "lz4"
_NONE: Ints = np.empty(0, np.int64)
_NOBODY = DocumentFeatures(_NONE, pl.Series(dtype=pl.String), _NONE, no_vectors(0), no_vectors(0))
_OF_VECTORS = ("numbers", "values", "counted")


@contextmanager
def _writing(path: Path) -> Iterator[pa.ipc.RecordBatchFileWriter]:
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
    with pa.ipc.new_file(path, _batch(_NOBODY).schema, options=options) as writer:
        yield writer


def read_batches(path: Path) -> Iterator[DocumentFeatures]:
    """Read stored features of documents."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        for number in range(file.num_record_batches):
            yield _features(file.get_batch(number))


def read_learning_documents(path: Path) -> DocumentFeatures:
    """Read these documents at once; return none if the file is missing."""
    import pyarrow as pa

    if not path.exists():
        return _NOBODY
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        (batch,) = file.read_all().combine_chunks().to_batches() or [_batch(_NOBODY)]
    return _features(batch)


def _batch(reads: DocumentFeatures) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {
        "row": pa.array(reads.rows, pa.int64()),
        "doc_id": reads.doc_ids.to_arrow(),
        "time": pa.array(reads.times, pa.int64()),
    }
    for kind, vectors in (("names", reads.mentions), ("terms", reads.terms)):
        for part in _OF_VECTORS:
            flat = getattr(vectors, part).astype(np.uint32)
            # Without counts, all lists are empty.
            ends = vectors.ends if flat.size else np.zeros_like(vectors.ends)
            lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(flat))
            columns[f"{kind}_{part}"] = lists
    return pa.RecordBatch.from_pydict(columns)


def _features(batch: pa.RecordBatch) -> DocumentFeatures:
    vectors = []
    for kind in ("names", "terms"):
        flat = []
        for part in _OF_VECTORS:
            column = batch.column(f"{kind}_{part}")
            ends = column.offsets.to_numpy().astype(np.int64)
            values = column.values.to_numpy(zero_copy_only=False)[ends[0] : ends[-1]]
            flat.append(values.astype(np.int64 if part == "numbers" else np.float64))
        own = batch.column(f"{kind}_numbers").offsets.to_numpy().astype(np.int64)
        vectors.append(Vectors(own - own[0], *flat))
    return DocumentFeatures(
        batch.column("row").to_numpy(),
        pl.Series(batch.column("doc_id")),
        batch.column("time").to_numpy(),
        *vectors,
    )


def read_part(task: PartTask, number: int) -> None:
    """Store the features of a part's documents, the counts and the skipped lines."""
    part, filtering = task.part(number), task.started()
    tally = filtering.tally()
    admission = Admission(task.name, Progress(), strict=task.strict)
    progress = admission.progress
    judged: list[tuple[int, int]] = []
    first: dict[str, Any] = {}
    begin, end = task.cuts[number : number + 2]
    lines = read_part_bytes(task.stream, begin, end)
    with add_files(part.folder) as draft:
        made = Part(draft)
        with _writing(made.reads) as writer, made.skipped.open("wb") as skipped:
            for block in split_blocks(lines, task.name, task.block, first_line(begin)):
                decoded = admission.admitted(decode(block, task.naive_is_utc))
                if decoded.table.height:
                    first = first or decoded.table.row(0, named=True)
                reads = filtering.read(decoded.table)
                reads = replace(reads, rows=progress.documents + reads.rows)
                writer.write_batch(_batch(reads))
                tally.add(reads)
                places = list(filtering.judged(reads))
                rows, times = reads.rows[places].tolist(), reads.times[places].tolist()
                judged += zip(rows, times, strict=True)
                for line, what, _ in decoded.problems:
                    skipped.write(json.dumps([line, what]).encode() + b"\n")
                admission.passed(block, decoded)
        state = {
            "names": tally.names,
            **packed("terms", tally.terms),
            "judged": np.array(judged, np.int64).reshape(-1, 2),
            "first": np.array([first["line"], first["time"]] if first else [], np.int64),
            "first_id": np.array(first.get("doc_id", "")),
        }
        checkpoint.save(made.summary, {}, progress, state)


def restore_counts(filtering: RunningFilter, state: State) -> TermStatistics:
    """Restore the counts of a part."""
    tally = filtering.tally()
    tally.names = state["names"].astype(np.float64)
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
        with _writing(path) as writer:
            for some in read_rows(task, number, rows):
                writer.write_batch(_batch(some))


def read_rows(task: PartTask, number: int, rows: Container[int]) -> Iterator[DocumentFeatures]:
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
