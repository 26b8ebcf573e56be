"""The two kinds of arrays of an index that are more than numbers, memory-mapped.

A field's frequencies along the postings, of which one that is mostly empty is kept as its rest; and
a sorted table of strings, opened at once and searched by halving.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Where = slice | NDArray[np.int64]
_AT_ONCE = 1 << 16


class Column:
    """Frequencies by posting: all of them, or (with ``at``) those that are not 0."""

    def __init__(
        self, size: int, values: NDArray[Any], at: NDArray[np.uint32] | None = None
    ) -> None:
        self._size = size
        self._values = values
        self._at = at

    def __getitem__(self, where: Where) -> NDArray[Any]:
        """The frequencies of a run of postings, or of the postings at some places."""
        if self._at is None:
            return self._values[where]
        if isinstance(where, slice):
            first, last = _places(self._at, np.array((where.start, where.stop)))
            found = np.zeros(where.stop - where.start, self._values.dtype)
            found[self._at[first:last] - np.int64(where.start)] = self._values[first:last]
            return found
        place = _places(self._at, where)
        place[place == len(self._at)] = 0
        mine = self._at[place] == where if len(self._at) else np.zeros(len(where), bool)
        return np.where(mine, self._values[place] if len(self._at) else 0, 0)

    def filled(self, span: slice | None = None) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The places in a run of postings, or in all, that are not 0, from the start of the run,
        and what is there."""
        span = span or slice(0, self._size)
        if self._at is None:
            values = np.asarray(self._values[span])
            there = np.flatnonzero(values)
            return there, values[there]
        first, last = _places(self._at, np.array((span.start, span.stop)))
        return self._at[first:last] - np.int64(span.start), self._values[first:last]


def _places(at: NDArray[np.uint32], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where the wanted places are; numpy would copy all of ``at`` to compare another type."""
    return np.searchsorted(at, wanted.astype(at.dtype))


Filled = tuple[NDArray[np.uint32], NDArray[np.uint32]]


def summed(number: NDArray[np.uint32], times: NDArray[np.uint16]) -> Filled:
    """The postings that ``number`` (ascending) names, each once, and the sums of their times."""
    if not len(number):
        return number, number
    first = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    if len(first) == len(number):
        return number, times.astype(np.uint32)
    return number[first], np.add.reduceat(times.astype(np.uint32), first)


def with_capacity(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or if it is shorter than ``size`` a copy of twice that size."""
    if size <= len(array):
        return array
    made = np.empty(2 * size, array.dtype)
    made[: len(array)] = array
    return made


class Growing:
    """An array that is made piece by piece, in memory or in a file of a folder.

    A file is written and then mapped: memory that is written to and cannot be put on a full disk
    would end the process without a word.
    """

    def __init__(self, name: str, kind: Any, folder: Path | None = None) -> None:
        self._kind = np.dtype(kind)
        self._path = None if folder is None else folder / f"{name}.column"
        self._parts: list[NDArray[Any]] = []
        self._file = None if self._path is None else self._path.open("wb")
        self._size = 0

    def add(self, part: NDArray[Any]) -> None:
        """Put numbers behind the others."""
        whole = np.ascontiguousarray(part, self._kind)
        self._size += len(whole)
        if self._file is None:
            self._parts.append(whole)
        else:
            self._file.write(whole.data)

    def array(self) -> NDArray[Any]:
        """All of it; nothing more is added."""
        if self._file is None or self._path is None:
            return np.concatenate([np.zeros(0, self._kind), *self._parts])
        self._file.close()
        if not self._size:  # which cannot be mapped
            return np.zeros(0, self._kind)
        return np.memmap(self._path, self._kind, mode="r")


class FilledColumn:
    """A column in the making: what is not 0 of it, in order, in memory or in files of a folder."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name, self._folder = name, folder
        self._at = Growing(f"{name}.at", np.uint32, folder)
        self._values = Growing(f"{name}.values", np.uint32, folder)
        self._most = 0

    def add(self, filled: Filled) -> None:
        """Put some places, and what is there, behind the others."""
        at, values = filled
        self._at.add(at)
        self._values.add(values)
        self._most = max(self._most, int(values.max(initial=0)))

    def packed(self, postings: int) -> dict[str, NDArray[Any]]:
        """The arrays of the column."""
        kind = np.min_scalar_type(self._most)
        at, values = self._at.array(), self._values.array()
        made = Growing(self.name, kind, self._folder)
        if len(at) * (4 + kind.itemsize) < postings * kind.itemsize:
            for start in range(0, len(at), _AT_ONCE):
                made.add(values[start : start + _AT_ONCE])
            return {self.name: made.array(), f"{self.name}.at": at}
        for start in range(0, postings, _AT_ONCE):
            part = np.zeros(min(_AT_ONCE, postings - start), kind)
            here = slice(*_places(at, np.array((start, start + len(part)))))
            part[at[here] - np.int64(start)] = values[here]
            made.add(part)
        return {self.name: made.array()}


class Strings(Sequence[str]):
    """Strings in the order of their UTF-8 bytes; a string's place in it is its number."""

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._blob = blob
        self._bytes = blob.data
        self._offsets = np.asarray(offsets)  # no mapped array: its items are read a third as fast

    @staticmethod
    def packed(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The two arrays of some strings, which must be sorted already."""
        if isinstance(strings, pl.Series):
            return _packed_series(strings)
        encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(data) for data in encoded], out=offsets[1:])
        return np.frombuffer(b"".join(encoded), np.uint8), offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return self._raw(int(number) % len(self)).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        data = bytes(self._bytes)
        ends = self._offsets.tolist()
        for start, end in itertools.pairwise(ends):
            yield data[start:end].decode("utf-8", "surrogatepass")

    def series(self) -> pl.Series:
        """All strings as a column; quickly, as long as none has a line break in it."""
        lines = np.insert(self._blob, self._offsets[1:-1], ord("\n")).tobytes()
        found = pl.Series([lines.decode("utf-8", "surrogatepass")]).str.split("\n").explode()
        return found if len(found) == len(self) else pl.Series(list(self), dtype=pl.String)

    def find(self, text: str) -> int:
        """The string's number, or -1 if it is not there."""
        wanted = text.encode("utf-8", "surrogatepass")
        place = bisect_left(range(len(self)), wanted, key=self._raw)
        return place if place < len(self) and self._raw(place) == wanted else -1

    def _raw(self, number: int) -> bytes:
        return bytes(self._bytes[self._offsets[number] : self._offsets[number + 1]])


def _packed_series(strings: pl.Series) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The two arrays of a column, without an object for each of its strings."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(strings.str.len_bytes().to_numpy(), out=offsets[1:])
    parts = (part.str.join("").cast(pl.Binary)[0] for part in _parts(strings))
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def _parts(strings: pl.Series) -> Iterator[pl.Series]:
    for start in range(0, len(strings), _AT_ONCE):
        yield strings.slice(start, _AT_ONCE)
