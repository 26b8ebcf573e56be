"""Confidence intervals of means over queries, with or without clusters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.resampling import (
    Resampled,
    blocks,
    check_samples,
    resample,
    thin_product,
)
from citebed.evaluation.statistics.units import (
    NEGLIGIBLE,
    Floats,
    Labels,
    Units,
    as_matrix,
    as_values,
    make_units,
    variance_of_means,
)

_NORMAL = NormalDist()
_FEW_OTHERS = 15  # fewer values that differ from the most common one do not show the spread
_WEIGHTS = 1 << 17
Bounds = tuple[float, float]


class Interval(NamedTuple):
    """Two limits, and the method that computed them.

    Both are nan for fewer than two queries (or clusters), or if all values are equal and no bounds
    are given.
    """

    low: float
    high: float
    method: str

    def through(self, function: Callable[[float], float]) -> Interval:
        """Transform the interval by an increasing function.

        ``math.exp`` turns the mean of logarithms into a geometric mean.
        """
        return Interval(function(self.low), function(self.high), self.method)

    def within(self, least: float, most: float) -> Interval:
        """Cut the interval to the possible range of the mean, such as 0 to 1; nan stays nan."""
        return Interval(
            min(max(self.low, least), most), min(max(self.high, least), most), self.method
        )


class _Column(NamedTuple):
    """One measure: its mean and standard error, its resamples, and the units it came from."""

    mean: float
    error: float
    shifts: Floats
    ratios: Floats
    residuals: Floats
    sizes: Floats


def _studentised(column: _Column, tail: float) -> Interval:
    """Bootstrap-t: quantiles of the resampled mean's shift divided by its own standard error.

    If a limit is infinite, because many resamples have no spread (nearly all values are equal, and
    have no bounds), the result is the BCa interval. Efron & Tibshirani (1993), chapter 12.5.
    """
    low, high = order_statistics(column.ratios, tail, 1 - tail)
    if math.isinf(low) or math.isinf(high):
        return _bca(column, tail)
    return Interval(
        column.mean - high * column.error, column.mean - low * column.error, "studentised"
    )


def _percentile(column: _Column, tail: float) -> Interval:
    """Quantiles of the resampled means. Efron & Tibshirani (1993), chapter 13."""
    low, high = order_statistics(column.shifts, tail, 1 - tail)
    return Interval(column.mean + low, column.mean + high, "percentile")


def _bca(column: _Column, tail: float) -> Interval:
    """Percentiles corrected for bias and acceleration, the latter by leaving out each unit.

    Efron (1987), Better Bootstrap Confidence Intervals.
    """
    shifts = column.shifts
    # A resample with the same mean as the values, up to rounding, counts as half below it.
    rounding = 1e-9 * float(np.abs(shifts).max())
    below = (np.mean(shifts < -rounding) + np.mean(shifts <= rounding)) / 2
    edge = 0.5 / len(shifts)
    bias = _NORMAL.inv_cdf(min(max(float(below), edge), 1 - edge))
    left_out = -column.residuals / (column.sizes.sum() - column.sizes)
    influence = left_out.mean() - left_out
    # A sixth of the skewness of the means that leave out one unit each.
    acceleration = float(np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5))
    corrected = (bias + _NORMAL.inv_cdf(tail), bias + _NORMAL.inv_cdf(1 - tail))
    tails = (_NORMAL.cdf(bias + z / max(1 - acceleration * z, 1e-9)) for z in corrected)
    low, high = order_statistics(shifts, *tails)
    return Interval(column.mean + low, column.mean + high, "bca")


def _student(column: _Column, tail: float) -> Interval:
    """The mean with Student's t times its standard error; G-1 degrees of freedom for G units."""
    from scipy.special import stdtrit

    reach = float(stdtrit(len(column.sizes) - 1, 1 - tail)) * column.error
    return Interval(column.mean - reach, column.mean + reach, "t")


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not 0 < level < 1:
        raise CitebedError(f"found level={level}, expected a share between 0 and 1, such as 0.95")


def order_statistics(values: Floats, *levels: float) -> list[float]:
    """Return the order statistics at some levels, without interpolation."""
    places = [min(max(math.ceil(len(values) * level), 1), len(values)) - 1 for level in levels]
    parted = np.partition(values, sorted(set(places)))
    return [float(parted[place]) for place in places]


INTERVALS: dict[str, Callable[[_Column, float], Interval]] = {
    "studentised": _studentised,
    "bca": _bca,
    "percentile": _percentile,
    "t": _student,
}
"""All kinds of interval by name, the default first."""


def mean_interval(values: ArrayLike, *, bounds: Bounds | None = None, **options: Any) -> Interval:
    """Compute an interval for the mean, given one value per query; see `mean_intervals`."""
    (interval,) = mean_intervals(as_values(values)[:, None], bounds=[bounds], **options)
    return interval


def mean_intervals(  # noqa: PLR0913 - each is one that a notebook user looks for
    matrix: ArrayLike,
    *,
    clusters: Labels | None = None,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
    method: str = "studentised",
    bounds: Sequence[Bounds | None] | None = None,
) -> list[Interval]:
    """Compute an interval for the mean of each column, with all columns resampled together.

    Rows are queries; with ``clusters`` whole clusters are resampled. The default method,
    studentised, has the right coverage for the skewed scores of few queries and for clusters of
    unequal size, where percentile and BCa intervals are too short. For a geometric mean pass
    logarithms, and transform the interval with ``Interval.through(math.exp)``.

    ``bounds`` are the lowest and the highest possible value of each column, or ``None``. With
    bounds, `bounded_interval` replaces resampling where it fails: if all values are equal, if all
    are at the bounds (0/1 scores) and, with the default method, if more than half of the values are
    equal and fewer than 15 differ.
    """
    interval_of = INTERVALS.get(method)
    if interval_of is None:
        raise UnknownName("interval", method, INTERVALS)
    check_level(level)
    check_samples(samples)
    units = make_units(as_matrix(matrix), clusters)
    if units.n_units < 2:
        return [Interval(math.nan, math.nan, method) for _ in units.sums.T]
    nothing = np.empty((0, units.sums.shape[1]))
    drawn = Resampled(nothing, nothing) if method == "t" else resample(units, samples, seed)
    tail, ends = (1 - level) / 2, bounds or [None] * units.sums.shape[1]
    intervals = []
    for column, values, between in zip(_columns(units, drawn), units.sums.T, ends, strict=True):
        own = values / units.sizes
        if between is not None and (
            not column.error
            or np.isin(own, between).all()
            or (method == "studentised" and _is_nearly_constant(own))
        ):
            given = Units(values[:, None], units.sizes)
            intervals.append(bounded_interval(given, between, tail, samples, seed))
        elif column.error:
            intervals.append(interval_of(column, tail))
        else:
            intervals.append(Interval(math.nan, math.nan, method))
    return intervals


def _is_nearly_constant(values: Floats) -> bool:
    """Return True if more than half of the values are equal and fewer than 15 differ."""
    commonest = int(np.unique(values.round(12), return_counts=True)[1].max())
    return 2 * commonest > len(values) and len(values) - commonest < _FEW_OTHERS


def bounded_interval(
    units: Units, bounds: Bounds, tail: float, samples: int = 10_000, seed: int = 0
) -> Interval:
    """Compute an interval for the mean of bounded values, for any distribution.

    The lower limit is a quantile of weighted means of the values and the lower bound, with weights
    drawn uniformly from all that sum to 1; the upper limit is analogous. The bound represents
    values that are not in the sample. For 0/1 scores this is the interval of Clopper and Pearson,
    and for n equal values c the limit is c - (c - lowest)·(1 - tail^(1/n)); both are computed
    exactly. With clusters of unequal size the bound counts as a cluster of average size.

    Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable; Learned-Miller & Thomas (2019), A New Confidence Interval for the Mean
    of a Bounded Random Variable; Clopper & Pearson (1934).
    """
    lowest, highest = bounds
    low = _lower_limit(units, lowest, tail, samples, seed)
    mirrored = Units(-units.sums, units.sizes)
    return Interval(low, -_lower_limit(mirrored, -highest, tail, samples, seed), "bounded")


def _lower_limit(units: Units, lowest: float, tail: float, samples: int, seed: int) -> float:
    values, n = units.sums[:, 0] / units.sizes, units.n_units
    others = values[values > lowest + NEGLIGIBLE * max(abs(lowest), 1.0)]
    if not len(others):
        return lowest
    if bool(np.all(units.sizes == units.sizes[0])) and np.ptp(others) <= NEGLIGIBLE:
        return lowest + (float(others[0]) - lowest) * least_share(len(others), n, tail)
    size = units.n_queries / n
    columns = np.array([[*units.sums[:, 0], lowest * size], [*units.sizes, size]]).T
    rng, means = np.random.default_rng(seed), np.empty(samples)
    for start, stop in blocks(samples, n + 1, _WEIGHTS):
        weights = rng.standard_exponential((stop - start, n + 1))
        sums = thin_product(weights, columns)
        means[start:stop] = sums[:, 0] / sums[:, 1]
    return order_statistics(means, tail)[0]


def least_share(successes: int, n: int, tail: float) -> float:
    """Return Clopper and Pearson's lower limit for a share, given the successes in n draws.

    With this share, so many successes or more have the probability ``tail``. scipy has the same
    function (``betaincinv``), but importing it takes as long as scoring a small run.
    """
    hits = np.arange(1, n + 1)
    log_ways = np.cumsum(np.log((n + 1 - hits) / hits))[successes - 1 :]
    hits = hits[successes - 1 :]
    low, high = 0.0, 1.0
    for _ in range(52):  # each halves the range; more would reach 1
        share = (low + high) / 2
        logs = log_ways + hits * math.log(share) + (n - hits) * math.log1p(-share)
        low, high = (low, share) if np.exp(logs).sum() > tail else (share, high)
    return low


def _columns(units: Units, drawn: Resampled) -> list[_Column]:
    errors = np.sqrt(variance_of_means(units))
    means, residuals = units.means, units.residuals
    return [
        _Column(
            float(means[k]),
            float(errors[k]),
            drawn.shifts[:, k],
            drawn.ratios[:, k],
            residuals[:, k],
            units.sizes,
        )
        for k in range(len(means))
    ]
