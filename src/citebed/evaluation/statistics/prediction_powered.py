"""Means from a few human scores and many machine scores: prediction-powered inference.

People scored a random sample of the queries; a machine scored all of them. The estimate is

    θ = Σ_s W_s · ( mean of (a - λ·b) over the sample of stratum s + λ · mean of all b_s )

with human scores a, the machine's scores b of the same queries, and W_s the share of stratum s. For
any λ its expectation is the mean that people would give, however bad the machine is: what the
machine adds to the first mean, the second takes away. λ = 1 is the estimator of Angelopoulos et al.
(2023, Prediction-powered inference, Science 382); λ = 0 ignores the machine. PPI++ (Angelopoulos,
Duchi & Zrnic 2023, arXiv:2311.01453) chooses the λ of the smallest variance, Cov(a, b) / Var(b) cut
to [0, 1], and strata are those of Fisch et al. (2024, Stratified prediction-powered inference).

With a dozen queries a λ that was computed from them and applied to them makes the estimate biased
and its interval too short. So each query (or cluster) gets the λ of the others, as in
cross-validation. The variance is that of the sum of cluster residuals (`variance_of_means`), with
Student's t for the number of clusters less the number of strata.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.statistics.intervals import check_level
from citebed.evaluation.statistics.units import Floats, Integers

_LEAVE_OUT = 500  # with more units, leaving one out changes nothing


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Which queries people judged, and how these were drawn.

    ``drawn`` has the positions of the judged queries among all ``queries``. ``clusters`` and
    ``strata`` have a number per query, from 0: clusters (such as papers) are the independent units,
    and strata were sampled separately. With ``whole``, people judged every document of the drawn
    queries; then a sample of all queries has no sampling error.
    """

    queries: int
    drawn: Integers
    clusters: Integers | None = None
    strata: Integers | None = None
    whole: bool = True

    @property
    def unit(self) -> Integers:
        """The cluster of every query."""
        return np.arange(self.queries) if self.clusters is None else self.clusters

    @property
    def stratum(self) -> Integers:
        """The stratum of every query."""
        return np.zeros(self.queries, np.int64) if self.strata is None else self.strata


class PoweredMean(NamedTuple):
    """A mean with its interval, the weight λ of the machine, and the number of judged units."""

    value: float
    low: float
    high: float
    weight: float
    units: int


def powered_mean(  # noqa: PLR0913 - the figures of the formula, and what a user may choose
    human: Floats,
    machine: Floats,
    known: Floats,
    sample: Sample,
    *,
    weight: float | None = None,
    level: float = 0.95,
    generalise: bool = False,
) -> PoweredMean:
    """Estimate the mean human score of all queries.

    ``human`` and ``machine`` have the scores of the drawn queries, and ``known`` the machine's of
    all queries. ``machine`` may differ from ``known`` if it is an estimate from the documents that
    people judged, whose expectation is ``known``. ``weight`` is λ; by default it is chosen.

    The interval is about these queries: where the mean would be if people had judged all of them.
    With ``generalise`` it is about all queries like these, and includes the chance of drawing them.
    """
    check_level(level)
    stratum, unit = sample.stratum[sample.drawn], sample.unit[sample.drawn]
    sizes = np.bincount(sample.stratum)
    drawn = np.bincount(stratum, minlength=len(sizes))
    if len(human) != len(sample.drawn) or len(machine) != len(sample.drawn):
        raise CitebedError(
            f"found {len(human)} human and {len(machine)} machine scores for "
            f"{len(sample.drawn)} drawn queries: expected one of each per query."
        )
    if (drawn[sizes > 0] == 0).any():
        raise CitebedError(
            "a stratum has queries, but none that people judged. Merge it with another stratum."
        )
    share = (sizes / sample.queries / np.maximum(drawn, 1))[stratum]  # of one drawn query
    group, at = np.unique(np.stack([stratum, unit]), axis=1, return_inverse=True)
    at = np.asarray(at).reshape(-1)
    units = np.bincount(group[0], minlength=len(sizes))[group[0]].astype(np.float64)

    def residuals(scores: Floats) -> Floats:
        """Sum weighted deviations from the stratum's mean over each unit."""
        centre = np.bincount(stratum, scores, len(sizes)) / np.maximum(drawn, 1)
        sums = np.bincount(at, share * (scores - centre[stratum]), len(units))
        return sums.astype(np.float64)

    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.where(units > 1, units / (units - 1), np.nan)
    lambdas = (
        np.full(len(units), weight)
        if weight is not None
        else _tuned(residuals(human), residuals(machine), correction)
    )
    if sample.whole:  # all queries drawn are no sample: then one λ for all gives their exact mean
        lambdas = lambdas - len(human) / sample.queries * (lambdas - lambdas.mean())
    target = (np.bincount(sample.stratum, known) / np.maximum(sizes, 1))[stratum]
    scores = human - lambdas[at] * (machine - target)
    value, chosen = float(share @ scores), float(lambdas.mean()) if len(lambdas) else 0.0
    if generalise:
        variance = _population_variance(human, machine, known, sample, chosen)
    else:
        kept = 1.0 - (drawn / np.maximum(sizes, 1))[group[0]] if sample.whole else 1.0
        variance = float(np.sum(kept * correction * residuals(scores) ** 2))
        variance = max(variance, float(np.mean(kept)) * _least_variance(known, len(units)))
    freedom = len(units) - int((drawn > 0).sum())
    if freedom < 1 or math.isnan(variance):
        return PoweredMean(value, math.nan, math.nan, chosen, len(units))
    from scipy.special import stdtrit

    reach = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(variance)
    return PoweredMean(value, value - reach, value + reach, chosen, len(units))


def _tuned(human: Floats, machine: Floats, correction: Floats) -> Floats:
    """Return each unit's λ, from the other units; 0 if they do not vary."""
    left_out = correction if len(human) <= _LEAVE_OUT else 0.0
    product = human @ machine - left_out * human * machine
    square = machine @ machine - left_out * machine**2
    usable = square > 1e-12 * max(float(machine @ machine), 1e-300)
    return np.clip(np.where(usable, product / np.where(usable, square, 1.0), 0.0), 0.0, 1.0)


def _least_variance(known: Floats, units: int) -> float:
    """Return the least variance to believe, so that a judge without an error in the sample is not
    taken for one without errors: as if one more unit were wrong by a standard deviation."""
    return float(np.var(known)) / (units + 1) ** 2


def _population_variance(
    human: Floats, machine: Floats, known: Floats, sample: Sample, weight: float
) -> float:
    """Compute the variance for queries in general, from each cluster's influence on the estimate.

    The estimate is the mean of a - λ'·b over the drawn queries plus λ' times the mean of b over the
    others, with λ' = λ·(1 - n/N).
    """
    stratum, sizes = sample.stratum, np.bincount(sample.stratum)
    rest = np.ones(sample.queries, bool)
    rest[sample.drawn] = False
    drawn = sizes - np.bincount(stratum[rest], minlength=len(sizes))
    influence = np.zeros(sample.queries)
    for number in np.flatnonzero(sizes):
        weight_here = weight * (1 - drawn[number] / sizes[number])
        ours = stratum[sample.drawn] == number
        scores = (human - weight_here * machine)[ours]
        others = np.flatnonzero(rest & (stratum == number))
        own = sizes[number] / sample.queries
        influence[sample.drawn[ours]] = own * (scores - scores.mean()) / len(scores)
        if len(others):
            deviation = known[others] - known[others].mean()
            influence[others] = own * weight_here * deviation / len(others)
    sums = np.bincount(sample.unit, influence)
    judged = len(np.unique(sample.unit[sample.drawn]))
    return float(np.sum(sums**2)) * judged / (judged - 1) if judged > 1 else math.nan
