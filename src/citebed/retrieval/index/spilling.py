"""Postings that are more than memory should hold: put on disk, and sorted there by ranges of terms.

Up to some number they stay in memory, and no file is written. More are written as they come; once
the order of terms is known, they are dealt out into files, each of some terms that follow each
other, of which one at a time is read and sorted. So memory does not grow with the collection, and
every posting is written twice and read twice, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index import counting
from citebed.retrieval.index.counting import Keys

ROOM = 1 << 26
"""So many postings, of 8 bytes, are in memory at a time; to sort them takes no more."""
AT_ONCE = 1 << 23
CACHED = 1 << 15
"""Postings that are processed at a time, so that temporary arrays stay in the cache."""


class Pile:
    """Postings as they come in, with the terms' numbers as they were met."""

    def __init__(self, folder: Path | None = None, room: int | None = None) -> None:
        self.folder = folder
        self._room = ROOM if room is None else room
        self._parts: list[Keys] = []
        self._held = 0
        self._files: list[Path] = []
        self._often = np.zeros(0, np.int64)

    @property
    def is_large(self) -> bool:
        """Whether some of it is on disk."""
        return bool(self._files)

    def add(self, keys: Keys) -> None:
        """Put postings on it."""
        self._parts.append(keys)
        self._held += len(keys)
        if self.folder is not None and self._held > self._room:
            self._spill(self.folder)

    def _spill(self, folder: Path) -> None:
        path = folder / f"postings-{len(self._files)}"
        with path.open("wb") as file:
            for part in self._parts:
                self._count(part)
                file.write(part.data)
        self._files.append(path)
        self._parts, self._held = [], 0

    def _count(self, keys: Keys) -> None:
        often = np.bincount(counting.terms_of(keys), minlength=len(self._often))
        often[: len(self._often)] += self._often
        self._often = often

    def often(self, terms: int) -> NDArray[np.int64]:
        """How many postings each term has that was met; terms are numbered below ``terms``."""
        for keys in self._in_memory():
            self._count(keys)
        return np.pad(self._often, (0, terms - len(self._often)))

    def _in_memory(self) -> Iterator[Keys]:
        """What is yet in memory: all of it goes to disk where some is there already."""
        if self.folder is not None and self._files:
            self._spill(self.folder)
        yield from self._parts

    def in_order(self, final: NDArray[np.int64], often: NDArray[np.int64]) -> Iterator[Keys]:
        """The postings sorted, under the ``final`` numbers of their terms, in parts of whole terms;
        ``often`` is as `often` gives it. The pile is used up."""
        if not self._files:
            keys = self._joined()
            for start in range(0, len(keys), CACHED):
                part = keys[start : start + CACHED]
                part[:] = counting.with_terms(part, final)
            keys.sort()
            yield keys
            return
        for path in self._dealt(final, _cuts(final, often, self._room)):
            keys = np.fromfile(path, np.uint64)
            path.unlink()
            keys.sort()
            yield keys

    def _joined(self) -> Keys:
        """All parts as one array; each part is given up as soon as it is copied."""
        keys = np.empty(sum(map(len, self._parts)), np.uint64)
        end = len(keys)
        while self._parts:
            part = self._parts.pop()
            keys[end - len(part) : end] = part
            end -= len(part)
        return keys

    def _dealt(self, final: NDArray[np.int64], cuts: NDArray[np.int64]) -> list[Path]:
        """Files of postings under their final numbers, each up to the next of the ``cuts``."""
        assert self.folder is not None
        paths = [self.folder / f"terms-{number}" for number in range(len(cuts) + 1)]
        files = [path.open("wb") for path in paths]
        try:
            for read in self._read():
                keys = counting.with_terms(read, final)
                owner = np.searchsorted(cuts, counting.terms_of(keys), side="right")
                order = np.argsort(owner.astype(np.uint16), kind="stable")  # linear in 16 bits
                ends = np.cumsum(np.bincount(owner, minlength=len(files)))
                for file, part in zip(files, np.split(keys[order], ends[:-1]), strict=True):
                    file.write(part.data)
        finally:
            for file in files:
                file.close()
        return paths

    def _read(self) -> Iterator[Keys]:
        for path in self._files:
            with path.open("rb") as file:
                while len(keys := np.fromfile(file, np.uint64, AT_ONCE)):
                    yield keys
            path.unlink()


def _cuts(final: NDArray[np.int64], often: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """The terms before which a new range begins, so that each has about as many postings as there
    is room for, or one term."""
    used = final >= 0
    by_term = np.zeros(int(used.sum()), np.int64)
    by_term[final[used]] = often[used]
    of_range = (np.cumsum(by_term) - by_term) // room
    return np.flatnonzero(np.diff(of_range)) + 1
