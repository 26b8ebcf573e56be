"""How sure time-aware scores are: intervals of the means, and paired tests between systems.

A system's score is a mean over queries, of weighted means over slices. What is drawn at random
depends on what one wants to say. Units ``queries``: other queries, over the same time. Units
``both``: other queries at other times, so that a slice that was bad for all is chance too. There,
a pair of query and slice takes its weight P(i|q) with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from citebed.errors import UnknownName
from citebed.evaluation.scoring.comparing import Comparison, Comparisons, Design, compare_scores
from citebed.evaluation.scoring.run_scores import PairScores, QueryScores, Resampling, summarise
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import weights_of

UNITS_DRAWN = {"queries": "over queries", "both": "over queries and slices"}
"""What can be drawn at random, and how one says it."""


def check_units(units: str) -> None:
    """Refuse units that nobody knows."""
    if units not in UNITS_DRAWN:
        raise UnknownName("units", units, UNITS_DRAWN)


# --- intervals ------------------------------------------------------------------------------


def by_query(scores: StreamScores, weight: str, units: str = "queries") -> QueryScores:
    """A system's scores query by query under a weighting, as `citebed.evaluation` has them."""
    check_units(units)
    values = np.stack([scores.by_query(measure, weight) for measure in scores.measures])
    pairs, of = None, scores.pairs
    if units == "both":
        pairs = PairScores(scores.values, weights_of(weight, of), of.query, of.slice)
    return QueryScores(scores.run, scores.measures, of.query_ids, values, pairs=pairs)


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
    by_weight = [summarise(by_query(scores, weight, units), resampling) for weight in weights]
    summaries = [of for of_measure in zip(*by_weight, strict=True) for of in of_measure]
    limits = {name: [getattr(of, name) for of in summaries] for name in ("low", "high")}
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


def compare_streams(
    runs: Sequence[StreamScores],
    weights: Sequence[str],
    design: Design | None = None,
    units: str = "queries",
    resampling: Resampling | None = None,
) -> Comparisons[StreamComparison]:
    """Compare runs over a stream with a baseline, or all pairs, under each weighting.

    Corrections are over the comparisons under one measure and weighting.
    """
    slices = runs[0].pairs.slices_scored
    return Comparisons(
        StreamComparison(**vars(of), weight=weight, units=units, slices=slices)
        for weight in weights
        for of in compare_scores(
            [by_query(scores, weight, units) for scores in runs],
            design or Design(),
            resampling or Resampling(),
        )
    )
