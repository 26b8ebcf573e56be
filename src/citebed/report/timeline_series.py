"""Data series for a timeline's figures: documents by day, scores by slice, scores as areas."""

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
"""The width of the moving average, in days or other units."""

_MOST_POINTS = 800
_MOST_SLICES = 500


def day_name(seconds: float) -> str:
    """Format the day of an epoch second: ``2011-10-07``."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d}"


# --- documents ------------------------------------------------------------------------------


class Volume(NamedTuple):
    """Relevant documents over time: ``counts`` per ``unit``, and their moving average.

    The unit is a day or, for long streams, a week, calendar month or year. ``bounds`` has the
    start of each unit in epoch seconds, and the end of the last one.
    """

    bounds: Ints
    counts: Ints
    average: Floats
    unit: str


def volume(pairs: TopicSlices, query: str | None = None) -> Volume:
    """Count the relevant documents per day (UTC), for one query or for all together.

    Days go from the first to the last judged document in the slices, whatever its query.
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
    """Choose the unit for a range of days, and return it with its bounds in days."""
    if last - first < _MOST_POINTS:
        return "day", np.arange(first, last + 2)
    if last - first < 7 * _MOST_POINTS:
        return "week", np.arange(first, last + 8, 7)
    unit, code = ("month", "M") if last - first < 30 * _MOST_POINTS else ("year", "Y")
    ends = np.array([first, last], "datetime64[D]").astype(f"datetime64[{code}]")
    return unit, np.arange(ends[0], ends[1] + 2).astype("datetime64[D]").astype(np.int64)


def moving_average(counts: Ints, window: int = WINDOW) -> Floats:
    """Return the centred moving average; at the ends, over fewer values."""
    sums = np.concatenate(([0], np.cumsum(counts)))
    at = np.arange(len(counts))
    low = np.maximum(at - window // 2, 0)
    high = np.minimum(at + window // 2 + 1, len(counts))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def burstiest(pairs: TopicSlices) -> str:
    """Return the query with the most relevant documents in one slice."""
    number = int(pairs.query[int(np.argmax(pairs.relevant))])
    return str(pairs.qrels.query_ids[number])


class Cut(NamedTuple):
    """The bounds of slices and their numbers of relevant documents."""

    bounds: Ints
    relevant: Ints


def slice_bounds(pairs: TopicSlices, query: str | None = None) -> Cut:
    """Return the slices with their relevant documents, for one query or for all together."""
    chosen = np.ones(len(pairs), bool)
    if query is not None:
        chosen = pairs.query == pairs.query_number(query)
    relevant = np.bincount(pairs.slice[chosen], pairs.relevant[chosen], len(pairs.slices))
    return Cut(pairs.slices.filled, relevant.astype(np.int64))


# --- scores ---------------------------------------------------------------------------------


class Steps(NamedTuple):
    """Scores over time: one value between each two bounds, nan for a gap.

    If there are many slices, ``joined`` neighbours become one step with their mean.
    """

    bounds: Ints
    values: Floats
    joined: int


def steps(scores: StreamScores, measure: Measure) -> Steps:
    """Return a system's mean over queries per slice, nan without relevant documents."""
    values, bounds = scores.by_slice(measure), scores.pairs.slices.filled
    joined = math.ceil(len(values) / _MOST_SLICES)
    starts = np.arange(0, len(values), joined)
    known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    return Steps(np.append(bounds[starts], bounds[-1]), means, joined)


Over = Literal["time", "weight"]
"""The width of slices in area plots."""


class Areas(NamedTuple):
    """A score as an area: slices with ``widths``, which sum to 1, and ``heights``.

    ``starts`` are the slices' starts in epoch seconds, ``edges`` their positions on the axis and
    the end of the last one. ``empty`` slices have no relevant documents.
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
        """The heights, nan for empty slices."""
        return np.where(self.empty, np.nan, self.heights)


def areas(
    scores: StreamScores,
    measure: Measure,
    weight: str,
    query: str | None = None,
    over: Over = "time",
) -> Areas:
    """Split a system's score under a weighting into slices, for one query or for all.

    Over time, as in figure 4 of Dietz, Dalton & Balog (2013), a slice's width is its share of the
    time, and its contribution P(i|q)·m(d_i,q) is its area. Over weight, its width is P(i|q) and its
    height m(d_i,q). For all queries, contributions and weights are means over queries. The total
    area is the score in either case, even if many slices are joined.
    """
    # Each slice's weight and contribution, for one query or as means over all.
    pairs = scores.pairs
    share = weights_of(weight, pairs) / (len(pairs.queries) if query is None else 1)
    if query is not None:
        share = np.where(pairs.query == pairs.query_number(query), share, 0.0)
    weights, parts = np.zeros((2, len(pairs.slices)))
    np.add.at(weights, pairs.slice, share)
    np.add.at(parts, pairs.slice, share * scores.of(measure))
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
