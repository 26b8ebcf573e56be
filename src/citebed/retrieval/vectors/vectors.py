"""Vectors: the protocol of models that make them, and the documents' vectors in 8 bits a number."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.memory import LruCache

Vectors = NDArray[np.float32]
Docs = NDArray[np.int64]
OnProgress = Callable[[int, int], None]
"""A callback: the number of texts done, and of all texts."""
Bounds = Sequence[tuple[float, float]]
"""The lowest and highest similarity of all documents to a text, and to its best sentence."""

_FEW_QUERIES = 32
"""Up to this many queries, numpy gets few rows at a time: its threads would cost more than help."""
_THREADED_ROWS, _MAX_THREADS = 20_000, 4
_GROUP = 64
_ROUNDING = 1e-5
"""More than rounding can change a similarity, in any order of additions."""
_CACHE_BYTES = 24 << 20
"""Rough similarities to keep: while a user types, most sentences stay the same."""


class Embedder(Protocol):
    """A model that returns a unit vector for each text, or zeros for a text without known words."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """Return a hash of everything that determines the vectors, in hexadecimal."""

    @property
    def width(self) -> int:
        """Return the length of a vector."""

    def documents(self, texts: Sequence[str], progress: OnProgress | None = None) -> Vectors:
        """Return a vector for each text of a document."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text to search with."""


class Quantised(NamedTuple):
    """Rows of 8-bit numbers, each to be multiplied by its scale."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]


def quantise(vectors: Vectors) -> Quantised:
    """Return vectors in 8 bits a number; the largest number of each row becomes 127."""
    scales = np.abs(vectors).max(axis=1, initial=0).astype(np.float32) / np.float32(127)
    whole = np.rint(vectors / np.where(scales == 0, 1, scales)[:, None])
    return Quantised(whole.astype(np.int8), scales)


def unit_rows(vectors: Vectors) -> Vectors:
    """Return every row scaled to length 1; a row of zeros stays."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), np.float32)


class DocumentVectors:
    """The vectors of an index's documents, by number, and the model that made them.

    ``missing`` documents have no vector yet: their rows are zeros.
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
        self._cores = min(os.cpu_count() or 1, _MAX_THREADS)
        self.known_bounds: Mapping[bytes, Bounds] = {}
        """Bounds of texts (by their vectors) over the collection that these documents belong to."""
        self._precomputed: Mapping[bytes, Vectors] = {}
        size = _CACHE_BYTES // (4 * max(len(rows), 1))
        self._recent: LruCache[tuple[bytes, float], Vectors] = LruCache(size)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """The number of dimensions; read when needed, since a damaged index may have none."""
        return int(self.rows.shape[1])

    @property
    def present(self) -> NDArray[np.bool_] | None:
        """Which documents have a vector; ``None`` if all have one."""
        return self.scales > 0 if self.missing else None

    def is_of(self, model: Embedder) -> bool:
        """Return True if this model made the vectors."""
        return (self.fingerprint, self.width) == (model.fingerprint, model.width)

    def prepare(self) -> None:
        """Load compiled code, which takes a second and makes each later query faster."""
        from citebed.retrieval.vectors import kernels

        if self._longest is None:
            self._longest = float(kernels.longest(*_read_only(self.rows, self.scales)))
        if self._threads is None and self._cores > 1 and len(self.rows) >= _THREADED_ROWS:
            self._threads = ThreadPoolExecutor(self._cores)

    def decode(self, numbers: Docs) -> Vectors:
        """Return the vectors of some documents."""
        return self.rows[numbers].astype(np.float32) * self.scales[numbers, None]

    def score(self, queries: Vectors, numbers: Docs | slice = slice(None)) -> Vectors:
        """Return the similarity of documents (default: all) to every query: queries × documents."""
        queries = self._checked(queries)
        rows, scales = self.rows[numbers], self.scales[numbers]
        if self._longest is not None:
            from citebed.retrieval.vectors import kernels

            return np.asarray(kernels.scores(*_read_only(rows, scales, queries)))
        if isinstance(numbers, slice):
            return _plain_scores(rows, scales, queries)
        # Row by row: a product of matrices can round a row differently if it has other rows.
        return np.asarray(np.einsum("rw,qw->qr", rows.astype(np.float32), queries) * scales)

    def score_text(self, queries: Vectors, numbers: Docs) -> Vectors:
        """Return the similarity of documents to a text (the first query), and in a second row, if
        there are more queries, to the text's sentence that each document is most similar to."""
        return _text_and_best(self.score(queries, numbers))

    def precompute(self, texts: Sequence[Vectors]) -> None:
        """Compute what ``compare`` needs for some texts together, which is several times faster."""
        if self._longest is None and texts:
            scores = _plain_scores(self.rows, self.scales, np.concatenate(texts))
            parts = np.split(scores, np.cumsum([len(rows) for rows in texts])[:-1])
            keys = [self._checked(rows).tobytes() for rows in texts]
            self._precomputed = dict(zip(keys, map(_text_and_best, parts), strict=True))

    def compare(self, queries: Vectors) -> Similarities:
        """Compare all documents with a text (the first query) and its sentences (the others)."""
        queries = self._checked(queries)
        bounds = self.known_bounds.get(queries.tobytes()) if self.known_bounds else None
        if self._longest is None or not queries.any():
            scores = self._precomputed.get(queries.tobytes())
            if scores is None:
                scores = _text_and_best(_plain_scores(self.rows, self.scales, queries))
            margins = np.full(len(scores), _ROUNDING)
        else:
            whole, units = quantise(queries)
            lost = np.linalg.norm(queries - whole * units[:, None], axis=1) * self._longest + 1e-5
            margins = lost if len(lost) == 1 else np.array([lost[0], lost[1:].max()])
            scores = self._rough_scores(whole, units)
        return Similarities(scores, margins, lambda few: self.score_text(queries, few), bounds)

    def _rough_scores(self, queries: NDArray[np.int8], units: NDArray[np.float32]) -> Vectors:
        """Compare all documents with queries in 8 bits a number: the text, the best sentence."""
        from citebed.retrieval.vectors import kernels

        keys = [(each.tobytes(), float(unit)) for each, unit in zip(queries, units, strict=True)]
        places = {key: place for place, key in enumerate(keys)}
        size = -(-len(self.rows) // (self._cores if self._threads else 1))
        parts = [slice(at, at + size) for at in range(0, len(self.rows), size or 1)] or [slice(0)]

        def compute(missing: list[tuple[bytes, float]]) -> list[Vectors]:
            chosen = [places[key] for key in missing]
            own, scales = queries[chosen], units[chosen]

            def score(part: slice) -> Vectors:
                arrays = _read_only(self.rows[part], self.scales[part], own, scales)
                return np.asarray(kernels.rough_scores(*arrays), np.float32)

            found = list((self._threads.map if self._threads else map)(score, parts))
            return [row.copy() for row in np.concatenate(found, axis=1)]

        text, *sentences = self._recent.get_many(keys, compute)
        return text[None] if not sentences else np.stack([text, np.maximum.reduce(sentences)])

    def _checked(self, queries: Vectors) -> Vectors:
        rows = np.ascontiguousarray(queries, np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise ValueError(f"queries of {rows.shape}; expected rows of {self.width} numbers")
        return rows


@dataclass(frozen=True, eq=False)
class Similarities:
    """The similarity of all documents to a text, and in a second row to its best sentence, if any.

    ``rough`` values differ from the exact ones by up to the ``margin`` of their row. They take a
    fraction of the time, and show which few values must be computed exactly. All methods return
    exact values; ``exact`` returns them for some documents. ``known_bounds`` are the bounds if
    these documents are a part of a collection.
    """

    rough: Vectors
    margin: NDArray[np.float64]
    exact: Callable[[Docs], Vectors]
    known_bounds: Bounds | None = None

    def bounds(self, row: int, without: Docs | Sequence[int] = ()) -> tuple[float, float]:
        """Return the lowest and highest similarity of all documents except some; at most and at
        least 0."""
        if self.known_bounds is not None:
            return self.known_bounds[row]
        rough, margin = self.rough[row], 2 * self.margin[row]
        if not len(rough):
            return 0.0, 0.0
        others = np.delete(rough, without) if len(without) else rough
        near = rough <= others.min(initial=0) + margin
        near |= rough >= others.max(initial=0) - margin
        near[np.asarray(without, np.int64)] = False
        exact = self.exact(np.flatnonzero(near))[row]
        return float(exact.min(initial=0.0)), float(exact.max(initial=0.0))

    def top(self, row: int, count: int, allowed: NDArray[np.bool_] | None = None) -> Docs:
        """Return the most similar allowed documents in ascending order; of equal ones the later."""
        rough = self.rough[row] if allowed is None else np.where(allowed, self.rough[row], -np.inf)
        lowest = _nth_greatest(rough, count) - 2 * self.margin[row]
        near = np.flatnonzero((rough >= lowest) & (rough > -np.inf))
        exact = self.exact(near)[row]
        return np.sort(near[np.lexsort((-near, -exact))[:count]])

    def above(self, row: int, threshold: float) -> tuple[Docs, Vectors]:
        """Return the documents above a similarity, and their similarities."""
        near = np.flatnonzero(self.rough[row] > threshold - self.margin[row])
        exact = self.exact(near)[row]
        return near[exact > threshold], exact[exact > threshold]


def _plain_scores(rows: NDArray[np.int8], scales: NDArray[np.float32], queries: Vectors) -> Vectors:
    """Return the similarity of every row to every query (queries × rows) without compiled code."""
    scores = np.empty((len(queries), len(rows)), np.float32)
    turned = np.ascontiguousarray(queries.T)
    step = 8192 if len(queries) > _FEW_QUERIES else 3072 // max(6, len(queries))
    space = np.empty((step, rows.shape[1]), np.float32)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        np.copyto(space[: len(part)], part)
        scores[:, start : start + len(part)] = (space[: len(part)] @ turned).T
    scores *= scales
    return scores


def _text_and_best(scores: Vectors) -> Vectors:
    """Return the row of the text, and the maximum of the other rows."""
    return scores if len(scores) == 1 else np.stack([scores[0], scores[1:].max(axis=0)])


def _nth_greatest(values: Vectors, n: int) -> float:
    """Return the ``n``-th greatest value, or the lowest if there are fewer."""
    if len(values) <= n:
        return float(values.min(initial=np.inf))
    # The n-th greatest maximum of small groups is a lower bound: few values are left to partition.
    groups = len(values) // _GROUP
    if groups > n:
        maxima = values[: groups * _GROUP].reshape(groups, _GROUP).max(axis=1)
        values = values[values >= np.partition(maxima, groups - n)[groups - n]]
    return float(np.partition(values, len(values) - n)[len(values) - n])


def _read_only(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return read-only views: numba compiles separately for those and for writable arrays."""
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views
