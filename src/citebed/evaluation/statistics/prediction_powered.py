"""Means from a few human scores and many machine scores: prediction-powered inference.

People scored a random sample of the queries; a machine scored all of them. The estimate is

    θ = Σ_s W_s · ( mean of (a - λ·b) over the sample of stratum s + λ · mean of all b_s )

with human scores a, the machine's scores b of the same queries, and W_s the share of stratum s. For
any λ its expectation is the mean that people would give, however bad the machine is. PPI++
(Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453) chooses the λ of the smallest variance, Cov(a,
b) / Var(b) cut to [0, 1]; strata are those of Fisch et al. (2024). Here each query (or cluster)
gets the λ of the others: one λ from a dozen queries that is applied to the same queries makes the
estimate biased and its interval too short. The variance is that of the sum of cluster residuals,
with Student's t. The half width is at least the effect of as many errors as Jeffreys' interval for
a count allows if none was found (Brown, Cai & DasGupta 2003, Interval estimation in exponential
families): a sample without an error does not show that there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.statistics.intervals import check_level
from citebed.evaluation.statistics.units import Floats, Integers, Labels, cluster_codes


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Which queries people judged, and how these were drawn.

    ``drawn`` has the positions of the judged queries among all ``queries``. ``clusters`` and
    ``strata`` have a label per query: clusters (such as papers) are the independent units, and
    strata were sampled separately. With ``whole``, people judged every document of the drawn
    queries; then a sample of all queries has no sampling error.
    """

    queries: int
    drawn: Integers
    clusters: Labels | None = None
    strata: Labels | None = None
    whole: bool = True


class PoweredMean(NamedTuple):
    """A mean with its interval, the weight λ of the machine, and the number of judged units."""

    value: float
    low: float
    high: float
    weight: float
    units: int


def powered_mean(  # noqa: PLR0913 - the figures of the formula, and what a user may choose
    human: Floats, machine: Floats, known: Floats, sample: Sample, *,
    weight: float | None = None, error: float = 0.0, level: float = 0.95, generalise: bool = False,
) -> PoweredMean:  # fmt: skip
    """Estimate the mean human score of all queries.

    ``human`` and ``machine`` have the scores of the drawn queries, and ``known`` the machine's of
    all queries. ``machine`` may differ from ``known`` if it is an estimate from the documents that
    people judged, whose expectation is ``known``. ``weight`` is λ; by default it is chosen.
    ``error`` is the mean square of what one error of the machine adds to a query's score.

    The interval is about these queries: where the mean would be if people had judged all of them.
    With ``generalise`` it is about all queries like these, and includes the chance of drawing them.
    """
    check_level(level)
    queries, chosen = sample.queries, sample.drawn
    if not len(human) == len(machine) == len(chosen):
        raise CitebedError(
            f"found {len(human)} human and {len(machine)} machine scores for "
            f"{len(chosen)} drawn queries: expected one of each per query."
        )
    every = np.arange(queries)
    strata = cluster_codes(0 * every if sample.strata is None else sample.strata, queries)
    clusters = cluster_codes(every if sample.clusters is None else sample.clusters, queries)
    stratum, sizes = strata[chosen], np.bincount(strata)
    drawn = np.bincount(stratum, minlength=len(sizes))
    if not drawn.all():
        raise CitebedError(
            "a stratum has queries, but none that people judged. Merge it with another stratum."
        )
    share = (sizes / queries / drawn)[stratum]  # of each drawn query in the estimate
    # The independent units are the clusters of each stratum.
    units, at = np.unique(stratum * queries + clusters[chosen], return_inverse=True)
    of = units // queries
    number = np.bincount(of)[of]
    correction = np.where(number > 1, number / np.maximum(number - 1, 1), np.nan)

    def residuals(scores: Floats) -> Floats:
        """Sum weighted deviations from the stratum's mean over each unit."""
        return np.bincount(at, share * _centred(scores, stratum)).astype(np.float64)

    if weight is None:
        lambdas = _choose_weights(residuals(human), residuals(machine), correction)
    else:
        lambdas = np.full(len(units), weight)
    mean_weight = float(lambdas.mean())
    if sample.whole:  # all queries drawn are no sample: then one λ for all gives their exact mean
        lambdas = lambdas - len(chosen) / queries * (lambdas - mean_weight)
    target = (np.bincount(strata, known) / sizes)[stratum]
    scores = human - lambdas[at] * (machine - target)
    value, freedom = float(share @ scores), len(units) - len(sizes)
    if freedom < 1:
        return PoweredMean(value, math.nan, math.nan, mean_weight, len(units))
    rest = 1 - drawn / sizes  # the share of each stratum that was not drawn
    kept = rest[of] if sample.whole and not generalise else np.ones(len(units))
    if generalise:
        # The estimate is the mean of a - λ'·b over the drawn queries plus λ' times the mean of b
        # over the others, with λ' = λ·(1 - n/N); each query has an influence on it.
        others = np.delete(every, chosen)
        influence = np.empty(queries)
        influence[chosen] = share * _centred(human - mean_weight * rest[stratum] * machine, stratum)
        influence[others] = mean_weight / queries * _centred(known[others], strata[others])
        judged = len(np.unique(clusters[chosen]))
        variance = float(np.sum(np.bincount(clusters, influence) ** 2)) * judged / (judged - 1)
    else:
        variance = float(np.sum(kept * correction * residuals(scores) ** 2))
    from scipy.special import chdtri, stdtrit

    tail = (1 - level) / 2
    # Jeffreys' upper limit of the number of errors if none was found: 2.5 for 95 %.
    errors = float(chdtri(1, tail)) / 2
    reach = max(
        float(stdtrit(freedom, 1 - tail)) * math.sqrt(variance),
        errors * math.sqrt(error * float(np.mean(kept))) / len(chosen),
    )
    return PoweredMean(value, value - reach, value + reach, mean_weight, len(units))


def _centred(values: Floats, stratum: Integers) -> Floats:
    """Return the deviations from the mean of each stratum."""
    means = np.bincount(stratum, values) / np.maximum(np.bincount(stratum), 1)
    return np.asarray(values - means[stratum])


def _choose_weights(human: Floats, machine: Floats, correction: Floats) -> Floats:
    """Return each unit's λ, from the residuals of the other units; 0 if they do not vary."""
    total = float(machine @ machine)
    product = human @ machine - correction * human * machine
    square = total - correction * machine**2
    usable = square > 1e-12 * max(total, 1e-300)
    return np.clip(np.where(usable, product / np.where(usable, square, 1.0), 0.0), 0.0, 1.0)
