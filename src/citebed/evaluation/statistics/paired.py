"""Paired tests; the docstring of each test states its statistic and assumptions."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import UnknownName
from citebed.evaluation.statistics.resampling import check_samples, flip_signs, resample
from citebed.evaluation.statistics.units import (
    Floats,
    Integers,
    Labels,
    Units,
    as_values,
    average_ranks,
    cluster_codes,
    make_units,
    tie_sizes,
    variance_of_means,
)


class TestResult(NamedTuple):
    """The outcome of a two-sided test of no difference.

    ``statistic`` is the test's own. ``n`` counts queries and ``n_clusters`` their clusters (without
    clusters, the queries). ``note`` says how the p-value was computed, or why it is missing.
    """

    name: str
    statistic: float
    p_value: float
    n: int
    n_clusters: int
    note: str


class Sample(NamedTuple):
    """The input of a test: differences, numbered clusters, and resampling options."""

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


def without_spread(sample: Sample, variance: float) -> Outcome | None:
    """Return the outcome for a single unit or without spread, otherwise ``None``."""
    if sample.units.n_units < 2:
        unit = "cluster" if sample.clustered else "query"
        return Outcome(math.nan, math.nan, f"one {unit}: the test statistic is undefined")
    if variance == 0:
        mean = float(sample.units.means[0])
        same = (
            "all clusters have the same mean" if sample.clustered else "all differences are equal"
        )
        note = f"{same}: the test statistic is undefined"
        return Outcome(math.copysign(math.inf, mean), math.nan, note)
    return None


def signed_sums(sample: Sample, scores: Floats) -> Floats:
    """Sum the scores of queries (signs, signed ranks) over clusters."""
    if sample.codes is None:
        return scores
    return np.asarray(np.bincount(sample.codes, scores, sample.units.n_units), dtype=np.float64)


# --- Student's t -------------------------------------------------------------------------------


def _student(sample: Sample) -> Outcome:
    """The mean difference divided by its standard error.

    Assumes independent differences with a nearly normal mean. With clusters, only these must be
    independent; the variance of the mean is G/(G-1) · Σ (S_g - n_g·m)² / N², over G clusters of n_g
    queries with sum S_g, and there are G-1 degrees of freedom.

    Student (1908), The Probable Error of a Mean; with clusters Liang & Zeger (1986) and Cameron &
    Miller (2015), A Practitioner's Guide to Cluster-Robust Inference.
    """
    units = sample.units
    variance = float(variance_of_means(units)[0]) if units.n_units > 1 else 0.0
    if (outcome := without_spread(sample, variance)) is not None:
        return outcome
    from scipy.special import stdtr

    statistic = float(units.means[0]) / sqrt(variance)
    p_value = 2 * float(stdtr(units.n_units - 1, -abs(statistic)))
    return Outcome(statistic, p_value, f"{units.n_units - 1} degrees of freedom")


# --- permutation -------------------------------------------------------------------------------


def _permutation(sample: Sample) -> Outcome:
    """The mean difference; assumes that systems are exchangeable within each query.

    The signs of a cluster's queries are flipped together.

    Fisher (1935), The Design of Experiments; Smucker, Allan & Carterette (2007), A Comparison of
    Statistical Significance Tests for Information Retrieval Evaluation; with clusters Canay,
    Romano & Shaikh (2017), Randomization Tests under an Approximate Symmetry Assumption.
    """
    flips = flip_signs(sample.units.sums[:, 0], sample.samples, sample.seed)
    return Outcome(float(sample.units.means[0]), *flips)


# --- Wilcoxon ----------------------------------------------------------------------------------


def _wilcoxon(sample: Sample) -> Outcome:
    """The smaller of the rank sums of positive and of negative differences.

    Assumes independent differences, symmetric about 0. Zeros are left out, and ties share their
    mean rank. The p-value is exact up to 50 queries (13 with zeros or ties), and above it is the
    normal approximation with tie correction. With clusters, differences are ranked over all
    queries, signed ranks are summed over each cluster, and the signs of clusters are flipped.

    Wilcoxon (1945), Individual Comparisons by Ranking Methods; with clusters Rosner, Glynn & Lee
    (2006), The Wilcoxon Signed Rank Test for Paired Comparisons of Clustered Data.
    """
    d = sample.differences
    ranks = np.zeros(len(d))
    ranks[d != 0] = average_ranks(np.abs(d[d != 0]))
    plus, minus = float(ranks[d > 0].sum()), float(ranks[d < 0].sum())
    if sample.clustered:
        flips = flip_signs(signed_sums(sample, ranks * np.sign(d)), sample.samples, sample.seed)
        return Outcome(min(plus, minus), *flips)
    ties = tie_sizes(np.abs(d[d != 0]))
    whole = bool(np.all(d != 0) and np.all(ties == 1))
    # The rule of scipy's method="auto".
    if len(d) <= 13 or (len(d) <= 50 and whole):
        return Outcome(min(plus, minus), _exact_p(plus, ranks), "exact")
    return Outcome(min(plus, minus), _normal_p(plus, ties), "normal approximation")


def _exact_p(plus: float, ranks: Floats) -> float:
    """Return twice the smaller tail over all signs of these ranks, which may be halves."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled[doubled > 0]:
        chances[rank:] += chances[: len(chances) - rank].copy()
        chances /= 2
    at = round(2 * plus)
    return min(1.0, 2 * min(float(chances[: at + 1].sum()), float(chances[at:].sum())))


def _normal_p(plus: float, ties: Floats) -> float:
    """Return the normal approximation with tie correction, without continuity correction."""
    from scipy.special import ndtr

    n = float(ties.sum())
    variance = (n * (n + 1) * (2 * n + 1) - float(np.sum(ties**3 - ties)) / 2) / 24
    return 2 * float(ndtr(-abs(plus - n * (n + 1) / 4) / sqrt(variance)))


# --- signs -------------------------------------------------------------------------------------


def _sign(sample: Sample) -> Outcome:
    """The number of wins, that is, of queries with a difference above 0, whatever its size.

    Assumes independent queries; zeros are left out. With clusters, wins minus losses are summed
    over each cluster, and the signs of clusters are flipped as in the permutation test.

    Arbuthnott (1710); Conover (1999), Practical Nonparametric Statistics, 3.4; with clusters
    Canay, Romano & Shaikh (2017), Randomization Tests under an Approximate Symmetry Assumption.
    """
    wins = int(np.sum(sample.differences > 0))
    losses = int(np.sum(sample.differences < 0))
    if sample.clustered:
        sums = signed_sums(sample, np.sign(sample.differences))
        flips = flip_signs(sums, sample.samples, sample.seed)
        return Outcome(wins, *flips)
    from scipy.special import bdtr

    p_value = min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))
    return Outcome(wins, p_value, "exact binomial")


# --- bootstrap ---------------------------------------------------------------------------------


def _bootstrap(sample: Sample) -> Outcome:
    """The mean difference divided by its standard error, compared with resamples.

    Assumes independent differences. They are shifted to a mean of 0 and resampled; each resample is
    divided by its own standard error (studentised), and one without spread counts as extreme.
    Clusters are resampled as a whole, with the standard error of the clustered t-test.

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, algorithm 16.2; Sakai (2006),
    Evaluating Evaluation Metrics Based on the Bootstrap; with clusters Cameron, Gelbach & Miller
    (2008), Bootstrap-Based Improvements for Inference with Clustered Errors.
    """
    check_samples(sample.samples)
    units = sample.units
    variance = float(variance_of_means(units)[0]) if units.n_units > 1 else 0.0
    if (outcome := without_spread(sample, variance)) is not None:
        return outcome
    statistic = float(units.means[0]) / sqrt(variance)
    # Resampled shifts from the mean are means of differences shifted to the null hypothesis.
    ratios = resample(units, sample.samples, sample.seed).ratios[:, 0]
    extreme = int(np.sum(np.abs(ratios) >= abs(statistic) * (1 - 1e-10)))
    return Outcome(statistic, (1 + extreme) / (1 + sample.samples), f"{sample.samples} resamples")


# --- all of them -----------------------------------------------------------------------------


TESTS: dict[str, Callable[[Sample], Outcome]] = {
    "t": _student,
    "permutation": _permutation,
    "wilcoxon": _wilcoxon,
    "sign": _sign,
    "bootstrap": _bootstrap,
}
"""All paired tests by name, in the order of the documentation."""


def paired_test(
    name: str,
    differences: ArrayLike,
    *,
    clusters: Labels | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> TestResult:
    """Test two-sided whether two systems differ, given the differences per query.

    ``clusters`` has the cluster of each query, such as its paper; they are ignored if each has a
    single query. The p-value is nan without queries or without the spread that a test needs, and 1
    if all differences are 0. The note explains these cases.
    """
    test = TESTS.get(name)
    if test is None:
        raise UnknownName("test", name, TESTS)
    d = as_values(differences)
    codes = None if clusters is None else cluster_codes(clusters, len(d))
    if codes is not None and codes.max(initial=0) + 1 >= len(codes):
        codes = None
    sample = Sample(d, codes, make_units(d[:, None], codes), samples, seed)
    if not len(d):
        outcome = Outcome(math.nan, math.nan, "no queries")
    else:
        outcome = test(sample) if d.any() else Outcome(0.0, 1.0, "all differences are zero")
    statistic, p_value, note = outcome
    return TestResult(name, statistic, p_value, len(d), sample.units.n_units, note)
