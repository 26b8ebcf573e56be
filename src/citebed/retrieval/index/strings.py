"""A sorted table of strings in two memory-mapped arrays: opened at once, searched by halving."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
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

    def find(self, text: str) -> int:
        """The string's number, or -1 if it is not there."""
        wanted = text.encode("utf-8", "surrogatepass")
        place = bisect_left(range(len(self)), wanted, key=self._raw)
        return place if place < len(self) and self._raw(place) == wanted else -1

    def _raw(self, number: int) -> bytes:
        return bytes(self._bytes[self._offsets[number] : self._offsets[number + 1]])
