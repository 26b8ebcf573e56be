"""What makes vectors of texts, and documents' vectors: 8-bit numbers and a scale for each row."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.cache import Few

Vectors = NDArray[np.float32]
OnProgress = Callable[[int, int], None]
"""Hears of texts done, and texts in all."""


class Embedder(Protocol):
    """A model that makes a vector of length 1 of each text; of one that says nothing, zeros."""

    @property
    def name(self) -> str:
        """What people call the model."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides its vectors, in hexadecimal."""

    @property
    def width(self) -> int:
        """Numbers of a vector."""

    def documents(self, texts: Sequence[str], progress: OnProgress | None = None) -> Vectors:
        """A vector for each text of a document."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text that looks for documents."""


_SOME = 32
"""Up to so many queries, numpy is given so few rows at a time that it starts no threads, which
would cost more than they gain."""
_MANY, _MOST_THREADS = 20_000, 4
"""From so many rows on, they are given to so many threads, at most, where there are cores."""
_A_FEW = 64
_ROUNDED = 1e-5
"""More than rounding can change a similarity, in whatever order products are added."""
_KEPT = 24 << 20
"""Bytes of rough similarities that are kept: who types a text asks again with most of its
sentences."""

Docs = NDArray[np.int64]
Ends = Sequence[tuple[float, float]]
"""The least and the greatest similarity of all documents to a text, and to its best sentence."""
_NONE: Docs = np.zeros(0, np.int64)


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


def _row_by_row(rows: NDArray[np.int8], scales: NDArray[np.float32], queries: Vectors) -> Vectors:
    """The same, each row by itself: whatever stands beside it, it gets the same to the last bit,
    which a product of matrices does not promise."""
    return np.asarray(np.einsum("rw,qw->qr", rows.astype(np.float32), queries) * scales)


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
        self._longest: float | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._cores = min(os.cpu_count() or 1, _MOST_THREADS)
        self._ends: Mapping[bytes, Ends] = {}
        self._ahead: Mapping[bytes, Vectors] = {}
        self._lately: Few[tuple[bytes, float], Vectors] = Few(_KEPT // (4 * max(len(rows), 1)))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.rows.shape[1])

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """Which documents have one; ``None`` where all do."""
        return self.scales > 0 if self.missing else None

    def is_of(self, model: Embedder) -> bool:
        """Whether a model made them."""
        return (self.fingerprint, self.width) == (model.fingerprint, model.width)

    def prepare(self) -> None:
        """Make ready for many questions: compiled code is loaded, which takes a second, once."""
        from citebed.retrieval.vectors import compiled

        if self._longest is None:
            self._longest = float(compiled.longest(*_unchangeable(self.rows, self.scales)))
        if self._threads is None and self._cores > 1 and len(self.rows) >= _MANY:
            self._threads = ThreadPoolExecutor(self._cores)

    def know_ends(self, ends: Mapping[bytes, Ends]) -> None:
        """Take the bounds of texts, by their vectors, from someone who knows all documents, of
        which these are some."""
        self._ends = ends

    def scores(self, queries: Vectors, numbers: Docs | slice = slice(None)) -> Vectors:
        """The similarity of documents, by default all, to every query: queries × documents."""
        queries = self._checked(queries)
        score = _row_by_row if isinstance(numbers, np.ndarray) else plain_scores
        if self._longest is not None:
            from citebed.retrieval.vectors import compiled

            score = compiled.scores
        return score(*_unchangeable(self.rows[numbers], self.scales[numbers], queries))

    def score_ahead(self, texts: Sequence[Vectors]) -> None:
        """Compute what `similar` will be asked of some texts: together they take a fraction of the
        time, for numbers of 8 bits are unpacked once."""
        if self._longest is None and texts:
            scores = plain_scores(self.rows, self.scales, np.concatenate(texts))
            parts = np.split(scores, np.cumsum([len(rows) for rows in texts])[:-1])
            keys = [self._checked(rows).tobytes() for rows in texts]
            self._ahead = dict(zip(keys, map(_text_and_best, parts), strict=True))

    def similar(self, queries: Vectors) -> Similarities:
        """How like all documents are to a text, the first of the queries, and to its sentences."""
        queries = self._checked(queries)
        ends = self._ends.get(queries.tobytes()) if self._ends else None
        if self._longest is None or not queries.any():
            found = self._ahead.get(queries.tobytes())
            if found is None:
                found = _text_and_best(plain_scores(self.rows, self.scales, queries))
            margins = np.full(len(found), _ROUNDED)
            return Similarities(found, margins, lambda few: self.likeness(queries, few), ends)
        whole, units = quantised(queries)
        lost = np.linalg.norm(queries - whole * units[:, None], axis=1) * self._longest + 1e-5
        margins = lost if len(lost) == 1 else np.array([lost[0], lost[1:].max()])
        return Similarities(
            self._rough(whole, units),
            margins,
            lambda numbers: _text_and_best(self.scores(queries, numbers)),
            ends,
        )

    def likeness(self, queries: Vectors, numbers: Docs) -> Vectors:
        """How like some documents are to a text, the first of the queries, and to the one of its
        sentences that each is most like (in a second row, where there are sentences)."""
        return _text_and_best(self.scores(queries, numbers))

    def of(self, numbers: Docs) -> Vectors:
        """The vectors of some documents."""
        return self.rows[numbers].astype(np.float32) * self.scales[numbers, None]

    def _checked(self, queries: Vectors) -> Vectors:
        rows = np.ascontiguousarray(queries, np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise ValueError(f"queries of {rows.shape}; expected rows of {self.width} numbers")
        return rows

    def _rough(self, queries: NDArray[np.int8], units: NDArray[np.float32]) -> Vectors:
        """Similarities of all documents to a text and the best of its sentences, given in 8 bits a
        number."""
        keys = [(each.tobytes(), float(unit)) for each, unit in zip(queries, units, strict=True)]
        at = {key: place for place, key in enumerate(keys)}

        def score(missing: list[tuple[bytes, float]]) -> list[Vectors]:
            places = [at[key] for key in missing]
            return [row.copy() for row in self._rough_rows(queries[places], units[places])]

        first, *others = self._lately.get_all(keys, score)
        return first[None] if not others else np.stack([first, np.maximum.reduce(others)])

    def _rough_rows(self, queries: NDArray[np.int8], units: NDArray[np.float32]) -> Vectors:
        """Similarities of all documents to queries of 8 bits a number, over threads."""
        from citebed.retrieval.vectors.compiled import rough_scores

        def score(part: slice) -> Vectors:
            arrays = _unchangeable(self.rows[part], self.scales[part], queries, units)
            return np.asarray(rough_scores(*arrays), np.float32)

        if self._threads is None:
            return score(slice(None))
        size = -(-len(self.rows) // self._cores)
        parts = [slice(at, at + size) for at in range(0, len(self.rows), size)]
        return np.concatenate(list(self._threads.map(score, parts)), axis=1)


@dataclass(frozen=True, eq=False)
class Similarities:
    """How like documents are to a text, and to the one of its sentences that each is most like (in
    a second row, where there are sentences).

    All are known roughly, up to a ``margin`` for each row: it takes a fraction of the time, and
    tells which few are to be computed as they are. What is told is never rough.
    """

    rough: Vectors
    margin: NDArray[np.float64]
    of: Callable[[Docs], Vectors]
    """The similarities of some documents, by number."""
    ends: Ends | None = None
    """The bounds, where these are some documents of many."""

    def bounds(self, row: int, without: Docs = _NONE) -> tuple[float, float]:
        """The least and the greatest similarity of all documents but some; 0 lies between them."""
        if self.ends is not None:
            return self.ends[row]
        rough, margin = self.rough[row], 2 * self.margin[row]
        if not len(rough):
            return 0.0, 0.0
        if len(without):
            rough = np.delete(rough, without)
        ends = (self.rough[row] <= rough.min(initial=0) + margin) | (
            self.rough[row] >= rough.max(initial=0) - margin
        )
        ends[without] = False
        exact = self.of(np.flatnonzero(ends))[row]
        return float(exact.min(initial=0.0)), float(exact.max(initial=0.0))

    def best(self, row: int, count: int, allowed: NDArray[np.bool_] | None = None) -> Docs:
        """The most similar documents of those that are allowed, rising; of equal ones the later,
        as everywhere: a text of which no word is known is as similar to all."""
        rough = self.rough[row] if allowed is None else np.where(allowed, self.rough[row], -np.inf)
        least = _greatest(rough, count) - 2 * self.margin[row]
        near = np.flatnonzero((rough >= least) & (rough > -np.inf))
        exact = self.of(near)[row]
        return np.sort(near[np.lexsort((-near, -exact))[:count]])

    def above(self, row: int, least: float) -> tuple[Docs, Vectors]:
        """Those that are more similar than that, and how similar they are."""
        near = np.flatnonzero(self.rough[row] > least - self.margin[row])
        exact = self.of(near)[row]
        return near[exact > least], exact[exact > least]


def _text_and_best(scores: Vectors) -> Vectors:
    """The similarities to a text, the first row, and the greatest to one of its sentences."""
    return scores if len(scores) == 1 else np.stack([scores[0], scores[1:].max(axis=0)])


def _greatest(values: Vectors, count: int) -> float:
    """The ``count``-th greatest of values, or the least where there are fewer."""
    if len(values) <= count:
        return float(values.min(initial=np.inf))
    # At least as great is the one among the greatest of each few: little is left to be parted.
    few = len(values) // _A_FEW
    if few > count:
        tops = values[: few * _A_FEW].reshape(few, _A_FEW).max(axis=1)
        values = values[values >= np.partition(tops, few - count)[few - count]]
    return float(np.partition(values, len(values) - count)[len(values) - count])


def _unchangeable(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """The arrays, read-only: numba compiles for those and for others apart."""
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views
