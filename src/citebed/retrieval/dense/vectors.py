"""The vectors of documents: whole numbers of 8 bits and a scale for each row."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Embedder, Vectors

_FEW, _SOME = 8, 32
"""Up to ``_FEW`` queries, compiled code is quicker than numpy. Up to ``_SOME``, numpy is given so
few rows at a time that it starts no threads, which would cost more than they gain."""
_MANY, _MOST_THREADS = 20_000, 4
"""From so many rows on, they are given to so many threads, at most, where there are cores."""


class Quantised(NamedTuple):
    """Rows of 8-bit numbers, each to be multiplied by its scale."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]


def quantised(vectors: Vectors) -> Quantised:
    """Vectors in 8 bits a number: the largest of a row becomes 127."""
    scales = np.abs(vectors).max(axis=1, initial=0).astype(np.float32) / np.float32(127)
    whole = np.rint(vectors / np.where(scales == 0, 1, scales)[:, None])
    return Quantised(whole.astype(np.int8), scales)


def unit_rows(vectors: Vectors) -> Vectors:
    """Every row scaled to length 1; a row of zeros stays."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), np.float32)


def plain_scores(rows: NDArray[np.int8], scales: NDArray[np.float32], queries: Vectors) -> Vectors:
    """The similarity of every row to every query (queries × rows), without a compiler."""
    found = np.empty((len(queries), len(rows)), np.float32)
    turned = np.ascontiguousarray(queries.T)
    step = _rows_at_once(len(queries))
    space = np.empty((step, rows.shape[1]), np.float32)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        np.copyto(space[: len(part)], part)
        found[:, start : start + len(part)] = (space[: len(part)] @ turned).T
    found *= scales
    return found


def _rows_at_once(queries: int) -> int:
    return 8192 if queries > _SOME else 3072 // max(6, queries)


class DocumentVectors:
    """The vectors of an index's documents, by number, and the model that made them.

    Of ``missing`` documents there is none yet: their rows are zeros.
    """

    def __init__(
        self,
        rows: NDArray[np.int8],
        scales: NDArray[np.float32],
        *,
        fingerprint: str,
        name: str,
        missing: int = 0,
    ) -> None:
        self.rows, self.scales = np.asarray(rows), np.asarray(scales)
        self.fingerprint, self.name, self.missing = fingerprint, name, missing
        self._few: Callable[..., Vectors] = plain_scores
        self._threads: ThreadPoolExecutor | None = None
        self._cores = min(os.cpu_count() or 1, _MOST_THREADS)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.rows.shape[1])

    def is_of(self, model: Embedder) -> bool:
        """Whether a model made them."""
        return (self.fingerprint, self.width) == (model.fingerprint, model.width)

    def prepare(self) -> None:
        """Make ready for many questions: compiled code is loaded, which takes a second, once."""
        from citebed.retrieval.dense import compiled

        compiled.compile_scores()
        self._few = compiled.scores
        if self._threads is None and self._cores > 1 and len(self.rows) >= _MANY:
            self._threads = ThreadPoolExecutor(self._cores)

    def scores(self, queries: Vectors) -> Vectors:
        """The similarity of every document to every query, exactly: queries × documents."""
        given = np.ascontiguousarray(queries, np.float32)
        if given.ndim != 2 or given.shape[1] != self.width:
            raise ValueError(f"queries of {given.shape}; expected rows of {self.width} numbers")
        score = self._few if len(given) <= _FEW else plain_scores
        if self._threads is None:
            return score(*_unchangeable(self.rows, self.scales, given))
        step = _rows_at_once(len(given))  # whole ones: what numpy adds up depends on how many
        size = -(-len(self.rows) // (self._cores * step)) * step
        parts = [slice(at, at + size) for at in range(0, len(self.rows), size)]
        found = self._threads.map(
            lambda part: score(*_unchangeable(self.rows[part], self.scales[part], given)), parts
        )
        return np.concatenate(list(found), axis=1)

    def of(self, numbers: NDArray[np.int64]) -> Vectors:
        """The vectors of some documents."""
        return self.rows[numbers].astype(np.float32) * self.scales[numbers, None]


def _unchangeable(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """The arrays, read-only: numba compiles for those and for others apart."""
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views
