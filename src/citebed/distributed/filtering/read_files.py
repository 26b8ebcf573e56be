"""What documents say, in Arrow's files: lists of numbers, a batch for each block of the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from citebed.runs.tables import Ints
from citebed.timeline.filters.topics import DocumentFeatures, LearningDocuments, Vectors, no_terms

if TYPE_CHECKING:
    import pyarrow as pa

_COMPRESSION = "lz4"
_NONE: Ints = np.empty(0, np.int64)
_NOBODY = DocumentFeatures(_NONE, pl.Series(dtype=pl.String), _NONE, {}, no_terms(0))
_NOTHING = LearningDocuments(_NOBODY, np.empty(0), {})


class ReadWriter:
    """Writes what documents say."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter) -> None:
        self._writer = writer

    def write(self, reads: DocumentFeatures) -> None:
        """Append documents."""
        self._writer.write_batch(_read_batch(reads))


@contextmanager
def writing_reads(path: Path) -> Iterator[ReadWriter]:
    """A new file of what documents say."""
    with _writing(path, _read_batch(_NOBODY)) as writer:
        yield ReadWriter(writer)


@contextmanager
def _writing(path: Path, like: pa.RecordBatch) -> Iterator[pa.ipc.RecordBatchFileWriter]:
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
    with pa.ipc.new_file(path, like.schema, options=options) as writer:
        yield writer


def read_batches(path: Path) -> Iterator[DocumentFeatures]:
    """What documents say, as it was written."""
    return map(_reads_of, _batches(path))


def times_of(path: Path) -> tuple[Ints, Ints]:
    """The rows of a part's documents, and their times."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=[0, 2])
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source, options=options) as file:
        table = file.read_all()
    return table["row"].to_numpy(), table["time"].to_numpy()


def write_told(path: Path, told: Iterable[LearningDocuments]) -> None:
    """Documents that are learned from, with what was counted at them."""
    with _writing(path, _told_batch(_NOTHING)) as writer:
        for some in told:
            writer.write_batch(_told_batch(some))


def read_told(path: Path) -> LearningDocuments:
    """The same, all together; nothing where nothing was written."""
    import pyarrow as pa

    if not path.exists():
        return _NOTHING
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        (batch,) = file.read_all().combine_chunks().to_batches() or [_told_batch(_NOTHING)]
    _, terms = _flat(batch.column("terms_so_far"), np.float64)
    return LearningDocuments(_reads_of(batch), terms, _by_place(batch.column("names_so_far")))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


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
    """The lists that are not empty."""
    ends, flat = _flat(column, np.int64)
    places = np.flatnonzero(np.diff(ends)).tolist()
    return {place: flat[slice(*ends[place : place + 2])] for place in places}


def _flat(column: pa.ListArray, kind: Any) -> tuple[Ints, Any]:
    """Where lists end, and all that is in them."""
    ends = column.offsets.to_numpy().astype(np.int64)
    flat = column.values.to_numpy(zero_copy_only=False).astype(kind)
    return ends - ends[0], flat[ends[0] : ends[-1]]
