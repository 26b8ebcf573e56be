"""Streams of chance whose true scores are known, to count how often intervals hold them.

Queries differ in how much is relevant to them, bursts come to each by itself, and a system sees
some queries better than others, some weeks better than others, and bursts best. So queries are
alike within themselves, and all queries within a week: what two kinds of units are for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from citebed.timeline.timelines import Timeline, timeline

START, WEEK = 1_704_067_200, 7 * 86_400  # from 2024-01-01T00:00:00Z on
WEEKS, QUERIES = 13, 30
WEIGHTS = ("uniform", "burst")
SEED = 20_130


class Stream(NamedTuple):
    """Judgements, and two systems that are equally good."""

    qrels: pl.DataFrame
    runs: dict[str, pl.DataFrame]
    weeks: int


def week_effects(rng: np.random.Generator, weeks: int = WEEKS, queries: int = 1) -> np.ndarray:
    """How much better or worse systems see in each week, for all queries or each by itself."""
    return 0.5 * rng.normal(size=(queries, weeks))


def stream(rng: np.random.Generator, effects: np.ndarray, queries: int = QUERIES) -> Stream:
    """One stream; ``effects`` are what `week_effects` drew, for it or for many."""
    weeks = effects.shape[1]
    bursts = rng.random((queries, weeks)) < 0.08
    rate = rng.lognormal(0.2, 0.6, (queries, 1)) * np.where(bursts, 6.0, 1.0)
    relevant, others = rng.poisson(rate), rng.poisson(4.0, (queries, weeks))
    cell = np.arange(queries * weeks)
    place = np.concatenate((np.repeat(cell, relevant.ravel()), np.repeat(cell, others.ravel())))
    grade = np.arange(len(place)) < relevant.sum()
    time = START + place % weeks * WEEK + rng.integers(WEEK, size=len(place))
    table = pl.DataFrame(
        {
            "query_id": pl.Series(place // weeks).cast(pl.String),
            "doc_id": pl.Series(np.arange(len(place))).cast(pl.String),
            "time": time,
            "relevance": grade.astype(np.int64),
        }
    )
    runs = {}
    for name in ("one", "other"):
        sight = 1.0 + 0.7 * rng.normal(size=(queries, 1)) + effects + 0.5 * bursts
        score = rng.normal(size=len(place)) + grade * sight.ravel()[place]
        runs[name] = table.select("query_id", "doc_id", "time").with_columns(score=pl.Series(score))
    return Stream(table, runs, weeks)


def scored(of: Stream, units: str = "queries", samples: int = 999, seed: int = 0) -> Timeline:
    """The stream's timeline, week by week."""
    return timeline(
        of.qrels, of.runs, slices="7d", weight=WEIGHTS, measures="AP", units=units,
        samples=samples, seed=seed, start=f"{START}", end=f"{START + of.weeks * WEEK}",
    )  # fmt: skip


def true_scores(fixed: np.ndarray | None, queries: int, weeks: int = WEEKS) -> dict[str, float]:
    """Return the true scores by weighting: the mean of very many queries.

    ``fixed`` effects are the same weeks for all queries; otherwise every query has its own weeks.
    """
    rng = np.random.default_rng((SEED, 1))
    effects = week_effects(rng, weeks, queries) if fixed is None else fixed
    table = scored(stream(rng, effects, queries), samples=100).table
    return dict(table.group_by("weight").agg(pl.col("value").mean()).iter_rows())


class Held(NamedTuple):
    """How many intervals of scores and of differences contained the truth, by weighting.

    ``by_query`` counts the scores' intervals over queries alone. ``alarms`` counts the t-tests that
    found a difference at 5% although there is none.
    """

    scores: dict[str, float]
    by_query: dict[str, float]
    differences: dict[str, float]
    alarms: dict[str, float]


def _holding(table: pl.DataFrame, truth: dict[str, float]) -> dict[str, bool]:
    rows = table.filter(run="one").select("weight", "low", "high").iter_rows()
    return {weight: low <= truth[weight] <= high for weight, low, high in rows}


def coverage(
    units: str, streams: int, many: int = 20_000, queries: int = QUERIES, weeks: int = WEEKS
) -> Held:
    """Draw streams: over queries all in the same weeks, over both each in weeks of its own."""
    fixed = week_effects(np.random.default_rng((SEED, 2)), weeks) if units == "queries" else None
    truth = true_scores(fixed, many, weeks)
    held: list[dict[str, dict[str, bool]]] = []
    for number in range(streams):
        rng = np.random.default_rng((SEED, 3, 0, number))
        effects = week_effects(rng, weeks) if fixed is None else fixed
        found = scored(stream(rng, effects, queries), units, seed=number)
        compared = found.compare(units=units)
        held.append(
            {
                "scores": _holding(found.table, truth),
                "by_query": _holding(found.intervals("queries"), truth),
                "differences": {of.weight: of.low <= 0 <= of.high for of in compared},
                "alarms": {of.weight: of.p < 0.05 for of in compared},
            }
        )
    return Held(
        *(
            {w: float(np.mean([each[name][w] for each in held])) for w in WEIGHTS}
            for name in Held._fields
        )
    )
