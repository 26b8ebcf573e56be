"""Pairs of a topic and a slice: an evaluation sees each pair as a query of its own.

A document has one time, so it is in one slice, and so is its judgement: judgements and runs only
get other numbers for their queries, and then are scored as any others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.runs.ranking import SortedQrels, spread
from citebed.runs.tables import Floats, Ints
from citebed.runs.times import format_time
from citebed.timeline.slices import Slices
from citebed.timeline.streams.timed_qrels import TimedQrels


@dataclass(frozen=True, eq=False)
class TopicSlices:
    """The pairs with relevant documents, by topic, then by slice.

    ``query`` and ``slice`` are their numbers, ``relevant`` their numbers of relevant documents.
    ``pair_qrels`` are the judgements in them, by the number of the pair; ``qrels`` all, by topic.
    """

    qrels: TimedQrels
    slices: Slices
    query: Ints
    slice: Ints
    relevant: Ints
    pair_qrels: SortedQrels
    _number: Ints

    def __len__(self) -> int:
        return len(self.query)

    def of(self, query: Ints, times: Ints) -> Ints:
        """The number of the pair of each document; -1 where it is in none of these pairs.

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
        """The numbers of the topics with a relevant document in some slice."""
        return np.unique(self.query)

    @property
    def query_ids(self) -> pl.Series:
        """The names of those topics."""
        return self.qrels.query_ids.gather(self.queries)

    def query_number(self, query: str) -> int:
        """The number of a topic with relevant documents in some slice; any other is an error."""
        names = self.query_ids.to_list()
        if query not in names:
            raise UnknownName("query with relevant documents", query, names)
        return int(self.queries[names.index(query)])

    def per_query(self, amounts: Floats) -> Floats:
        """Sums over each topic's pairs, for the topics that have some."""
        sums = np.bincount(self.query, amounts, len(self.qrels.query_ids))
        return np.asarray(sums[self.queries], np.float64)

    def means_by_slice(self, values: Floats) -> Floats:
        """The mean over the topics of each slice; nan for slices without relevant documents."""
        sums = np.bincount(self.slice, values, len(self.slices))
        counts = np.bincount(self.slice, minlength=len(self.slices))
        blank = np.full(len(counts), np.nan)
        return np.asarray(np.divide(sums, counts, out=blank, where=counts > 0))


def topic_slices(qrels: TimedQrels, slices: Slices) -> TopicSlices:
    """The pairs to score, of which there must be one."""
    n, at = len(slices), slices.of(qrels.times)
    code = qrels.query * n + at
    measured, counts = np.unique(code[(qrels.relevance > 0) & (at >= 0)], return_counts=True)
    if not len(measured):
        raise CitebedError(_nothing_relevant(qrels, slices))
    number = np.full(len(qrels.query_ids) * n, -1, np.int64)
    number[measured] = np.arange(len(measured))
    pair = np.where(at < 0, -1, number[code])
    chosen = np.flatnonzero(pair >= 0)
    chosen = chosen[np.lexsort((-qrels.relevance[chosen], pair[chosen]))]
    of_pairs = _renumbered(qrels, chosen, pair[chosen], len(measured))
    return TopicSlices(qrels, slices, measured // n, measured % n, counts, of_pairs, number)


def _renumbered(qrels: SortedQrels, rows: Ints, query: Ints, queries: int) -> SortedQrels:
    """Some judgements under other numbers of queries, ascending, which are their names too."""
    keys = qrels.keys[rows] ^ spread(qrels.query[rows]) ^ spread(query)
    return SortedQrels(
        qrels.name,
        pl.Series("query_id", np.arange(queries)).cast(pl.String),
        np.searchsorted(query, np.arange(queries + 1)),
        qrels.doc_ids.gather(rows),
        qrels.relevance[rows],
        keys,
    )


def _nothing_relevant(qrels: TimedQrels, slices: Slices) -> str:
    nothing = f"{qrels.name}: no slice has a relevant document"
    if not (qrels.relevance > 0).any():
        return (
            f"{nothing}: none is judged to be of the lowest grade that is relevant (--rel) or "
            "above."
        )
    first, last = (format_time(int(time)) for time in (qrels.times.min(), qrels.times.max()))
    start, end = (format_time(int(slices.bounds[at])) for at in (0, -1))
    return f"{nothing}. Judged documents are from {first} to {last}, slices from {start} to {end}."
