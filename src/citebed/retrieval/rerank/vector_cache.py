"""Vectors on disk, so that a text is encoded once: keyed by the model and by the text.

Every model has a folder of its own with three plain files: ``model.json`` says which model,
``vectors.f32`` holds one row of little-endian float32 per text, and ``index.bin`` one record per
row: the text's hash, a checksum of the row, and a checksum of the record. Rows are written and
synced before their records, and both files only ever grow at their end. So whatever is cut short
(a crash, a full disk, a kill) leaves rows without records or half a record: a tail that readers
do not see and the next writer cuts off. A row is checked against its checksum whenever it is read.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.reading import read_small
from citebed.files.writing import append_own, is_own, own_folder, sweep, told, write_own
from citebed.wording import printable

Vectors = NDArray[np.float32]

_VERSION = 1
_RECORD = np.dtype([("key", "V16"), ("row_check", "<u4"), ("check", "<u4")])
_CHECKED_BYTES = _RECORD.itemsize - 4
# So many texts are encoded before their vectors are written: what a crash can lose.
_AT_ONCE = 1024


class TextEncoder(Protocol):
    """What the cache needs of an encoder."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def encode(self, texts: Sequence[str], *, batch: int = 32) -> Vectors: ...


class VectorCache:
    """A folder of vectors, for any number of models and processes at once."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._shelves: dict[str, _Shelf] = {}

    def vectors(
        self, encoder: TextEncoder, texts: Sequence[str], *, batch: int = 32, progress: Any = None
    ) -> Vectors:
        """One vector per text, in order; only texts that the cache does not have are encoded.

        ``progress`` is called with the number of texts encoded so far and to be encoded in all.
        """
        shelf = self._shelf(encoder)
        shelf.refresh()
        keys = [text_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in shelf}
        wanted = list(missing.items())
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            made = encoder.encode([text for _, text in part], batch=batch)
            shelf.append([key for key, _ in part], made)
            if progress is not None:
                progress(start + len(part), len(wanted))
        return shelf.read(keys)

    def _shelf(self, encoder: TextEncoder) -> _Shelf:
        mark = encoder.fingerprint
        if mark not in self._shelves:
            self._shelves[mark] = _Shelf(self.folder, encoder)
        return self._shelves[mark]


def text_key(text: str) -> bytes:
    """16 bytes that stand for a text; two texts share them with a chance of 1 in 10^38."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Shelf:
    """The vectors of one model."""

    def __init__(self, cache: Path, encoder: TextEncoder) -> None:
        self._mark, self._width = encoder.fingerprint, encoder.dimensions
        self._folder = cache / self._mark[:32]
        self._index, self._rows = self._folder / "index.bin", self._folder / "vectors.f32"
        self._places: dict[bytes, int] = {}
        self._checks = np.empty(0, np.uint32)
        self._guard = threading.RLock()  # between threads; the file lock is between processes
        self._open(encoder)

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def _open(self, encoder: TextEncoder) -> None:
        """Make the folder, or make sure that it is this model's."""
        says = {"version": _VERSION, "fingerprint": self._mark, "dimensions": self._width}
        path = self._folder / "model.json"
        own_folder(self._folder)
        for file in (path, self._index, self._rows):
            if not is_own(file):
                raise self._damaged(f"{file.name} is not a plain file")
        if not path.exists():
            write_own(path, json.dumps({"name": encoder.name, **says}, indent=1))
        sweep(self._folder)
        try:
            found = json.loads(read_small(path))
            same = all(found[name] == value for name, value in says.items())
        except (ValueError, KeyError, TypeError, RecursionError):
            same = False
        if not same:
            raise self._damaged(f"{path.name} is not of version {_VERSION} for this model")

    # --- reading ---

    def refresh(self) -> None:
        """Take in what was appended since the last look, by this process or another."""
        with self._guard:
            self._take_in(len(self._checks))

    def _take_in(self, known: int) -> None:
        records = _intact(self._new_records(known))
        whole_rows = _size(self._rows) // (4 * self._width)
        if known > whole_rows:
            raise self._damaged(f"{self._rows.name} has become shorter")
        records = records[: whole_rows - known]
        self._checks = np.concatenate([self._checks, records["row_check"]])
        keys = records["key"].tolist()
        self._places.update(zip(keys, range(known, known + len(keys)), strict=True))

    def _new_records(self, known: int) -> NDArray[Any]:
        start = known * _RECORD.itemsize
        if not self._index.exists():
            data = b""
        else:
            with self._index.open("rb") as file:
                file.seek(start)
                data = file.read()
        return np.frombuffer(data[: len(data) // _RECORD.itemsize * _RECORD.itemsize], _RECORD)

    def read(self, keys: Sequence[bytes]) -> Vectors:
        """The rows of the keys, each checked."""
        with self._guard:
            places = np.array([self._places[key] for key in keys], np.int64)
            checks = self._checks
        if not len(places):
            return np.empty((0, self._width), np.float32)
        rows = np.memmap(self._rows, "<f4", "r", shape=(len(checks), self._width))
        found = np.asarray(rows[places], np.float32)
        for row, place in zip(found, places, strict=True):
            if zlib.crc32(row) != checks[place]:
                raise self._damaged(f"row {place} of {self._rows.name} is not what was written")
        return found

    def _damaged(self, what: str) -> CitebedError:
        return CitebedError(
            f"the vector cache '{printable(self._folder)}' is damaged: {what}. Delete that "
            "folder; its vectors will be computed anew"
        )

    # --- writing ---

    def append(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Write rows, then their records; leave out what another process wrote meanwhile."""
        vectors = np.ascontiguousarray(vectors, "<f4")
        if vectors.shape != (len(keys), self._width) or not np.isfinite(vectors).all():
            raise CitebedError(
                f"the encoder gave an array of {vectors.shape} for {len(keys)} texts of "
                f"{self._width} dimensions, or numbers that are none: nothing was kept"
            )
        with told(self._folder), self._guard, _locked(self._folder / "lock"):
            self.refresh()
            self._cut_tail()
            new = [at for at, key in enumerate(keys) if key not in self]
            _append(self._rows, vectors[new].tobytes())
            _append(self._index, _records([keys[at] for at in new], vectors[new]))
        self.refresh()

    def _cut_tail(self) -> None:
        """Drop what a writer that did not finish left at the ends. Only with the lock held."""
        count = len(self._checks)
        for path, width in ((self._index, _RECORD.itemsize), (self._rows, 4 * self._width)):
            if _size(path) > count * width:
                with append_own(path) as file:
                    file.truncate(count * width)


def _records(keys: Sequence[bytes], rows: Vectors) -> bytes:
    records = np.zeros(len(keys), _RECORD)
    records["key"] = np.frombuffer(b"".join(keys), "V16")
    records["row_check"] = [zlib.crc32(row) for row in rows]
    records["check"] = _record_checks(records)
    return records.tobytes()


def _record_checks(records: NDArray[Any]) -> list[int]:
    data, width = records.tobytes(), _RECORD.itemsize
    return [zlib.crc32(data[at : at + _CHECKED_BYTES]) for at in range(0, len(data), width)]


def _intact(records: NDArray[Any]) -> NDArray[Any]:
    """The records up to the first that is not whole: everything from there on is a torn tail."""
    wrong = np.flatnonzero(records["check"] != np.array(_record_checks(records), np.uint32))
    return records[: wrong[0]] if len(wrong) else records


def _append(path: Path, data: bytes) -> None:
    with io.BufferedWriter(append_own(path)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes and threads respect; it goes with the process."""
    with append_own(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
