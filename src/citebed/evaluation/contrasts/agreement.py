"""How far one judgement set predicts the other: correlations of systems and of queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.evaluating import RunScores
from citebed.evaluation.statistics import kendall_tau, pearson, spearman, tau_ap
from citebed.runs.tables import Floats

SYSTEMS = "systems"
QUERIES = "queries"


@dataclass(frozen=True)
class Agreement:
    """Correlations of the same ``n`` things under two judgement sets.

    ``of`` is "systems" (by their means; ``run`` is "all") or "queries" (the scores of one
    ``run``). ``tau_ap`` takes the second set for the truth and is not symmetric; the others
    are. nan where there are fewer than two things or they all score alike.
    """

    measure: str
    of: str
    run: str
    n: int
    kendall: float
    tau_ap: float
    spearman: float
    pearson: float

    def row(self) -> dict[str, Any]:
        """As a flat row; what cannot be had is null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def is_by_query(measure: Measure) -> bool:
    """Whether a measure has scores of its own query by query.

    A geometric mean has not: GMAP's are AP's, but for their floor.
    """
    return measure.SUMMARY == "mean"


def agreements(
    measures: Sequence[Measure], before: Sequence[RunScores], after: Sequence[RunScores]
) -> list[Agreement]:
    """Per measure: of the systems, then of the queries of every run."""
    found = []
    for at, measure in enumerate(measures):
        means = [
            [measure.summary(scores.values[at]) for scores in side] for side in (before, after)
        ]
        found.append(agreement(str(measure), SYSTEMS, "all", *means))
        if is_by_query(measure):
            found += [
                agreement(str(measure), QUERIES, x.run, x.values[at], y.values[at])
                for x, y in zip(before, after, strict=True)
            ]
    return found


def agreement(
    measure: str,
    of: str,
    run: str,
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
) -> Agreement:
    """The four correlations of two lists of scores."""
    return Agreement(
        measure=measure,
        of=of,
        run=run,
        n=len(before),
        kendall=kendall_tau(before, after),
        tau_ap=tau_ap(after, before),
        spearman=spearman(before, after),
        pearson=pearson(before, after),
    )
