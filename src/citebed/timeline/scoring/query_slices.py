"""Cells: a query within a slice. Measures see each cell as a query of its own.

A document has one time, so it is in one slice, and so is its judgement: run and judgements are
matched once, by query and document, and then only numbered anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from citebed.errors import UnknownName
from citebed.runs.tables import Floats, Ints
from citebed.timeline.slices import Slices
from citebed.timeline.streams.truth import Truth


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells with relevant documents, by query, then by slice.

    ``query`` and ``slice`` are their numbers, ``relevant`` their numbers of relevant documents.
    ``judged_cell`` and ``judged_relevance`` are the judgements in them, a cell's best first.
    """

    truth: Truth
    slices: Slices
    query: Ints
    slice: Ints
    relevant: Ints
    judged_cell: Ints
    judged_relevance: Ints
    _number: Ints

    def __len__(self) -> int:
        return len(self.query)

    def of(self, query: Ints, times: Ints) -> Ints:
        """The number of the cell of each document; -1 where it is in none of these cells.

        -2 says that it is in no slice at all.
        """
        at = self.slices.of(times)
        found = self._number[query * len(self.slices) + at]
        nowhere = at < 0
        if nowhere.any():
            found[nowhere] = -2
        return np.asarray(found)

    @property
    def queries(self) -> Ints:
        """The numbers of the queries with a relevant document in some slice."""
        return np.unique(self.query)

    @property
    def query_ids(self) -> pl.Series:
        """The names of those queries."""
        return self.truth.judged.query_ids.gather(self.queries)

    def query_number(self, query: str) -> int:
        """The number of a query with relevant documents in some slice; any other is an error."""
        names = self.query_ids.to_list()
        if query not in names:
            raise UnknownName("query with relevant documents", query, names)
        return int(self.queries[names.index(query)])

    def per_query(self, amounts: Floats) -> Floats:
        """Sums over each query's cells, for the queries that have some."""
        sums = np.bincount(self.query, amounts, len(self.truth.judged.query_ids))
        return np.asarray(sums[self.queries], np.float64)

    def means_by_slice(self, values: Floats) -> Floats:
        """The mean over the queries of each slice; nan for slices without relevant documents."""
        sums = np.bincount(self.slice, values, len(self.slices))
        counts = np.bincount(self.slice, minlength=len(self.slices))
        blank = np.full(len(counts), np.nan)
        return np.asarray(np.divide(sums, counts, out=blank, where=counts > 0))


def cells_of(truth: Truth, slices: Slices) -> Cells:
    """The cells of judgements under a slicing."""
    judged, n = truth.judged, len(slices)
    at = slices.of(truth.times)
    code = np.where(at < 0, -1, judged.query * n + at)
    relevant = (judged.relevance > 0) & (at >= 0)
    measured, counts = np.unique(code[relevant], return_counts=True)
    number = np.full(len(judged.query_ids) * n, -1, np.int64)
    number[measured] = np.arange(len(measured))
    cell = np.where(at < 0, -1, number[code])
    kept = np.flatnonzero(cell >= 0)
    kept = kept[np.lexsort((-judged.relevance[kept], cell[kept]))]
    return Cells(
        truth,
        slices,
        measured // n,
        measured % n,
        counts,
        cell[kept],
        judged.relevance[kept],
        number,
    )
