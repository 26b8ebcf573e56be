"""Impacts of all postings with upper bounds, by term and by document, for many searches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval import kernels
from citebed.retrieval.index.arrays import term_ranges
from citebed.retrieval.index.index import Index
from citebed.retrieval.search.searcher import FREQUENT
from citebed.retrieval.search.view import View

ByDocument = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Prepared:
    """The postings by term (``offsets``, ``docs``, ``impacts``), and by document.

    ``levels`` are the impacts in 255ths of the term's maximum, rounded up. ``row_of_term`` numbers
    frequent terms; others have -1. ``by_frequent`` and ``by_rare`` have the postings of either kind
    by document: starts of documents, row or term numbers, impacts. ``g`` has the documents' own
    scores.
    """

    offsets: NDArray[np.int64]
    docs: NDArray[np.uint32]
    impacts: NDArray[np.float32]
    maxima: NDArray[np.float64]
    levels: NDArray[np.uint8]
    row_of_term: NDArray[np.int32]
    by_frequent: ByDocument
    by_rare: ByDocument
    g: NDArray[np.float64]

    @property
    def documents(self) -> int:
        return len(self.by_rare[0]) - 1

    def terms_of(self, document: int) -> NDArray[np.int64]:
        """Return the terms of a document in ascending order."""
        own = []
        for starts, numbers, _ in (self.by_frequent, self.by_rare):
            span = slice(int(starts[document]), int(starts[document + 1]))
            own.append(numbers[span].astype(np.int64))
        return np.sort(np.concatenate([self._frequent[own[0]], own[1]]))

    @cached_property
    def _frequent(self) -> NDArray[np.int64]:
        """The numbers of the frequent terms, by row."""
        return np.flatnonzero(self.row_of_term >= 0)

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """Everything that a search reads."""
        frequent = self._frequent
        unit = float(self.maxima[frequent].max(initial=0.0)) / 255 or 1.0
        rows = np.zeros((len(frequent), self.documents), np.uint8)
        for row, term in zip(rows, frequent, strict=True):
            span = slice(self.offsets[term], self.offsets[term + 1])
            row[self.docs[span]] = _quantise(self.impacts[span], unit)
        row_maxima = rows.max(axis=1) if rows.size else np.zeros(len(rows), np.uint8)
        low, high = (float(self.g.min()), float(self.g.max())) if len(self.g) else (0.0, 0.0)
        g_unit = (high - low) / 255 or 1.0
        return (
            (self.offsets, self.docs, self.levels, self.maxima, self.impacts),
            (self.row_of_term, rows, unit, row_maxima),
            (self.by_frequent, self.by_rare),
            (self.g, _quantise(self.g - low, g_unit), low, g_unit),
        )

    def workspace(self) -> tuple[Any, ...]:
        """Return the arrays that one thread writes to while it searches."""
        return (
            np.zeros(kernels.RANGE, np.uint16),
            np.zeros(kernels.RANGE // 16 + 512, np.uint16),
            np.zeros((len(self.offsets) - 1) // 32 + 1, np.uint32),
            np.zeros(len(self.offsets) - 1, np.int32),
            np.zeros(self.documents, np.int32),
            np.full(int(self.row_of_term.max(initial=-1)) + 1, -0.0),
            np.zeros(self.documents, np.uint8),
            np.zeros(self.documents, np.int64),
            np.zeros(self.documents, np.float64),
            np.zeros(kernels.SUMS, np.float64),
        )


def _quantise(impacts: NDArray[Any], unit: float) -> NDArray[np.uint8]:
    bounds = np.empty(len(impacts), np.uint8)
    kernels.quantise(impacts, unit, bounds)
    return bounds


_AT_ONCE = 1 << 21
_OF_POSTING = 28
"""Bytes per posting while a view is prepared: document, impact and level, the same by document, and
temporary copies."""


def bytes_of(index: Index) -> int:
    """Estimate the memory for preparing an index for many searches."""
    documents = len(index.ids)
    frequent = np.count_nonzero(np.diff(index.offsets) * FREQUENT > documents)
    return _OF_POSTING * len(index.docs) + int(frequent) * documents


def prepare(view: View) -> Prepared | None:
    """Prepare a view; return ``None`` unless all its impacts are finite and at least 0."""
    none: tuple[NDArray[Any], ...] = (
        np.zeros(0, np.float32), np.zeros(0, np.uint32), *(np.zeros(0, np.int64),) * 2, np.zeros(0),
    )  # fmt: skip
    found = []
    for part in view.parts():
        each = view.model.impacts(part.occurrences(view.per_document), view.stats)
        found.append((each.astype(np.float32), part.docs, part.postings, part.df, part.cf))
    impacts, docs, sizes, df, cf = map(np.concatenate, zip(none, *found, strict=True))
    del found
    view.all_frequencies = df, cf
    if len(impacts) and not (np.isfinite(impacts).all() and impacts.min() >= 0):
        return None
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    maxima = np.zeros(len(sizes), np.float64)
    filled = np.flatnonzero(sizes)
    maxima[filled] = np.maximum.reduceat(impacts, offsets[filled]) if len(filled) else 0.0
    levels = np.empty(len(impacts), np.uint8)
    scale = np.where(maxima > 0, maxima, 1.0) / 255
    for terms in term_ranges(offsets, _AT_ONCE):
        span = slice(offsets[terms.start], offsets[terms.stop])
        unit = np.repeat(scale[terms], sizes[terms])
        levels[span] = np.clip(np.ceil(impacts[span] / unit * (1 + 1e-12)), 1, 255)
    documents = len(view.index.ids)
    is_frequent = df * FREQUENT > view.stats.documents
    row_of_term = np.where(is_frequent, np.cumsum(is_frequent) - 1, -1).astype(np.int32)
    rare = np.where(is_frequent, -1, np.arange(len(df))).astype(np.int32)
    postings = (offsets, docs, impacts)
    narrow = np.uint16 if row_of_term.max(initial=-1) < 1 << 16 else np.uint32
    by_frequent = _by_document(row_of_term, postings, documents, narrow)
    by_rare = _by_document(rare, postings, documents, np.uint32)
    g = np.zeros(0) if view.document_scores is None else view.document_scores
    return Prepared(offsets, docs, impacts, maxima, levels, row_of_term, by_frequent, by_rare, g)


def _by_document(
    chosen: NDArray[np.int32],
    postings: tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]],
    documents: int,
    kind: type[np.uint16 | np.uint32],
) -> ByDocument:
    """Return the postings of some terms by document: starts of documents, terms, impacts.

    ``chosen`` has the new number of each term, or -1 to leave it out.
    """
    offsets, docs, impacts = postings
    wanted = np.repeat(chosen >= 0, np.diff(offsets))
    starts = np.zeros(documents + 1, np.int64)
    np.cumsum(np.bincount(docs[wanted], minlength=documents), out=starts[1:])
    terms = np.empty(int(starts[-1]), kind)
    by_doc = np.empty(len(terms), np.float32)
    kernels.turn_round(offsets, docs, impacts, chosen, starts[:-1].copy(), terms, by_doc)
    return starts, terms, by_doc
