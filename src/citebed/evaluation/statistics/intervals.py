"""Confidence intervals of means over queries, with or without clusters."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.resampling import Resampled, check_samples, resample
from citebed.evaluation.statistics.units import (
    Floats,
    Labels,
    Units,
    as_matrix,
    as_values,
    units_of,
    variance_of_means,
)

_NORMAL = NormalDist()


class Interval(NamedTuple):
    """Two limits, and the method that gave them.

    Both are nan where there are fewer than two queries (or clusters), and the mean itself where
    all queries have the same value.
    """

    low: float
    high: float
    method: str

    def through(self, function: Callable[[float], float]) -> Interval:
        """The interval on another scale: ``math.exp`` brings the mean of logarithms back to a
        geometric mean. The function must be increasing."""
        return Interval(function(self.low), function(self.high), self.method)

    def within(self, least: float, most: float) -> Interval:
        """The interval cut to where the mean can be, such as 0 to 1; nan stays nan."""
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
    """Bootstrap-t: quantiles of the resampled mean's shift over its own standard error.

    Where so many resamples have no spread that a limit is infinite (nearly all queries have the
    same value), BCa's interval is given, and named. Efron & Tibshirani (1993), chapter 12.5.
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
    # A resample with the very mean of the values is half below it, rounding apart.
    rounding = 1e-9 * float(np.abs(shifts).max())
    below = (np.mean(shifts < -rounding) + np.mean(shifts <= rounding)) / 2
    edge = 0.5 / len(shifts)
    bias = _NORMAL.inv_cdf(min(max(float(below), edge), 1 - edge))
    acceleration = _acceleration(column.residuals, column.sizes)
    corrected = (bias + _NORMAL.inv_cdf(tail), bias + _NORMAL.inv_cdf(1 - tail))
    tails = (_NORMAL.cdf(bias + z / max(1 - acceleration * z, 1e-9)) for z in corrected)
    low, high = order_statistics(shifts, *tails)
    return Interval(column.mean + low, column.mean + high, "bca")


def _acceleration(residuals: Floats, sizes: Floats) -> float:
    """A sixth of the skewness of the means that leave out one unit each."""
    left_out = -residuals / (sizes.sum() - sizes)
    influence = left_out.mean() - left_out
    return float(np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5))


def _student(column: _Column, tail: float) -> Interval:
    """The mean with Student's t times its standard error; G-1 degrees of freedom for G units."""
    from scipy.special import stdtrit

    reach = float(stdtrit(len(column.sizes) - 1, 1 - tail)) * column.error
    return Interval(column.mean - reach, column.mean + reach, "t")


def check_level(level: float) -> None:
    """Refuse a level that is no share."""
    if not 0 < level < 1:
        raise CitebedError(f"found level={level}, expected a share between 0 and 1, such as 0.95")


def order_statistics(values: Floats, *levels: float) -> list[float]:
    """The order statistics at some levels: values that were drawn, never between two."""
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


def mean_interval(
    values: ArrayLike,
    *,
    clusters: Labels | None = None,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
    method: str = "studentised",
) -> Interval:
    """An interval for the mean of which these values, one a query, are a sample.

    See ``mean_intervals``.
    """
    column = as_values(values)[:, None]
    (interval,) = mean_intervals(
        column, clusters=clusters, level=level, samples=samples, seed=seed, method=method
    )
    return interval


def mean_intervals(
    matrix: ArrayLike,
    *,
    clusters: Labels | None = None,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
    method: str = "studentised",
) -> list[Interval]:
    """An interval for the mean of each column, all columns resampled together.

    Rows are queries; with ``clusters`` whole clusters are resampled. The default, studentised,
    covers what it says for the skewed scores of few queries and for clusters of unequal size,
    where percentile and BCa intervals are too short. A geometric mean is the mean of logarithms:
    give those, and bring the limits back with ``Interval.through(math.exp)``.
    """
    interval_of = INTERVALS.get(method)
    if interval_of is None:
        raise UnknownName("interval", method, INTERVALS)
    check_level(level)
    check_samples(samples)
    units = units_of(as_matrix(matrix), clusters)
    if units.n_units < 2:
        return [Interval(math.nan, math.nan, method) for _ in units.sums.T]
    nothing = np.empty((0, units.sums.shape[1]))
    drawn = Resampled(nothing, nothing) if method == "t" else resample(units, samples, seed)
    return [
        interval_of(column, (1 - level) / 2)
        if column.error
        else Interval(column.mean, column.mean, method)
        for column in _columns(units, drawn)
    ]


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
