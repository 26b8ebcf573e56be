"""The two kinds of arrays of an index that are more than numbers, memory-mapped.

A field's frequencies along the postings, of which one that is mostly empty is kept as its rest; and
a sorted table of strings, opened at once and searched by halving.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Where = slice | NDArray[np.int64]


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

    def filled(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The places that are not 0, and what is there."""
        if self._at is not None:
            return self._at.astype(np.int64), self._values
        there = np.flatnonzero(self._values)
        return there, self._values[there]


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


def packed_column(name: str, filled: list[Filled], postings: int) -> dict[str, NDArray[Any]]:
    """The arrays of a column, from the parts of it that are not 0, in order."""
    most = max((int(values.max(initial=0)) for _, values in filled), default=0)
    kind = np.min_scalar_type(most)
    count = sum(len(at) for at, _ in filled)
    if count * (4 + kind.itemsize) < postings * kind.itemsize:
        none = (np.zeros(0, np.uint32), np.zeros(0, np.uint32))
        at, values = (np.concatenate(each) for each in zip(none, *filled, strict=True))
        return {name: values.astype(kind), f"{name}.at": at}
    column = np.zeros(postings, kind)
    for at, values in filled:
        column[at] = values
    return {name: column}


class Strings(Sequence[str]):
    """Strings in the order of their UTF-8 bytes; a string's place in it is its number."""

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._blob = blob
        self._bytes = blob.data
        self._offsets = np.asarray(offsets)  # no mapped array: its items are read a third as fast

    @staticmethod
    def packed(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The two arrays of some strings, which must be sorted already."""
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
