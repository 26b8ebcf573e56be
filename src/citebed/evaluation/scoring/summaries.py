"""A run's scores in short: each measure's mean with its bootstrap interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.run_scores import RunScores
from citebed.evaluation.statistics import Interval, mean_intervals
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

    def __str__(self) -> str:
        """``0.2950 [0.2571, 0.3336]``; counts as whole numbers."""
        if self.measure.SUMMARY == "sum":
            return f"{self.value:.0f}"
        limits = "" if math.isnan(self.low) else f" [{self.low:.4f}, {self.high:.4f}]"
        return f"{self.value:.4f}{limits}"

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


def resampling_of(
    cluster: Mapping[str, str] | str | Path | None,
    qrels: Path | None = None,
    queries: Path | None = None,
    samples: int | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> Resampling:
    """How intervals and randomised tests draw; ``cluster`` is what `clusters_of` takes."""
    clusters = None
    if cluster is not None:
        from citebed.evaluation.judgements.clusters import clusters_of

        clusters = clusters_of(cluster, queries, qrels)
    return Resampling(samples=samples, seed=seed, level=level, clusters=clusters)


def summarise(scores: RunScores, resampling: Resampling | None) -> list[Summary]:
    """Each measure's summary; without intervals if there is no resampling."""
    measures, values = scores.measures, scores.values
    intervals = [Interval(math.nan, math.nan, "")] * len(measures)
    averaged = [at for at, measure in enumerate(measures) if measure.SUMMARY != "sum"]
    if resampling is not None and averaged:
        matrix = np.stack([measures[at].scaled(values[at]) for at in averaged], axis=1)
        drawn = mean_intervals(
            matrix,
            clusters=resampling.labels(scores.query_ids.to_list()),
            level=resampling.level,
            samples=resampling.draws(len(matrix)),
            seed=resampling.seed,
        )
        for at, interval in zip(averaged, drawn, strict=True):
            intervals[at] = _back(measures[at], interval)
    return [
        Summary(measure, measure.summary(row), interval.low, interval.high)
        for measure, row, interval in zip(measures, values, intervals, strict=True)
    ]


def _back(measure: Measure, interval: Interval) -> Interval:
    if measure.SUMMARY == "geometric mean":
        interval = interval.through(math.exp)
    return interval.within(*measure.RANGE)
