"""What a paired test is: a declaration, and a function from units to a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from citebed.evaluation.statistics.units import Floats, Integers, Units


class TestResult(NamedTuple):
    """The outcome of a two-sided test of no difference.

    ``statistic`` is the test's own (its declaration says which). ``n`` counts queries and
    ``n_clusters`` the clusters they are in (without clusters, the queries). ``note`` says how
    the p-value was found, or why there is none.
    """

    name: str
    statistic: float
    p_value: float
    n: int
    n_clusters: int
    note: str


class Sample(NamedTuple):
    """What a test is given: differences, their clusters by number, and how to draw."""

    differences: Floats
    codes: Integers | None
    units: Units
    samples: int
    seed: int

    @property
    def clustered(self) -> bool:
        """Whether some queries share a cluster."""
        return self.codes is not None


class Outcome(NamedTuple):
    """A statistic, its two-sided p-value, and a note."""

    statistic: float
    p_value: float
    note: str = ""


@dataclass(frozen=True)
class PairedTest:
    """One test: its name, statistic and assumptions, what it does with clusters, its source."""

    name: str
    statistic: str
    assumes: str
    clustered: str
    citation: str
    run: Callable[[Sample], Outcome]


def without_spread(sample: Sample, variance: float) -> Outcome | None:
    """The outcome where a standard error cannot be had: one unit, or no spread at all."""
    if sample.units.n_units < 2:
        unit = "cluster" if sample.clustered else "query"
        return Outcome(math.nan, math.nan, f"one {unit}: there is no spread to measure against")
    if variance == 0:
        mean = float(sample.units.means[0])
        same = (
            "all clusters have the same mean" if sample.clustered else "all differences are equal"
        )
        note = f"{same}: there is no spread to measure against"
        return Outcome(math.copysign(math.inf, mean), math.nan, note)
    return None


def signed_sums(sample: Sample, scores: Floats) -> Floats:
    """Scores of the queries (signs, signed ranks) summed over clusters."""
    if sample.codes is None:
        return scores
    return np.asarray(np.bincount(sample.codes, scores, sample.units.n_units), dtype=np.float64)
