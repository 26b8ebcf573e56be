"""How sure time-aware scores are: intervals of the means, and paired tests between systems.

A system's score is a mean over queries, of weighted means over slices. What is drawn at random
depends on what one wants to say. Units ``queries``: other queries, over the same time. Units
``both``: other queries at other times, so that a slice that was bad for all is chance too. There,
a pair of query and slice takes its weight P(i|q) with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparing import Comparison, Comparisons, Design, compare, corrected
from citebed.evaluation.scoring.run_scores import (
    QueryScores,
    Resampling,
    Summary,
    run_called,
    summarise,
)
from citebed.evaluation.statistics.crossed import (
    CROSSED_TESTS,
    Crossed,
    crossed_cells,
    crossed_interval,
    crossed_test,
)
from citebed.evaluation.statistics.effects import noncentrality
from citebed.frames import Shown, frame_of
from citebed.runs.tables import Floats
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.scoring.weights import weights_of

UNITS_DRAWN = {"queries": "over queries", "both": "over queries and slices"}
"""What can be drawn at random, and how one says it."""


def check_units(units: str) -> None:
    """Refuse units that nobody knows."""
    if units not in UNITS_DRAWN:
        raise UnknownName("units", units, UNITS_DRAWN)


# --- intervals ------------------------------------------------------------------------------


def by_query(scores: StreamScores, weight: str) -> QueryScores:
    """A system's scores query by query under a weighting, as `citebed.evaluation` has them."""
    values = np.stack([scores.by_query(measure, weight) for measure in scores.measures])
    return QueryScores(scores.run, scores.measures, scores.pairs.query_ids, values)


def stream_summaries(
    scores: StreamScores, weight: str, units: str, resampling: Resampling | None
) -> list[Summary]:
    """Each measure's mean under a weighting, with its interval unless there is no resampling."""
    check_units(units)
    queries = by_query(scores, weight)
    if units == "queries" or resampling is None:
        return summarise(queries, resampling)
    return [
        _with_limits(of, _crossed(scores.pairs, scores.of(of.measure), weight), resampling)
        for of in summarise(queries, None)
    ]


def _crossed(pairs: TopicSlices, values: Floats, weight: str) -> Crossed:
    return crossed_cells(values, weights_of(weight, pairs), pairs.query, pairs.slice)


def _with_limits(of: Summary, cells: Crossed, resampling: Resampling) -> Summary:
    draws = resampling.draws(max(cells.weights.shape))
    limits = crossed_interval(cells, level=resampling.level, samples=draws, seed=resampling.seed)
    low, high, _ = limits.within(*of.measure.RANGE)
    return replace(of, low=low, high=high)


def with_intervals(
    runs: Sequence[StreamScores],
    weights: Sequence[str],
    units: str = "queries",
    resampling: Resampling | None = None,
) -> list[pl.DataFrame]:
    """For each run a row a measure and weighting: the mean, its interval from low to high."""
    return [_limits_of(scores, weights, units, resampling) for scores in runs]


def _limits_of(
    scores: StreamScores, weights: Sequence[str], units: str, resampling: Resampling | None
) -> pl.DataFrame:
    by_weight = [stream_summaries(scores, weight, units, resampling) for weight in weights]
    found = [of for of_measure in zip(*by_weight, strict=True) for of in of_measure]
    limits = {name: [getattr(of, name) for of in found] for name in ("low", "high")}
    added = pl.DataFrame(limits, {"low": pl.Float64, "high": pl.Float64}).fill_nan(None)
    return scores.systems(weights).hstack(added)


def mean_texts(table: pl.DataFrame) -> list[str]:
    """Each row as tables show it, ``0.2950 [0.2571, 0.3336]``; without limits the mean alone."""
    return [
        f"{mean:.4f}" if low is None else f"{mean:.4f} [{low:.4f}, {high:.4f}]"
        for mean, low, high in table.select("value", "low", "high").iter_rows()
    ]


# --- paired tests ---------------------------------------------------------------------------


@dataclass(frozen=True)
class StreamComparison(Comparison):
    """A run against another under one measure and ``weight``, over ``slices`` with relevant
    documents; ``units`` is what was drawn at random."""

    weight: str
    units: str
    slices: int

    @property
    def named(self) -> StreamComparison:
        """The same with the weighting in the name of its measure, as tables show it."""
        return replace(self, measure=f"{self.measure}, {self.weight}")


class StreamComparisons(Shown, tuple[StreamComparison, ...]):
    """Comparisons of runs over a stream, weighting by weighting and measure by measure."""

    @property
    def table(self) -> pl.DataFrame:
        """A row a comparison, a column for each of its fields."""
        return frame_of(self)

    def shown(self) -> pl.DataFrame:
        """What one asks first: the two means, the difference with its interval, and p."""
        return Comparisons(self).shown().insert_column(1, self.table["weight"])


class _Weighted(NamedTuple):
    """Runs as they are compared: scores query by query, under one weighting."""

    runs: tuple[QueryScores, ...]


def compare_streams(
    runs: Sequence[StreamScores],
    weights: Sequence[str],
    design: Design | None = None,
    units: str = "queries",
    resampling: Resampling | None = None,
) -> StreamComparisons:
    """Compare runs over a stream with a baseline, or all pairs, under each weighting.

    Differences are paired by query; with units ``both`` by query and slice, which the tests t
    and bootstrap can do. Corrections are over the comparisons under one measure and weighting.
    """
    check_units(units)
    design, resampling = design or Design(), resampling or Resampling()
    if units == "both":
        _check_crossed(design)
    slices = len(np.unique(runs[0].pairs.slice))
    found: list[StreamComparison] = []
    for weight in weights:
        scored = _Weighted(tuple(by_query(scores, weight) for scores in runs))
        compared: Sequence[Comparison] = compare(scored, design, resampling)
        if units == "both":
            compared = list(_compared_both(runs, weight, compared, design, resampling))
        found += [
            StreamComparison(**vars(of), weight=weight, units=units, slices=slices)
            for of in compared
        ]
    return StreamComparisons(found)


def _check_crossed(design: Design) -> None:
    if design.test not in CROSSED_TESTS:
        raise CitebedError(
            f"the test '{design.test}' pairs queries only. With queries and slices both drawn, "
            f"take {' or '.join(CROSSED_TESTS)}."
        )
    if design.correction == "tukey":
        raise CitebedError(
            "Tukey's test draws queries only. With slices drawn too, correct with holm."
        )


def _compared_both(
    runs: Sequence[StreamScores],
    weight: str,
    compared: Sequence[Comparison],
    design: Design,
    resampling: Resampling,
) -> Iterator[Comparison]:
    """The same comparisons, with intervals and tests over queries and slices."""
    measures = {str(measure): measure for measure in runs[0].measures}
    for name, group in groupby(compared, lambda of: of.measure):
        tested = [_tested_both(runs, measures[name], weight, of, resampling) for of in group]
        yield from corrected(tested, design)


def _tested_both(
    runs: Sequence[StreamScores],
    measure: Measure,
    weight: str,
    of: Comparison,
    resampling: Resampling,
) -> Comparison:
    base, run = (run_called(name, runs) for name in (of.base, of.run))
    cells = _crossed(run.pairs, run.of(measure) - base.of(measure), weight)
    draws = resampling.draws(max(cells.weights.shape))
    limits = crossed_interval(cells, level=resampling.level, samples=draws, seed=resampling.seed)
    test = crossed_test(of.test, cells, samples=draws, seed=resampling.seed)
    return replace(
        of,
        low=limits.low,
        high=limits.high,
        smallest=cells.error * noncentrality(cells.fewest - 1) if cells.fewest > 1 else np.nan,
        statistic=test.statistic,
        p=test.p_value,
        note=test.note,
    )
