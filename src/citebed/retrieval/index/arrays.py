"""Frequency columns and string tables, the two structures of an index beyond plain arrays.

A column holds one frequency per posting; a mostly empty column stores only its non-zero entries.
A string table is sorted, opens without reading it, and is searched by bisection.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

Selection = slice | NDArray[np.int64]
"""A run of postings, or the positions of some."""
Nonzero = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Rising positions of postings, and the frequency at each."""
_BATCH = 1 << 16


class Column:
    """Frequencies by posting: all of them, or with ``at`` those at the positions ``at`` only."""

    def __init__(
        self, size: int, values: NDArray[Any], at: NDArray[np.uint32] | None = None
    ) -> None:
        self._size = size
        self._values = values
        self._at = at

    def __getitem__(self, selection: Selection) -> NDArray[Any]:
        """Return the frequencies of the selected postings."""
        if self._at is None:
            return self._values[selection]
        if isinstance(selection, slice):
            at, values = self.nonzero(selection)
            dense = np.zeros(selection.stop - selection.start, self._values.dtype)
            dense[at] = values
            return dense
        if not len(self._at):
            return np.zeros(len(selection), self._values.dtype)
        place = _search(self._at, selection)
        place[place == len(self._at)] = 0
        return np.where(self._at[place] == selection, self._values[place], 0)

    def nonzero(self, span: slice | None = None) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the positions in ``span`` (counted from its start) that are not 0, and their
        frequencies."""
        span = span or slice(0, self._size)
        if self._at is None:
            values = np.asarray(self._values[span])
            filled = np.flatnonzero(values)
            return filled, values[filled]
        first, last = _search(self._at, np.array((span.start, span.stop)))
        return self._at[first:last] - np.int64(span.start), self._values[first:last]


def _search(at: NDArray[np.uint32], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    # With the same type on both sides; numpy would copy all of ``at`` to convert it.
    return np.searchsorted(at, wanted.astype(at.dtype))


def sum_repeated(number: NDArray[np.uint32], times: NDArray[np.uint16]) -> Nonzero:
    """Sum ``times`` over equal neighbours in ``number``, which rises."""
    first = np.flatnonzero(np.diff(number.astype(np.int64), prepend=-1))
    if len(first) == len(number):
        return number, times.astype(np.uint32)
    return number[first], np.add.reduceat(times.astype(np.uint32), first)


def with_capacity(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or a copy of length ``2 * size`` if it is shorter than ``size``."""
    if size <= len(array):
        return array
    larger = np.empty(2 * size, array.dtype)
    larger[: len(array)] = array
    return larger


def term_ranges(offsets: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Yield consecutive ranges of terms with about ``most`` postings each, given their offsets."""
    first, terms = 0, len(offsets) - 1
    while first < terms:
        end = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        end = max(end, first + 1)
        yield slice(first, end)
        first = end


class ArrayWriter:
    """Builds an array part by part, in memory or in a file of ``folder``.

    Files are written first and mapped afterwards: the system kills a process that writes to mapped
    memory when the disk is full.
    """

    def __init__(self, name: str, kind: Any, folder: Path | None = None) -> None:
        self._kind = np.dtype(kind)
        self._path = None if folder is None else folder / f"{name}.column"
        self._parts: list[NDArray[Any]] = []
        self._file = None if self._path is None else self._path.open("wb")
        self._size = 0

    def add(self, part: NDArray[Any]) -> None:
        whole = np.ascontiguousarray(part, self._kind)
        self._size += len(whole)
        if self._file is None:
            self._parts.append(whole)
        else:
            self._file.write(whole.data)

    def array(self) -> NDArray[Any]:
        """Return the whole array. No more numbers can be appended."""
        if self._file is None or self._path is None:
            return np.concatenate([np.zeros(0, self._kind), *self._parts])
        self._file.close()
        if not self._size:  # an empty file cannot be mapped
            return np.zeros(0, self._kind)
        return np.memmap(self._path, self._kind, mode="r")


class ColumnWriter:
    """Builds a frequency column in memory, or in files of ``folder``."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name, self._folder = name, folder
        self._at = ArrayWriter(f"{name}.at", np.uint32, folder)
        self._values = ArrayWriter(f"{name}.values", np.uint32, folder)
        self._highest = 0

    def add(self, at: NDArray[np.uint32], values: NDArray[np.uint32]) -> None:
        """Append the frequencies at rising positions."""
        self._at.add(at)
        self._values.add(values)
        self._highest = max(self._highest, int(values.max(initial=0)))

    def arrays(self, postings: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of the column, in whichever form takes fewer bytes."""
        kind = np.min_scalar_type(self._highest)
        at, values = self._at.array(), self._values.array()
        writer = ArrayWriter(self.name, kind, self._folder)
        if len(at) * (4 + kind.itemsize) < postings * kind.itemsize:
            for start in range(0, len(at), _BATCH):
                writer.add(values[start : start + _BATCH])
            return {self.name: writer.array(), f"{self.name}.at": at}
        for start in range(0, postings, _BATCH):
            part = np.zeros(min(_BATCH, postings - start), kind)
            own = slice(*_search(at, np.array((start, start + len(part)))))
            part[at[own] - np.int64(start)] = values[own]
            writer.add(part)
        return {self.name: writer.array()}


class Strings(Sequence[str]):
    """Strings sorted by their UTF-8 bytes. The position of a string is its number."""

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._blob = blob
        self._bytes = blob.data
        # A plain array: reading items of a mapped one takes three times as long.
        self._offsets = np.asarray(offsets)

    @staticmethod
    def arrays(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes and offsets of strings, which must be sorted already."""
        if isinstance(strings, pl.Series):  # without a Python object for each string
            lengths: Any = strings.str.len_bytes().to_numpy()
            starts = range(0, len(strings), _BATCH)
            batches = (strings.slice(start, _BATCH).str.join("") for start in starts)
            blob = b"".join(batch.cast(pl.Binary)[0] for batch in batches)
        else:
            encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
            lengths, blob = [len(data) for data in encoded], b"".join(encoded)
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return np.frombuffer(blob, np.uint8), offsets

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
        for start, end in itertools.pairwise(self._offsets.tolist()):
            yield data[start:end].decode("utf-8", "surrogatepass")

    def series(self) -> pl.Series:
        """Return all strings as a polars column. Fast unless a string contains a line break."""
        lines = np.insert(self._blob, self._offsets[1:-1], ord("\n")).tobytes()
        split = pl.Series([lines.decode("utf-8", "surrogatepass")]).str.split("\n").explode()
        return split if len(split) == len(self) else pl.Series(list(self), dtype=pl.String)

    def find(self, text: str) -> int:
        """Return the number of a string, or -1 if the table does not contain it."""
        wanted = text.encode("utf-8", "surrogatepass")
        place = bisect_left(range(len(self)), wanted, key=self._raw)
        return place if place < len(self) and self._raw(place) == wanted else -1

    def choose_known(self, texts: Iterable[str]) -> list[str]:
        """Return the strings that the table contains."""
        return [text for text in texts if self.find(text) >= 0]

    def find_all(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Return the numbers of strings, without those that the table does not contain."""
        numbers = np.array([self.find(text) for text in texts], np.int64)
        return numbers[numbers >= 0]

    def _raw(self, number: int) -> bytes:
        return bytes(self._bytes[self._offsets[number] : self._offsets[number + 1]])


Job = TypeVar("Job")
Result = TypeVar("Result")


def prefetch(items: Iterable[Result]) -> Iterator[Result]:
    """Yield the items, while a thread computes the next one."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, iterator, None)
            yield item


def in_threads(
    work: Callable[[Job], Result], jobs: Iterable[Job], threads: int
) -> Iterator[Result]:
    """Yield the result of each job in order. At most twice as many jobs as threads wait."""
    if threads == 1:
        yield from map(work, jobs)
        return
    ahead: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for job in jobs:
                ahead.append(pool.submit(work, job))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
