"""The numbers behind a timeline's pictures: documents by day, scores by slice, scores as areas."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import numpy as np

from citebed.evaluation.measures.base import Measure
from citebed.runs.tables import Flags, Floats, Ints
from citebed.runs.times import DAY
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices, weights_of

WINDOW = 7
"""How many days, or units as they are counted in, a moving average is over."""

_MOST_POINTS = 800
_MOST_SLICES = 500


def day_name(seconds: float) -> str:
    """The day of an epoch second: ``2011-10-07``."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d}"


# --- documents ------------------------------------------------------------------------------


class Volume(NamedTuple):
    """Relevant documents by time: ``counts`` in each ``unit``, and their moving average.

    The unit is a day; a week, month or year of the calendar where there would be too many.
    ``bounds`` are the epoch seconds at which the units start, and the end of the last.
    """

    bounds: Ints
    counts: Ints
    average: Floats
    unit: str


def volume(pairs: TopicSlices, query: str | None = None) -> Volume:
    """The relevant documents of each UTC day, of one query or of all together.

    Days are from the first to the last on which a document in the slices was judged, whatever
    its query.
    """
    qrels = pairs.qrels
    inside = pairs.slices.slice_index(qrels.times) >= 0
    times = qrels.times[inside]
    first, last = int(times.min()) // DAY, int(times.max()) // DAY
    counted = (qrels.relevance > 0) & inside
    if query is not None:
        counted &= qrels.query == pairs.query_number(query)
    unit, bounds = _units(first, last)
    counts = np.histogram(qrels.times[counted] // DAY, bounds)[0]
    return Volume(bounds * DAY, counts, moving_average(counts), unit)


def _units(first: int, last: int) -> tuple[str, Ints]:
    """The unit in which to count from one day to another, and the days that bound each."""
    if last - first < _MOST_POINTS:
        return "day", np.arange(first, last + 2)
    if last - first < 7 * _MOST_POINTS:
        return "week", np.arange(first, last + 8, 7)
    unit, code = ("month", "M") if last - first < 30 * _MOST_POINTS else ("year", "Y")
    ends = np.array([first, last], "datetime64[D]").astype(f"datetime64[{code}]")
    return unit, np.arange(ends[0], ends[1] + 2).astype("datetime64[D]").astype(np.int64)


def moving_average(counts: Ints, window: int = WINDOW) -> Floats:
    """The mean over as many days before each as after it; at the ends over those that there are."""
    sums = np.concatenate(([0], np.cumsum(counts)))
    at = np.arange(len(counts))
    low = np.maximum(at - window // 2, 0)
    high = np.minimum(at + window // 2 + 1, len(counts))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def burstiest(pairs: TopicSlices) -> str:
    """The query with the most relevant documents in one slice: the one to look at for bursts."""
    number = int(pairs.query[int(np.argmax(pairs.relevant))])
    return str(pairs.qrels.query_ids[number])


class Cut(NamedTuple):
    """How time is cut: where slices start, the end of the last, and their relevant documents."""

    bounds: Ints
    relevant: Ints


def slice_bounds(pairs: TopicSlices, query: str | None = None) -> Cut:
    """The slices with their relevant documents, of one query or of all together."""
    chosen = np.ones(len(pairs), bool)
    if query is not None:
        chosen = pairs.query == pairs.query_number(query)
    relevant = np.bincount(pairs.slice[chosen], pairs.relevant[chosen], len(pairs.slices))
    return Cut(pairs.slices.filled, relevant.astype(np.int64))


# --- scores ---------------------------------------------------------------------------------


class Steps(NamedTuple):
    """Scores over time: one of ``values`` from each bound to the next, nan for a gap.

    Where there are many slices, ``joined`` neighbours are one step, the mean of their scores.
    """

    bounds: Ints
    values: Floats
    joined: int


def steps(scores: StreamScores, measure: Measure) -> Steps:
    """A system's mean over queries in each slice, nan in slices without relevant documents."""
    values, bounds = scores.by_slice(measure), scores.pairs.slices.filled
    joined = math.ceil(len(values) / _MOST_SLICES)
    starts = np.arange(0, len(values), joined)
    known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    return Steps(np.append(bounds[starts], bounds[-1]), means, joined)


Over = Literal["time", "weight"]
"""What slices are as wide as, where a score is drawn as an area."""


class Areas(NamedTuple):
    """A score as an area: slices with their ``widths``, which add up to 1, and ``heights``.

    ``starts`` are the slices' starts in epoch seconds, ``edges`` where they lie on the axis and
    the end of the last. ``empty`` ones have no relevant documents and no height.
    """

    starts: Ints
    edges: Floats
    widths: Floats
    heights: Floats
    empty: Flags

    @property
    def score(self) -> float:
        """The area."""
        return float(self.widths @ self.heights)

    @property
    def seen(self) -> Floats:
        """The heights, nan for a gap."""
        return np.where(self.empty, np.nan, self.heights)


def areas(
    scores: StreamScores,
    measure: Measure,
    weight: str,
    query: str | None = None,
    over: Over = "time",
) -> Areas:
    """A system's score under a weighting taken apart into slices, for one query or for all.

    Over time, as in figure 4 of Dietz, Dalton & Balog (2013), a slice is as wide as it lasts, all
    time being 1, and what it contributes, P(i|q)·m(d_i,q), is spread over that width. Over weight
    it is P(i|q) wide and m(d_i,q) high. For all of Q queries contributions and weights are the
    means over queries. The area is the score either way, also where many slices are joined.
    """
    weights, parts = _by_slice(scores, measure, weight, query)
    slices, bounds = scores.pairs.slices, scores.pairs.slices.filled
    if over == "time":
        places, widths = np.arange(len(weights)), np.diff(bounds) / (bounds[-1] - bounds[0])
    else:
        places, widths = np.flatnonzero(weights > 0), weights
    at = np.arange(0, len(places), math.ceil(len(places) / _MOST_SLICES))
    wide, high, weighs = (np.add.reduceat(of[places], at) for of in (widths, parts, weights))
    starts = slices.starts[places[at]]
    edges = np.concatenate(([0.0], np.cumsum(wide)))
    if over == "time":
        edges = np.append(starts, bounds[-1]) / DAY
    return Areas(starts, edges, wide, high / wide, weighs == 0)


def _by_slice(
    scores: StreamScores, measure: Measure, weight: str, query: str | None
) -> tuple[Floats, Floats]:
    """Each slice's weight and what it contributes, of one query or as means over all."""
    pairs = scores.pairs
    share = weights_of(weight, pairs) / (len(pairs.queries) if query is None else 1)
    if query is not None:
        share = np.where(pairs.query == pairs.query_number(query), share, 0.0)
    weights, parts = np.zeros((2, len(pairs.slices)))
    np.add.at(weights, pairs.slice, share)
    np.add.at(parts, pairs.slice, share * scores.of(measure))
    return weights, parts
