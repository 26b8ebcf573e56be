"""Student's paired t-test."""

from __future__ import annotations

from math import sqrt

from citebed.evaluation.statistics.paired.base import (
    Outcome,
    PairedTest,
    Sample,
    without_spread,
)
from citebed.evaluation.statistics.units import variance_of_means


def _run(sample: Sample) -> Outcome:
    units = sample.units
    variance = float(variance_of_means(units)[0]) if units.n_units > 1 else 0.0
    if (outcome := without_spread(sample, variance)) is not None:
        return outcome
    from scipy.special import stdtr

    statistic = float(units.means[0]) / sqrt(variance)
    p_value = 2 * float(stdtr(units.n_units - 1, -abs(statistic)))
    return Outcome(statistic, p_value, f"{units.n_units - 1} degrees of freedom")


STUDENT = PairedTest(
    name="t",
    statistic="the mean difference divided by its standard error",
    assumes="differences that are independent, with a mean that is near to normal",
    clustered=(
        "the variance of the mean is G/(G-1) · Σ (S_g - n_g·m)² / N², over G clusters of n_g "
        "queries with sum S_g, and there are G-1 degrees of freedom; clusters, not queries, are "
        "independent"
    ),
    citation=(
        "Student (1908), The Probable Error of a Mean; with clusters Liang & Zeger (1986) and "
        "Cameron & Miller (2015), A Practitioner's Guide to Cluster-Robust Inference"
    ),
    run=_run,
)
