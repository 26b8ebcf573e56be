"""The sign test: wins against losses."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.statistics.paired.base import Outcome, PairedTest, Sample, signed_sums
from citebed.evaluation.statistics.resampling import flip_signs


def _run(sample: Sample) -> Outcome:
    wins = int(np.sum(sample.differences > 0))
    losses = int(np.sum(sample.differences < 0))
    if sample.clustered:
        sums = signed_sums(sample, np.sign(sample.differences))
        flips = flip_signs(sums, sample.samples, sample.seed)
        note = "all flips counted" if flips.exact else f"{sample.samples} random flips"
        return Outcome(wins, flips.p_value, note)
    from scipy.special import bdtr

    p_value = min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))
    return Outcome(wins, p_value, "exact binomial")


SIGN = PairedTest(
    name="sign",
    statistic="the number of wins, queries with a difference above zero",
    assumes="independent queries; how large a difference is does not matter; zeros are left out",
    clustered=(
        "wins less losses of each cluster, and the signs of whole clusters flipped as in the "
        "permutation test"
    ),
    citation=(
        "Arbuthnott (1710); Conover (1999), Practical Nonparametric Statistics, 3.4; with clusters "
        "Canay, Romano & Shaikh (2017), Randomization Tests under an Approximate Symmetry "
        "Assumption"
    ),
    run=_run,
)
