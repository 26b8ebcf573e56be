"""Scores of a run: every measure for every judged query, with coverage and summaries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measure as parse_measure
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.options import TREC_EVAL, Resampling, Settings
from citebed.evaluation.scoring.coverage import AlignedRun, Coverage, compute_coverage
from citebed.evaluation.statistics.intervals import Interval, mean_intervals
from citebed.runs.ranking import (
    Ranked,
    SortedQrels,
    check_repeated_documents,
    rank,
    rank_in_32_bits,
)
from citebed.runs.tables import Flags, Floats, Ints, Run

if TYPE_CHECKING:
    from citebed.evaluation.statistics.crossed import Crossed
    from citebed.evaluation.statistics.intervals import Bounds

_MANY_ROWS = 1_000_000


class PairScores(NamedTuple):
    """The scores of pairs of query and slice; a query's score is their weighted mean.

    ``values`` has one row per measure and one column per pair. ``weights``, ``query`` and ``slice``
    have the weight and the numbers of the query and slice of each pair.
    """

    values: Floats
    weights: Floats
    query: Ints
    slice: Ints

    def crossed(self, values: Floats) -> Crossed:
        """Arrange values of the pairs, such as differences, by queries and slices."""
        from citebed.evaluation.statistics.crossed import crossed_cells

        return crossed_cells(values, self.weights, self.query, self.slice)


@dataclass(frozen=True, eq=False)
class QueryScores:
    """A run's scores: one row of ``values`` per measure, one column per query of ``query_ids``.

    With ``pairs``, intervals and tests resample both queries and slices, otherwise queries.
    """

    run: str
    measures: tuple[Measure, ...]
    query_ids: pl.Series
    values: Floats
    pairs: PairScores | None = field(default=None, kw_only=True)


_Scores = TypeVar("_Scores", bound=Any)
"""Scores of a run, whose name is ``run``."""


@dataclass(frozen=True, eq=False)
class RunScores(QueryScores):
    """Scores with their coverage (``ledger``); ``tag`` is the run's tag in its file."""

    ledger: Coverage
    tag: str | None = None

    def of(self, measure: Measure | str) -> Floats:
        """Return the scores per query under one measure."""
        wanted = parse_measure(measure)
        if wanted not in self.measures:
            raise CitebedError(f"{self.run} was not scored under {wanted}.")
        return np.asarray(self.values[self.measures.index(wanted)])

    @property
    def summaries(self) -> dict[Measure, float]:
        """The summary of each measure, usually the mean."""
        return {
            measure: measure.summary(row)
            for measure, row in zip(self.measures, self.values, strict=True)
        }

    def table(self) -> pl.DataFrame:
        """Return one row per query and measure: ``run, measure, query_id, value``."""
        names, queries = [str(measure) for measure in self.measures], len(self.query_ids)
        return pl.DataFrame(
            {
                "run": pl.repeat(self.run, queries * len(names), dtype=pl.String, eager=True),
                "measure": pl.Series(np.repeat(names, queries), dtype=pl.String),
                "query_id": pl.concat([self.query_ids] * len(names)),
                "value": self.values.ravel(),
            }
        )


def find_run(name: str, runs: Sequence[_Scores]) -> _Scores:
    """Return the run with this name, or raise an error."""
    for scores in runs:
        if scores.run == name:
            return scores
    raise CitebedError(f"there is no run '{name}'; there are: {', '.join(s.run for s in runs)}.")


def have_same_queries(runs: Sequence[QueryScores]) -> bool:
    """Return True if all runs were scored on the same queries."""
    return all(run.query_ids.equals(runs[0].query_ids) for run in runs[1:])


def score_runs(
    sets: Sequence[SortedQrels],
    runs: Iterable[Run],
    measures: Sequence[Measure],
    settings: Settings,
) -> list[tuple[RunScores, ...]]:
    """Score runs under several judgement sets, with one run in memory at a time."""
    scored = [[score_run(qrels, run, measures, settings) for qrels in sets] for run in runs]
    return [tuple(of_set) for of_set in zip(*scored, strict=True)] or [()] * len(sets)


def score_run(
    qrels: SortedQrels, run: Run, measures: Sequence[Measure], settings: Settings = TREC_EVAL
) -> RunScores:
    """Score one run under sorted judgements."""
    ranked = rank(run, settings.score_type)
    ranked_in_32_bits = None if settings.score_type == "float" else rank_in_32_bits(run, ranked)
    rankings = match_checked(qrels, ranked)
    in_32_bits = None if ranked_in_32_bits is None else match(qrels, ranked_in_32_bits)
    matched = AlignedRun(run.name, run.tag, ranked.query_ids, rankings, in_32_bits)
    return score_aligned(qrels.name, matched, measures, settings)


def score_aligned(
    qrels: str, matched: AlignedRun, measures: Sequence[Measure], settings: Settings = TREC_EVAL
) -> RunScores:
    """Score a run that was matched with judgements, locally or on a worker."""
    rankings = matched.rankings
    if not rankings.in_run.any():
        raise CitebedError(_nothing_shared(qrels, matched))
    in_mean: Flags = np.ones_like(rankings.in_run) if settings.complete else rankings.in_run
    values = np.stack([measure.values(rankings) for measure in measures])
    ledger = compute_coverage(matched, measures, values, in_mean)
    query_ids = rankings.query_ids.filter(pl.Series(in_mean))
    scored = values[:, in_mean]
    return RunScores(matched.run, tuple(measures), query_ids, scored, ledger, matched.tag)


def match_checked(qrels: SortedQrels, ranked: Ranked) -> Rankings:
    """Match a run and check for repeated documents, in parallel if the run is large."""
    if len(ranked.scores) < _MANY_ROWS:
        check_repeated_documents(ranked)
        return match(qrels, ranked)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        checked = pool.submit(check_repeated_documents, ranked)
        rankings = match(qrels, ranked)
        checked.result()
    return rankings


def _nothing_shared(qrels: str, matched: AlignedRun) -> str:
    run, query_ids, judged = matched.run, matched.query_ids, matched.rankings.query_ids
    if not len(query_ids) or not len(judged):
        return "the judgements are empty." if len(query_ids) else f"the run '{run}' is empty."
    ours, theirs = (", ".join(f"'{x}'" for x in ids.head(3)) for ids in (judged, query_ids))
    return (
        f"the run '{run}' and the judgements '{qrels}' have no query in common: "
        f"{ours} … are judged, {theirs} … are in the run. Do they belong together?"
    )


# --- means with bootstrap intervals ---------------------------------------------------------


def crossed_mean_interval(
    cells: Crossed, resampling: Resampling, bounds: Bounds | None
) -> Interval:
    """Compute the interval of a mean, with both queries and slices resampled."""
    from citebed.evaluation.statistics.crossed import crossed_interval

    draws = resampling.draws(max(cells.weights.shape))
    return crossed_interval(
        cells, level=resampling.level, samples=draws, seed=resampling.seed, bounds=bounds
    )


@dataclass(frozen=True)
class Summary:
    """A measure's summary over queries with the limits of its interval (nan if unknown)."""

    measure: Measure
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """``0.2950 [0.2571, 0.3336]``; counts as whole numbers."""
        if self.measure.SUMMARY == "sum":
            return f"{self.value:.0f}"
        limits = "" if math.isnan(self.low) else f" [{self.low:.4f}, {self.high:.4f}]"
        return f"{self.value:.4f}{limits}"

    def row(self, run: str) -> dict[str, Any]:
        """Return a flat row, with ``query_id`` "all"."""
        limits = {
            name: None if math.isnan(x) else x
            for name, x in (("low", self.low), ("high", self.high))
        }
        return {
            "run": run, "measure": str(self.measure), "query_id": "all", "value": self.value,
            **limits,
        }  # fmt: skip


def summarise(scores: QueryScores, resampling: Resampling | None) -> list[Summary]:
    """Summarise each measure; its interval is nan if ``resampling`` is ``None``."""
    measures, values = scores.measures, scores.values
    intervals = [Interval(math.nan, math.nan, "")] * len(measures)
    averaged = [at for at, measure in enumerate(measures) if measure.SUMMARY != "sum"]
    if resampling is not None and scores.pairs is not None:
        for at in averaged:
            cells = scores.pairs.crossed(scores.pairs.values[at])
            limits = crossed_mean_interval(cells, resampling, measures[at].bounds)
            intervals[at] = _to_score_scale(measures[at], limits)
    elif resampling is not None and averaged:
        matrix = np.stack([measures[at].scaled(values[at]) for at in averaged], axis=1)
        drawn = mean_intervals(
            matrix,
            clusters=resampling.labels(scores.query_ids.to_list()),
            level=resampling.level,
            samples=resampling.draws(len(matrix)),
            seed=resampling.seed,
            bounds=[measures[at].bounds for at in averaged],
        )
        for at, interval in zip(averaged, drawn, strict=True):
            intervals[at] = _to_score_scale(measures[at], interval)
    return [
        Summary(measure, measure.summary(row), interval.low, interval.high)
        for measure, row, interval in zip(measures, values, intervals, strict=True)
    ]


def _to_score_scale(measure: Measure, interval: Interval) -> Interval:
    if measure.SUMMARY == "geometric mean":
        interval = interval.through(math.exp)
    return interval.within(*measure.RANGE)
