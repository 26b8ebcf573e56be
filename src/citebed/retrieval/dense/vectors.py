"""The vectors of documents: whole numbers of 8 bits and a scale for each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Embedder, Vectors

_AT_ONCE = 8192
"""Rows that are made float at a time: with their scores they stay in the processor's cache."""


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


class DocumentVectors:
    """The vectors of an index's documents, by number, made by the model of a fingerprint."""

    def __init__(
        self, rows: NDArray[np.int8], scales: NDArray[np.float32], *, fingerprint: str, name: str
    ) -> None:
        self.rows, self.scales = rows, scales
        self.fingerprint, self.name = fingerprint, name

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.rows.shape[1])

    def is_of(self, model: Embedder) -> bool:
        """Whether a model made them."""
        return (self.fingerprint, self.width) == (model.fingerprint, model.width)

    def scores(self, queries: Vectors) -> Vectors:
        """The similarity of every document to every query, exactly: queries × documents."""
        found = np.empty((len(queries), len(self)), np.float32)
        turned = np.ascontiguousarray(queries.T, np.float32)
        for start in range(0, len(self), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            dots = self.rows[part].astype(np.float32) @ turned
            found[:, part] = (dots * self.scales[part, None]).T
        return found

    def of(self, numbers: NDArray[np.int64]) -> Vectors:
        """The vectors of some documents."""
        return self.rows[numbers].astype(np.float32) * self.scales[numbers, None]
