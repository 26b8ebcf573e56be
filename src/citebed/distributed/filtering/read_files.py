"""What documents say, in Arrow's files: lists of numbers, a batch for each block of the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from citebed.timeline.filters.base import Read, Told

if TYPE_CHECKING:
    import pyarrow as pa

_COMPRESSION = "lz4"


class Batch(NamedTuple):
    """Documents, and how many of the part came before their table."""

    first: int
    reads: list[Read]


class ReadWriter:
    """Writes what documents say."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter) -> None:
        self._writer = writer

    def write(self, first: int, reads: Sequence[Read]) -> None:
        """Append documents; ``first`` is how many of the part came before their table."""
        self._writer.write_batch(_read_batch(first, reads))


@contextmanager
def writing_reads(path: Path) -> Iterator[ReadWriter]:
    """A new file of what documents say."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
    with pa.ipc.new_file(path, _read_batch(0, ()).schema, options=options) as writer:
        yield ReadWriter(writer)


def read_batches(path: Path) -> Iterator[Batch]:
    """What documents say, as it was written."""
    for batch in _batches(path):
        yield Batch(batch.column("first")[0].as_py() if batch.num_rows else 0, _reads_of(batch))


def times_of(path: Path) -> tuple[np.ndarray[Any, Any], ...]:
    """The rows of a part's documents, and their times."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=[0, 1, 3])
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source, options=options) as file:
        table = file.read_all()
    rows = table["first"].to_numpy() + table["row"].to_numpy()
    return rows, table["time"].to_numpy()


def write_told(path: Path, told: Sequence[Told]) -> None:
    """Documents that are learned from, with what was counted at them."""
    import pyarrow as pa

    batch = _read_batch(0, [each.read for each in told])
    batch = batch.append_column("terms_so_far", _lists([each.terms for each in told], np.uint32))
    batch = batch.append_column("names_so_far", _lists([each.names for each in told], np.uint32))
    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
    with pa.ipc.new_file(path, batch.schema, options=options) as writer:
        writer.write_batch(batch)


def read_told(path: Path) -> list[Told]:
    """The same, as they were."""
    told: list[Told] = []
    for batch in _batches(path):
        terms = _arrays_of(batch.column("terms_so_far"), np.float64)
        names = _arrays_of(batch.column("names_so_far"), np.int64)
        told += map(Told, _reads_of(batch), terms, names)
    return told


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def _read_batch(first: int, reads: Sequence[Read]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {
            "first": pa.array([first] * len(reads), pa.int64()),
            "row": pa.array([read.row for read in reads], pa.int64()),
            "doc_id": pa.array([read.doc_id for read in reads], pa.string()),
            "time": pa.array([read.time for read in reads], pa.int64()),
            "mentions": _lists([read.mentions for read in reads], np.uint32),
            "numbers": _lists([read.numbers for read in reads], np.uint32),
            "tf": _lists([read.tf for read in reads], np.uint32),
        }
    )


def _lists(lists: Sequence[Sequence[int] | np.ndarray[Any, Any]], kind: Any) -> pa.ListArray:
    import pyarrow as pa

    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(each) for each in lists], out=offsets[1:])
    flat = np.concatenate([np.asarray(each, kind) for each in lists] or [np.empty(0, kind)])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def _reads_of(batch: pa.RecordBatch) -> list[Read]:
    columns: Iterable[Any] = (
        batch.column("row").to_pylist(),
        batch.column("doc_id").to_pylist(),
        batch.column("time").to_pylist(),
        batch.column("mentions").to_pylist(),
        _arrays_of(batch.column("numbers"), np.int64),
        _arrays_of(batch.column("tf"), np.float64),
    )
    return list(map(Read, *columns))


def _arrays_of(column: pa.ListArray, kind: Any) -> list[np.ndarray[Any, Any]]:
    flat = column.values.to_numpy(zero_copy_only=False).astype(kind)
    ends = column.offsets.to_numpy().tolist()
    return [flat[start:end] for start, end in pairwise(ends)]
