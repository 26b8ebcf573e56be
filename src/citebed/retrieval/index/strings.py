"""A sorted table of strings in two memory-mapped arrays: opened at once, searched by halving."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


class Strings(Sequence[str]):
    """Strings in the order of their UTF-8 bytes; a string's place in it is its number."""

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._blob = blob
        self._bytes = blob.data
        self._offsets = offsets

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
