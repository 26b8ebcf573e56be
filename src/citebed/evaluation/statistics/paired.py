"""Paired tests: a function each from units to a result, which says what it assumes."""

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


# --- Student's t -------------------------------------------------------------------------------


def _student(sample: Sample) -> Outcome:
    """The mean difference divided by its standard error.

    Differences are independent, with a mean that is near to normal. With clusters the variance of
    the mean is G/(G-1) · Σ (S_g - n_g·m)² / N², over G clusters of n_g queries with sum S_g, and
    there are G-1 degrees of freedom; clusters, not queries, are independent.

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
    """The mean difference: which system gave which score is a matter of chance, query by query.

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

    Differences are independent, and symmetric about zero; zeros are left out, ties share their
    mean rank. Exact up to 50 queries, or 13 where there are zeros or ties, else the normal
    approximation with tie correction. With clusters differences are ranked over all queries,
    signed ranks summed over each cluster, and the signs of whole clusters flipped.

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
    """Twice the smaller tail among all signs of these ranks, which may be halves."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled[doubled > 0]:
        chances[rank:] += chances[: len(chances) - rank].copy()
        chances /= 2
    at = round(2 * plus)
    return min(1.0, 2 * min(float(chances[: at + 1].sum()), float(chances[at:].sum())))


def _normal_p(plus: float, ties: Floats) -> float:
    """The normal approximation, its variance corrected for ties, without continuity correction."""
    from scipy.special import ndtr

    n = float(ties.sum())
    variance = (n * (n + 1) * (2 * n + 1) - float(np.sum(ties**3 - ties)) / 2) / 24
    return 2 * float(ndtr(-abs(plus - n * (n + 1) / 4) / sqrt(variance)))


# --- signs -------------------------------------------------------------------------------------


def _sign(sample: Sample) -> Outcome:
    """The number of wins, queries with a difference above zero; how large it is does not matter.

    Queries are independent; zeros are left out. With clusters wins less losses of each, and the
    signs of whole clusters flipped as in the permutation test.

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
    """The mean difference divided by its standard error, among resamples.

    Independent differences stand for those of all queries; they are shifted to a mean of zero and
    resampled, each resample with its own standard error (studentised); one without spread counts
    as extreme. Whole clusters are resampled, with the standard error of the clustered t-test.

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
"""All paired tests by name, in the order in which they are explained."""


def paired_test(
    name: str,
    differences: ArrayLike,
    *,
    clusters: Labels | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> TestResult:
    """A two-sided test that two systems do not differ, from their differences query by query.

    ``clusters`` names the cluster of each query (the paper it was taken from); clusters that
    all hold one query are no clusters. No queries, or a single one where a spread is needed, or
    differences all equal give a p-value of nan; differences all zero give 1. The note says why.
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
