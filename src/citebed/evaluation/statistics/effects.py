"""Effect sizes, the influence of clusters, and the smallest detectable difference."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.evaluation.statistics.units import (
    Floats,
    Labels,
    as_values,
    cluster_codes,
    make_units,
    variance_of_means,
)


class Effect(NamedTuple):
    """A difference between two systems: mean, standardised size, and wins, ties and losses.

    ``standardised`` is nan for fewer than two queries or without spread.
    """

    mean: float
    standardised: float
    wins: int
    ties: int
    losses: int


_TOLERANCE = 1e-12
"""Smaller differences are ties."""
_ALPHA, _POWER = 0.05, 0.8


def effect(differences: ArrayLike, *, clusters: Labels | None = None) -> Effect:
    """Compute the size of a difference from the differences per query.

    The standardised size is Hedges' g for paired data: the mean divided by the standard deviation
    of the differences (Cohen's d_z), times the small-sample correction Γ(f/2) / (√(f/2)·Γ((f-1)/2))
    with f = n-1 degrees of freedom, which is 0 for f = 1.
    With clusters, the standard deviation is √(variance between + variance within clusters) from
    the analysis of variance, and there are G-1 degrees of freedom.

    Cohen (1988), Statistical Power Analysis; Hedges (1981), Distribution Theory for Glass's
    Estimator of Effect Size; Hedges (2007), Effect Sizes in Cluster-Randomized Designs.
    """
    d = as_values(differences)
    mean = float(d.mean()) if len(d) else math.nan
    wins, losses = int(np.sum(d > _TOLERANCE)), int(np.sum(d < -_TOLERANCE))
    size, degrees = math.nan, make_units(d[:, None], clusters).n_units - 1
    if degrees > 0 and variance_of_means(make_units(d[:, None], None))[0] != 0:
        deviation = float(d.std(ddof=1))
        if clusters is not None and degrees < len(d) - 1:
            between, within = _components(d, clusters)
            deviation = math.sqrt(max(between, 0.0) + within)
        correction, half = 0.0, degrees / 2
        if degrees > 1:
            correction = math.exp(math.lgamma(half) - math.lgamma(half - 0.5)) / math.sqrt(half)
        size = mean / deviation * correction if deviation else math.nan
    return Effect(mean, size, wins, len(d) - wins - losses, losses)


# --- Clusters -------------------------------------------------------------------------------


def intraclass_correlation(values: ArrayLike, clusters: Labels) -> float:
    """Estimate the correlation between two queries of one cluster.

    1 means that a cluster is worth a single query; nan that it cannot be estimated. This is the
    analysis-of-variance estimator for unequal sizes, (B - W) / (B + (n₀ - 1)·W) with the mean
    squares B between and W within clusters and n₀ = (N - Σn²/N) / (G - 1).

    Donner (1986), A Review of Inference Procedures for the Intraclass Correlation Coefficient.
    """
    v = as_values(values)
    if not 1 < len(np.bincount(cluster_codes(clusters, len(v)))) < len(v):
        return math.nan
    between, within = _components(v, clusters)
    total = between + within
    return between / total if total > 0 else math.nan


def design_effect(values: ArrayLike, clusters: Labels) -> float:
    """Return the factor by which clusters increase the variance of the mean of N queries.

    It is 1 + (Σn²/N - 1)·correlation: the mean is worth that of N queries divided by it. A negative
    correlation, which is due to chance, counts as 0. Kish (1965), Survey Sampling.
    """
    sizes = np.bincount(cluster_codes(clusters, len(as_values(values))))
    correlation = intraclass_correlation(values, clusters)
    if math.isnan(correlation):
        return 1.0
    return 1 + (float(np.square(sizes).sum()) / int(sizes.sum()) - 1) * max(correlation, 0.0)


def _components(v: Floats, clusters: Labels) -> tuple[float, float]:
    """Return the variances between clusters (may be negative) and within, by one-way ANOVA.

    There must be several clusters, and more queries than clusters.
    """
    units = make_units(v[:, None], clusters)
    sums, sizes = units.sums[:, 0], units.sizes
    count, n = units.n_units, units.n_queries
    between = float(np.sum((sums / sizes - v.mean()) ** 2 * sizes)) / (count - 1)
    rest = v - (sums / sizes)[cluster_codes(clusters, len(v))]
    within = float(np.sum(rest**2)) / (n - count)
    usual = (n - float(np.sum(sizes**2)) / n) / (count - 1)
    return (between - within) / usual, within


# --- Power ----------------------------------------------------------------------------------


def smallest_effect(differences: ArrayLike, *, clusters: Labels | None = None) -> float:
    """Return the smallest mean difference that this many queries with this spread can show.

    A two-sided t-test at the 5 % level detects a true difference of this size with 80 % probability
    (power). It is the (clustered) standard error of the mean times the required noncentrality of
    Student's t with G-1 degrees of freedom. It is nan for fewer than two queries or clusters, and 0
    without spread.

    Cohen (1988), Statistical Power Analysis; Webber, Moffat & Zobel (2008), Statistical Power in
    Retrieval Experimentation.
    """
    units = make_units(as_values(differences)[:, None], clusters)
    if units.n_units < 2:
        return math.nan
    error = math.sqrt(float(variance_of_means(units)[0]))
    return error * noncentrality(units.n_units - 1) if error else 0.0


@lru_cache
def noncentrality(degrees: int) -> float:
    """Find, by bisection, the noncentrality at which a two-sided t-test (5 %) has 80 % power.

    T is (Z + noncentrality) / s with Z normal and s² a χ² divided by its degrees of freedom. The
    power is integrated over s, because scipy's noncentral t loses precision, and statsmodels'
    search fails to converge, for few degrees of freedom.
    """
    from scipy.special import ndtr, stdtrit

    bound = float(stdtrit(degrees, 1 - _ALPHA / 2))
    # Points of √(χ²/f) with weights, for integrals to nine digits.
    reach = 12 / math.sqrt(2 * degrees)
    start, end = max(0.0, 1 - reach), 1 + reach
    s = start + (np.arange(20_000) + 0.5) * (end - start) / 20_000
    heights = (degrees - 1) * np.log(s) - degrees * s**2 / 2
    weights = np.exp(heights - heights.max())
    weights /= weights.sum()

    def reached(shift: float) -> bool:
        return bool(weights @ (ndtr(shift - bound * s) + ndtr(-shift - bound * s)) >= _POWER)

    low, high = 0.0, 1.0
    while not reached(high):
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
