"""A run's scores in short: each measure's mean with its bootstrap interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.evaluating import RunScores
from citebed.evaluation.statistics import Interval, mean_intervals
from citebed.runs.tables import Floats
from citebed.wording import count

_MANY_QUERIES = 1000


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals and randomised tests draw.

    ``samples`` is 10,000 unless given, and 2,000 for intervals over more than 1,000 queries,
    where more do not change them. ``clusters`` gives the cluster of each query: whole clusters
    are drawn then.
    """

    samples: int | None = None
    seed: int = 0
    level: float = 0.95
    clusters: Mapping[str, str] | None = None

    def labels(self, query_ids: list[str]) -> list[str] | None:
        """The cluster of each of these queries."""
        if self.clusters is None:
            return None
        missing = [query for query in query_ids if query not in self.clusters]
        if missing:
            raise CitebedError(
                f"{len(missing):,} of {count(len(query_ids), 'query')} "
                f"{'has' if len(missing) == 1 else 'have'} no cluster, "
                f"'{missing[0]}' for one. Every query needs one."
            )
        return [self.clusters[query] for query in query_ids]

    def draws(self, queries: int) -> int:
        """How many resamples an interval over so many queries takes."""
        return self.samples or (10_000 if queries <= _MANY_QUERIES else 2_000)


@dataclass(frozen=True)
class Summary:
    """A measure's mean over queries and the limits of its interval (nan where there is none)."""

    measure: Measure
    value: float
    low: float
    high: float

    def row(self, run: str) -> dict[str, Any]:
        """As a flat row, with ``query_id`` "all"."""
        limits = {
            name: None if math.isnan(x) else x
            for name, x in (("low", self.low), ("high", self.high))
        }
        return {
            "run": run, "measure": str(self.measure), "query_id": "all", "value": self.value,
            **limits,
        }  # fmt: skip


def summarise(scores: RunScores, resampling: Resampling | None) -> list[Summary]:
    """Each measure's summary; without intervals if there is no resampling."""
    found = [measure.summary(row) for measure, row in _pairs(scores)]
    intervals = [Interval(math.nan, math.nan, "")] * len(found)
    averaged = [at for at, measure in enumerate(scores.measures) if measure.SUMMARY != "sum"]
    if resampling is not None and averaged:
        matrix = np.stack([_scale(*_pairs(scores)[at]) for at in averaged], axis=1)
        drawn = mean_intervals(
            matrix,
            clusters=resampling.labels(scores.query_ids.to_list()),
            level=resampling.level,
            samples=resampling.draws(len(matrix)),
            seed=resampling.seed,
        )
        for at, interval in zip(averaged, drawn, strict=True):
            intervals[at] = _back(scores.measures[at], interval)
    return [
        Summary(measure, value, interval.low, interval.high)
        for measure, value, interval in zip(scores.measures, found, intervals, strict=True)
    ]


def _pairs(scores: RunScores) -> list[tuple[Measure, Floats]]:
    return list(zip(scores.measures, scores.values, strict=True))


def _scale(measure: Measure, values: Floats) -> Floats:
    return np.log(values) if measure.SUMMARY == "geometric mean" else values


def _back(measure: Measure, interval: Interval) -> Interval:
    if measure.SUMMARY == "geometric mean":
        interval = interval.through(math.exp)
    return interval.within(*measure.RANGE)
