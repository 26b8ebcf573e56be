"""Compare runs query by query, with tests, intervals, effect sizes and corrections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import Design, Resampling
from citebed.evaluation.scoring.run_scores import (
    QueryScores,
    crossed_mean_interval,
    find_run,
)
from citebed.evaluation.statistics.corrections import adjust, tukey
from citebed.evaluation.statistics.crossed import CROSSED_TESTS, Crossed, crossed_test
from citebed.evaluation.statistics.effects import (
    design_effect,
    effect,
    noncentrality,
    smallest_effect,
)
from citebed.evaluation.statistics.intervals import Bounds, Interval, mean_interval
from citebed.evaluation.statistics.paired import TestResult, paired_test
from citebed.frames import FlatRow, TableResult, rows_to_frame
from citebed.runs.tables import Floats

ON_LOGARITHMS = "difference and interval are of logarithms"


@dataclass(frozen=True)
class Comparison(FlatRow):
    """A comparison of two runs under one measure, over the queries that both have.

    ``difference`` is ``value`` minus ``base_value``, with its interval ``low`` to ``high`` (for
    geometric means on logarithms, as ``note`` says). ``effect`` is the standardised difference, and
    ``smallest`` the smallest mean difference that this many queries can show (two-sided t-test, 5 %
    level, 80 % power). ``p_adjusted`` is ``p`` after the correction. ``clusters`` is the number of
    independent units; ``design_effect`` is the factor by which clustering increases the variance
    (nan without clusters).
    """

    measure: str
    base: str
    run: str
    queries: int
    clusters: int
    base_value: float
    value: float
    difference: float
    low: float
    high: float
    effect: float
    wins: int
    ties: int
    losses: int
    smallest: float
    design_effect: float
    test: str
    statistic: float
    p: float
    correction: str
    p_adjusted: float
    significant: bool
    note: str


_Compared_co = TypeVar("_Compared_co", bound=Comparison, covariant=True)


class Comparisons(TableResult, tuple[_Compared_co, ...]):
    """Comparisons of runs, measure by measure."""

    @property
    def table(self) -> pl.DataFrame:
        """One row per comparison, with a column for each field."""
        return rows_to_frame(self)

    def main_table(self) -> pl.DataFrame:
        """Return the main columns: the two means, the difference with its interval, and p.

        A column ``note`` is added if a difference is on logarithms.
        """
        names = "measure", "base", "run", "base_value", "value", "difference", "low", "high"
        notes = [ON_LOGARITHMS if ON_LOGARITHMS in of.note else "" for of in self]
        said = [pl.Series("note", notes)] if any(notes) else []
        table = self.table
        first = table.select(*names, "p_adjusted", "significant", *said).with_columns(
            pl.col(pl.Float64).round(4)
        )
        return first.insert_column(1, table["weight"]) if "weight" in table.columns else first


class Scored(Protocol):
    """Runs that were scored under the same judgements and measures."""

    @property
    def runs(self) -> Sequence[QueryScores]:
        """The scores of each run."""


def compare(
    evaluation: Scored, design: Design | None = None, resampling: Resampling | None = None
) -> Comparisons[Comparison]:
    """Compare the runs of an evaluation, measure by measure."""
    return compare_scores(evaluation.runs, design or Design(), resampling or Resampling())


def compare_scores(
    runs: Sequence[QueryScores], design: Design, resampling: Resampling
) -> Comparisons[Comparison]:
    """Compare runs that were scored under the same measures.

    Differences are paired by query or, if the scores have ``pairs``, by query and slice; the latter
    needs the test ``t`` or ``bootstrap``.
    """
    if any(run.pairs for run in runs):
        if design.test not in CROSSED_TESTS:
            raise CitebedError(
                f"the test '{design.test}' does not support scores by query and slice. "
                f"Use {' or '.join(CROSSED_TESTS)}."
            )
        if design.correction == "tukey":
            raise CitebedError(
                "Tukey's test cannot resample queries and slices together. Correct with holm."
            )
    pairs = _pairs(runs, design)
    if design.correction == "tukey":  # tests all pairs over the queries that all runs have
        ids, values = shared_queries(*runs)
        queries = pl.Series("query_id", ids, pl.String)
        runs = [
            replace(run, query_ids=queries, values=of) for run, of in zip(runs, values, strict=True)
        ]
        pairs = _pairs(runs, design)
    compared: list[Comparison] = []
    for at, measure in enumerate(runs[0].measures):
        if measure.SUMMARY == "sum":
            continue
        group = [_compared(measure, at, *pair, design, resampling) for pair in pairs]
        if design.correction == "tukey":
            adjusted = tukey(
                np.stack([measure.scaled(run.values[at]) for run in runs], axis=1),
                clusters=resampling.labels(runs[0].query_ids.to_list()),
                samples=resampling.samples or 10_000,
                seed=resampling.seed,
            ).tolist()
        else:
            adjusted = adjust([of.p for of in group], design.correction).tolist()
        compared += [
            replace(of, p_adjusted=p, significant=p < design.alpha)
            for of, p in zip(group, adjusted, strict=True)
        ]
    if not compared:
        raise CitebedError("counts are not compared; name a measure such as nDCG@10.")
    return Comparisons(compared)


def _pairs(runs: Sequence[QueryScores], design: Design) -> list[tuple[QueryScores, QueryScores]]:
    if len(runs) < 2:
        raise CitebedError(f"found {len(runs)} run; a comparison needs two or more.")
    if design.correction == "tukey" and design.baseline is not None:
        raise CitebedError(
            "Tukey's test is for all pairs. Leave out the baseline, or correct with holm."
        )
    if design.baseline is None:
        return list(combinations(runs, 2))
    base = find_run(design.baseline, runs)
    return [(base, run) for run in runs if run is not base]


def shared_queries(*runs: QueryScores) -> tuple[list[str], list[Floats]]:
    """Return the queries that all runs were scored on, and each run's scores for them."""
    ids = runs[0].query_ids
    for run in runs[1:]:
        ids = ids.filter(ids.is_in(run.query_ids.implode()))
    if not len(ids):
        raise CitebedError(f"{', '.join(r.run for r in runs)} have no query in common.")
    shared = ids.implode()
    return ids.to_list(), [
        run.values[:, np.flatnonzero(run.query_ids.is_in(shared).to_numpy())] for run in runs
    ]


def _compared(
    measure: Measure,
    at: int,
    base: QueryScores,
    run: QueryScores,
    design: Design,
    resampling: Resampling,
) -> Comparison:
    ids, (base_values, values) = shared_queries(base, run)
    before, after = base_values[at], values[at]
    labels = resampling.labels(ids)
    differences = measure.scaled(after) - measure.scaled(before)
    if run.pairs and base.pairs:
        cells = run.pairs.crossed(run.pairs.values[at] - base.pairs.values[at])
        tested = _tested_crossed(cells, _apart(measure), design, resampling)
    else:
        tested = _tested(differences, labels, _apart(measure), design, resampling)
    test, notes = tested.test, [tested.test.note]
    if measure.SUMMARY == "geometric mean":
        notes.append(ON_LOGARITHMS)
    size = effect(differences, clusters=labels)
    return Comparison(
        measure=str(measure),
        base=base.run,
        run=run.run,
        queries=len(ids),
        clusters=tested.units,
        base_value=measure.summary(before),
        value=measure.summary(after),
        difference=size.mean,
        low=tested.limits.low,
        high=tested.limits.high,
        effect=size.standardised,
        wins=size.wins,
        ties=size.ties,
        losses=size.losses,
        smallest=tested.smallest,
        design_effect=design_effect(differences, labels) if labels else math.nan,
        test=design.test,
        statistic=test.statistic,
        p=test.p_value,
        correction=design.correction,
        p_adjusted=test.p_value,
        significant=test.p_value < design.alpha,
        note="; ".join(filter(None, notes)),
    )


def _apart(measure: Measure) -> Bounds | None:
    """Return the lowest and highest possible difference of two scores."""
    if measure.bounds is None:
        return None
    low, high = measure.bounds
    return low - high, high - low


class _Tested(NamedTuple):
    """A test of differences, the interval of their mean, and the smallest mean that can be shown.

    ``units`` is the number of independent units.
    """

    test: TestResult
    limits: Interval
    smallest: float
    units: int


def _tested(
    differences: Floats,
    labels: list[str] | None,
    bounds: Bounds | None,
    design: Design,
    resampling: Resampling,
) -> _Tested:
    """Test differences over queries, or over clusters of queries."""
    seed = resampling.seed
    samples, draws = resampling.samples or 10_000, resampling.draws(len(differences))
    test = paired_test(design.test, differences, clusters=labels, samples=samples, seed=seed)
    limits = mean_interval(
        differences,
        clusters=labels,
        level=resampling.level,
        samples=draws,
        seed=seed,
        bounds=bounds,
    )
    return _Tested(test, limits, smallest_effect(differences, clusters=labels), test.n_clusters)


def _tested_crossed(
    cells: Crossed, bounds: Bounds | None, design: Design, resampling: Resampling
) -> _Tested:
    """Test differences over queries and slices, both resampled."""
    draws = resampling.draws(max(cells.weights.shape))
    test = crossed_test(design.test, cells, samples=draws, seed=resampling.seed)
    smallest = (
        cells.error * noncentrality(cells.smaller_unit_count - 1)
        if cells.smaller_unit_count > 1
        else math.nan
    )
    return _Tested(test, crossed_mean_interval(cells, resampling, bounds), smallest, test.n)
