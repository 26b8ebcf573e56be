"""The bootstrap test: the mean difference resampled where there is none."""

from __future__ import annotations

from math import sqrt

import numpy as np

from citebed.evaluation.statistics.paired.base import (
    Outcome,
    PairedTest,
    Sample,
    without_spread,
)
from citebed.evaluation.statistics.resampling import check_samples, resample
from citebed.evaluation.statistics.units import variance_of_means


def _run(sample: Sample) -> Outcome:
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


BOOTSTRAP = PairedTest(
    name="bootstrap",
    statistic="the mean difference divided by its standard error",
    assumes=(
        "independent differences that stand for those of all queries; they are shifted to a mean "
        "of zero and resampled, each resample with its own standard error (studentised); one "
        "without spread counts as extreme"
    ),
    clustered="whole clusters are resampled, with the standard error of the clustered t-test",
    citation=(
        "Efron & Tibshirani (1993), An Introduction to the Bootstrap, algorithm 16.2; Sakai "
        "(2006), Evaluating Evaluation Metrics Based on the Bootstrap; with clusters Cameron, "
        "Gelbach & Miller (2008), Bootstrap-Based Improvements for Inference with Clustered Errors"
    ),
    run=_run,
)
