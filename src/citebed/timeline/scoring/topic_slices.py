"""Pairs of a topic and a slice, which are scored like queries, and their weights.

A document has one time, so that it belongs to one slice. Therefore judgements and runs only need
new query numbers, and then are scored like any others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.runs.ranking import SortedQrels, spread
from citebed.runs.tables import Floats, Ints
from citebed.runs.times import format_time, parse_seconds
from citebed.timeline.slices import Slices
from citebed.timeline.streams.timed_qrels import TimedQrels


@dataclass(frozen=True, eq=False)
class TopicSlices:
    """The pairs with relevant documents, ordered by topic and slice.

    ``query`` and ``slice`` are the numbers of each pair's topic and slice; ``relevant`` counts its
    relevant documents. ``pair_qrels`` has the judgements by pair number, ``qrels`` all judgements
    by topic.
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
        """Return the pair number of each document.

        It is -1 if the pair has no relevant documents, and -2 outside all slices.
        """
        at = self.slices.slice_index(times)
        pairs = self._number[query * len(self.slices) + at]
        nowhere = at < 0
        if nowhere.any():
            pairs[nowhere] = -2
        return np.asarray(pairs)

    def qrels_in(self, pairs: Ints) -> SortedQrels:
        """Return the judgements of these pairs (ascending), which are renumbered from 0."""
        begins, sizes = self.pair_qrels.starts[pairs], np.diff(self.pair_qrels.starts)[pairs]
        query = np.repeat(np.arange(len(pairs)), sizes)
        rows = np.arange(len(query)) + (begins - np.cumsum(sizes) + sizes)[query]
        few = _renumbered(self.pair_qrels, rows, pairs[query], query, len(pairs))
        return replace(few, highest=self.pair_qrels.highest)

    @property
    def queries(self) -> Ints:
        """The numbers of the topics with a relevant document in any slice."""
        return np.unique(self.query)

    @property
    def slices_scored(self) -> int:
        """How many slices have relevant documents."""
        return len(np.unique(self.slice))

    @property
    def query_ids(self) -> pl.Series:
        """The names of those topics."""
        return self.qrels.query_ids.gather(self.queries)

    def query_number(self, query: str) -> int:
        """Return the number of a topic with relevant documents in any slice, or raise an error."""
        names = self.query_ids.to_list()
        if query not in names:
            raise UnknownName("query with relevant documents", query, names)
        return int(self.queries[names.index(query)])

    def per_query(self, amounts: Floats) -> Floats:
        """Sum over each topic's pairs, for the topics in `queries`."""
        sums = np.bincount(self.query, amounts, len(self.qrels.query_ids))
        return np.asarray(sums[self.queries], np.float64)

    def means_by_slice(self, values: Floats) -> Floats:
        """Average over the topics of each slice; nan for slices without relevant documents."""
        sums = np.bincount(self.slice, values, len(self.slices))
        counts = np.bincount(self.slice, minlength=len(self.slices))
        blank = np.full(len(counts), np.nan)
        return np.asarray(np.divide(sums, counts, out=blank, where=counts > 0))


def topic_slices(qrels: TimedQrels, slices: Slices) -> TopicSlices:
    """Return the pairs with relevant documents; raise an error without any."""
    n, at = len(slices), slices.slice_index(qrels.times)
    code = qrels.query * n + at
    measured, counts = np.unique(code[(qrels.relevance > 0) & (at >= 0)], return_counts=True)
    if not len(measured):
        raise CitebedError(_nothing_relevant(qrels, slices))
    number = np.full(len(qrels.query_ids) * n, -1, np.int64)
    number[measured] = np.arange(len(measured))
    pair = np.where(at < 0, -1, number[code])
    chosen = np.flatnonzero(pair >= 0)
    chosen = chosen[np.lexsort((-qrels.relevance[chosen], pair[chosen]))]
    of_pairs = _renumbered(qrels, chosen, qrels.query[chosen], pair[chosen], len(measured))
    return TopicSlices(qrels, slices, measured // n, measured % n, counts, of_pairs, number)


def _renumbered(
    qrels: SortedQrels, rows: Ints, before: Ints, query: Ints, queries: int
) -> SortedQrels:
    """Return some judgements with query numbers ``query`` (ascending) in place of ``before``."""
    keys = qrels.keys[rows] ^ spread(before) ^ spread(query)
    return SortedQrels(
        qrels.name,
        pl.Series("query_id", np.arange(queries)).cast(pl.String),
        np.searchsorted(query, np.arange(queries + 1)),
        qrels.doc_ids.gather(rows),
        qrels.relevance[rows],
        keys,
        int(qrels.relevance[rows].max(initial=1)),
    )


def _nothing_relevant(qrels: TimedQrels, slices: Slices) -> str:
    nothing = f"{qrels.name}: no slice has a relevant document"
    if not (qrels.relevance > 0).any():
        return f"{nothing}: no judgement has the lowest relevant grade (--rel) or a higher one."
    first, last = (format_time(int(time)) for time in (qrels.times.min(), qrels.times.max()))
    start, end = (format_time(int(slices.bounds[at])) for at in (0, -1))
    return f"{nothing}. Judged documents are from {first} to {last}, slices from {start} to {end}."


# --- slice weights P(i|q) ---------------------------------------------------------------------
#
# A query's weights cover the slices in which it has relevant documents, and sum to 1. Dietz, Dalton
# & Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013.

Weighting = Callable[[TopicSlices, str], Floats]


def _uniform(pairs: TopicSlices, _: str) -> Floats:
    """Weigh all slices alike, 1/T each (the paper's usage scenario U1)."""
    return np.ones(len(pairs))


def _burst(pairs: TopicSlices, _: str) -> Floats:
    """Weigh slices by their numbers of relevant documents #R(i,q) (U2, equation 2)."""
    return pairs.relevant.astype(np.float64)


def _recency(pairs: TopicSlices, half_life: str) -> Floats:
    """Halve the weight for each half-life between a slice's end and the last one's."""
    if not half_life:
        raise CitebedError("recency needs a half-life. Write recency:30d, for example.")
    ends = pairs.slices.ends[pairs.slice]
    # Only proportions count; ages relative to the query's own last slice avoid underflow to 0.
    last = np.zeros(len(pairs.qrels.query_ids), ends.dtype)
    np.maximum.at(last, pairs.query, ends)
    return np.asarray(np.exp2((ends - last[pairs.query]) / parse_seconds(half_life)))


WEIGHTINGS: dict[str, Weighting] = {"uniform": _uniform, "burst": _burst, "recency": _recency}


def weights_of(text: str, pairs: TopicSlices) -> Floats:
    """Return the weight of each pair under uniform, burst or recency:30d; 1 in sum per query."""
    name, colon, parameter = text.partition(":")
    if name not in WEIGHTINGS:
        raise UnknownName("weighting", name, WEIGHTINGS)
    if colon and name != "recency":
        raise CitebedError(f"the weighting {name} takes no parameter; found '{text}'.")
    raw = WEIGHTINGS[name](pairs, parameter)
    totals = np.bincount(pairs.query, raw, len(pairs.qrels.query_ids))
    return np.asarray(raw / totals[pairs.query])
