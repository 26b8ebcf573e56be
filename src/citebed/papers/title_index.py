"""Which titles of a collection may stand in a text, found by rare runs of their letters.

Titles and texts are letters and digits only, so that blanks, hyphens and line breaks make no
difference, and a slip costs the few runs that it touches. Every run of seven letters names the
titles that have it; of a text's runs the rarest are looked up, as many as name a
thousand titles.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from citebed.text.titles import gram_hashes, letters_of

SIZE = 7
_BITS = 22
_SHIFT = np.uint64(64 - _BITS)
_ROW = np.uint64(32)
_POSTINGS = 1500
"""So many titles are looked at for one text, of whatever size the collection is."""
_LEAST = 0.4
"""A title that has less than so much of the best one's rank is not likely."""

Rows = npt.NDArray[np.int64]


class TitleIndex:
    """The runs of letters of some titles, given as letters and digits only."""

    def __init__(self, titles: Sequence[str]) -> None:
        buckets, rows = _owned(titles)
        keys = (buckets << _ROW) | rows
        keys.sort()
        self._rows = (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)
        counts = np.bincount((keys >> _ROW).astype(np.int64), minlength=1 << _BITS)
        self._starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self._rarity = np.log((len(titles) + 1) / np.maximum(1, counts)).astype(np.float32)
        weights = np.repeat(self._rarity, counts)
        self._lengths = np.sqrt(np.bincount(self._rows, weights, minlength=len(titles)) + 1.0)

    def likely(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """For each text the rows of the titles that may stand in it, the likeliest first."""
        buckets, owners = _owned(texts)
        bounds = np.searchsorted(owners, np.arange(len(texts) + 1, dtype=np.uint64))
        return [self._likely(buckets[start:end], most) for start, end in pairwise(bounds.tolist())]

    def _likely(self, buckets: npt.NDArray[np.uint64], most: int) -> list[int]:
        grams = buckets.astype(np.int64)
        counts = self._starts[grams + 1] - self._starts[grams]
        rarest = np.argsort(counts)
        within = np.cumsum(counts[rarest]) <= _POSTINGS
        rarest = rarest[within & (counts[rarest] > 0)]
        if not len(rarest):
            return []
        rows, weights = self._gathered(grams[rarest], counts[rarest])
        order = np.argsort(rows)
        rows = rows[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        found = rows[starts]
        ranks = np.add.reduceat(weights[order], starts) / self._lengths[found]
        best = np.argsort(-ranks)[:most]
        return [int(row) for row in found[best[ranks[best] >= _LEAST * ranks[best[0]]]]]

    def _gathered(self, grams: Rows, counts: Rows) -> tuple[Rows, npt.NDArray[np.float32]]:
        """The rows that some runs name, and how rare the run is that names each."""
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) + np.repeat(self._starts[grams] - (ends - counts), counts)
        return self._rows[places].astype(np.int64), np.repeat(self._rarity[grams], counts)


def _owned(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The bucket of every run of letters, and the row of the text that it is in."""
    hashes = gram_hashes(letters_of(texts), SIZE)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), sizes)
    inside = owners[: len(hashes)] == owners[SIZE - 1 : SIZE - 1 + len(hashes)]
    return hashes[inside] >> _SHIFT, owners[: len(hashes)][inside]
