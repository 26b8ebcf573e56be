"""Wilcoxon's signed-rank test."""

from __future__ import annotations

from math import sqrt

import numpy as np

from citebed.evaluation.statistics.paired.base import Outcome, PairedTest, Sample, signed_sums
from citebed.evaluation.statistics.ranks import average_ranks, tie_sizes
from citebed.evaluation.statistics.resampling import flip_signs
from citebed.evaluation.statistics.units import Floats


def _run(sample: Sample) -> Outcome:
    d = sample.differences
    ranks = np.zeros(len(d))
    ranks[d != 0] = average_ranks(np.abs(d[d != 0]))
    plus, minus = float(ranks[d > 0].sum()), float(ranks[d < 0].sum())
    if sample.clustered:
        flips = flip_signs(signed_sums(sample, ranks * np.sign(d)), sample.samples, sample.seed)
        note = "all flips counted" if flips.exact else f"{sample.samples} random flips"
        return Outcome(min(plus, minus), flips.p_value, note)
    ties = tie_sizes(np.abs(d[d != 0]))
    whole = bool(np.all(d != 0) and np.all(ties == 1))
    # The rule of scipy's method="auto".
    if len(d) <= 13 or (len(d) <= 50 and whole):
        return Outcome(min(plus, minus), _exact(plus, ranks), "exact")
    return Outcome(min(plus, minus), _normal(plus, ties), "normal approximation")


def _exact(plus: float, ranks: Floats) -> float:
    """Twice the smaller tail among all signs of these ranks, which may be halves."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled[doubled > 0]:
        chances[rank:] += chances[: len(chances) - rank].copy()
        chances /= 2
    at = round(2 * plus)
    return min(1.0, 2 * min(float(chances[: at + 1].sum()), float(chances[at:].sum())))


def _normal(plus: float, ties: Floats) -> float:
    """The normal approximation, its variance corrected for ties, without continuity correction."""
    from scipy.special import ndtr

    n = float(ties.sum())
    variance = (n * (n + 1) * (2 * n + 1) - float(np.sum(ties**3 - ties)) / 2) / 24
    return 2 * float(ndtr(-abs(plus - n * (n + 1) / 4) / sqrt(variance)))


WILCOXON = PairedTest(
    name="wilcoxon",
    statistic="the smaller of the rank sums of positive and of negative differences",
    assumes=(
        "independent differences, symmetric about zero; zeros are left out, ties share their mean "
        "rank; exact up to 50 queries, or 13 where there are zeros or ties, else the normal "
        "approximation with tie correction"
    ),
    clustered=(
        "differences are ranked over all queries, signed ranks summed over each cluster, and the "
        "signs of whole clusters flipped"
    ),
    citation=(
        "Wilcoxon (1945), Individual Comparisons by Ranking Methods; with clusters Rosner, Glynn "
        "& Lee (2006), The Wilcoxon Signed Rank Test for Paired Comparisons of Clustered Data"
    ),
    run=_run,
)
