"""Trends of a system's slice scores, and the stability of rankings of systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from citebed.evaluation.statistics.correlations import kendall_tau
from citebed.evaluation.statistics.intervals import Interval
from citebed.evaluation.statistics.units import average_ranks
from citebed.runs.tables import Floats
from citebed.runs.times import DAY

_NORMAL = NormalDist()
_CELLS = 1 << 20
_MOST_POINTS = 250
UNITS = {"day": DAY, "week": 7 * DAY, "month": 30.4375 * DAY, "year": 365.25 * DAY}


class MannKendall(NamedTuple):
    """S, its variance with tie correction, Z with continuity correction, and the two-sided p."""

    s: int
    variance: float
    z: float
    p: float


@dataclass(frozen=True)
class Trend:
    """The trend of a series of slice scores; nan if there are too few slices.

    ``slope`` is the Theil-Sen slope per ``unit`` of time, with its interval at ``level``. ``test``
    is corrected by the factor ``correction`` for correlated neighbouring slices. ``first`` and
    ``last`` are the values of the trend line at the first and last slice, which may be below every
    score. ``drop`` is the loss between them as a share of the first (nan if the line starts at 0,
    or goes below 0 though no score does).
    """

    slices: int
    unit: str
    slope: float
    low: float
    high: float
    level: float
    test: MannKendall
    correction: float
    first: float
    last: float
    drop: float

    def significant(self, alpha: float = 0.05) -> bool:
        """Return True if the Mann-Kendall test finds a trend."""
        return self.test.p < alpha

    def row(self, run: str, measure: str, alpha: float) -> dict[str, Any]:
        """Return a flat row, with ``None`` for unknown values."""
        known = {
            "slope": self.slope, "low": self.low, "high": self.high,
            "s": math.nan if math.isnan(self.test.p) else self.test.s, "z": self.test.z,
            "p": self.test.p, "significant": self.significant(alpha),
            "first": self.first, "last": self.last, "drop": self.drop,
        }  # fmt: skip
        numbers = {name: None if math.isnan(value) else value for name, value in known.items()}
        about = {"run": run, "measure": measure, "slices": self.slices, "unit": self.unit}
        return {**about, **numbers}


def mann_kendall(values: Sequence[float] | Floats, correction: float = 1.0) -> MannKendall:
    """Test for a trend of values in order of time, up or down, by Mann-Kendall.

    S = Σ_{i<j} sign(x_j - x_i); Var S = (n(n-1)(2n+5) - Σ t(t-1)(2t+5)) / 18 over groups of t
    equal values, times ``correction`` (`serial_correction`). The normal approximation is good from
    ten values on. The result is nan for fewer than three values.
    Mann (1945), Nonparametric Tests Against Trend; Kendall (1975), Rank Correlation Methods.
    """
    x = np.asarray(values, np.float64)
    n = len(x)
    if n < 3:
        return MannKendall(0, math.nan, math.nan, math.nan)
    before, after = np.triu_indices(n, 1)
    s = int(np.sign(x[after] - x[before]).sum())
    sizes = np.unique(x, return_counts=True)[1].astype(np.float64)
    ties = float((sizes * (sizes - 1) * (2 * sizes + 5)).sum())
    variance = correction * (n * (n - 1) * (2 * n + 5) - ties) / 18
    z = (s - (s > 0) + (s < 0)) / math.sqrt(variance) if variance else 0.0
    return MannKendall(s, variance, z, min(1.0, 2 * _NORMAL.cdf(-abs(z))))


def serial_correction(x: Floats, y: Floats) -> float:
    """Return the factor (at least 1) by which autocorrelation increases the variance of S.

    1 + 2/(n(n-1)(n-2)) · Σ_k (n-k)(n-k-1)(n-k-2)·ρ(k), ρ(k) the autocorrelation at lag k of the
    ranks of the values less their trend, over the first lags at which it is significantly positive
    (above 1.96/√n). Bursts of several slices make neighbours similar, and the uncorrected test then
    finds false trends. Hamed & Rao (1998), A modified Mann-Kendall trend test for autocorrelated
    data.
    """
    n = len(y)
    if n < 5:
        return 1.0
    ranks = average_ranks(y - theil_sen(x, y) * x)
    ranks = ranks - ranks.mean()
    total, spread = 0.0, float(ranks @ ranks)
    for k in range(1, n - 2):
        alike = float(ranks[:-k] @ ranks[k:]) / spread if spread else 0.0
        if alike <= 1.96 / math.sqrt(n):
            break
        total += (n - k) * (n - k - 1) * (n - k - 2) * alike
    return 1 + 2 * total / (n * (n - 1) * (n - 2))


def theil_sen(x: Floats, y: Floats) -> float:
    """Return the median of the slopes between all pairs of points; nan for fewer than two."""
    return float(_slopes(x, np.asarray(y, np.float64)[None, :])[0]) if len(x) > 1 else math.nan


def _slopes(x: Floats, series: Floats) -> Floats:
    """Return the Theil-Sen slope of each row."""
    n = len(x)
    pairs = n * (n - 1) // 2
    ends = np.cumsum(np.arange(n - 1, 0, -1))  # of the pairs that are 1, 2, … points apart
    spans = np.concatenate([x[lag:] - x[:-lag] for lag in range(1, n)])
    rows = max(1, _CELLS // pairs)
    room = np.empty((min(rows, len(series)), pairs))
    medians = np.empty(len(series))
    for at in range(0, len(series), rows):
        part = series[at : at + rows]
        slopes = room[: len(part)]
        for lag, end in enumerate(ends, 1):
            np.subtract(part[:, lag:], part[:, :-lag], out=slopes[:, end - (n - lag) : end])
        slopes /= spans
        slopes.partition(pairs // 2, axis=1)
        upper = slopes[:, pairs // 2]
        if pairs % 2 == 0:
            upper = (slopes[:, : pairs // 2].max(axis=1) + upper) / 2
        medians[at : at + rows] = upper
    return medians


def slope_interval(
    x: Floats, y: Floats, *, level: float = 0.95, samples: int = 1000, seed: int = 0
) -> Interval:
    """Compute an interval for the Theil-Sen slope by a moving-block bootstrap of the residuals.

    Blocks of l = ⌈n^(1/3)⌉ neighbouring residuals, drawn with replacement from a circle, are added
    to the fitted line, so that the correlation of neighbours is preserved. The limits are the slope
    minus the quantiles of the resampled slopes' deviations from it. Two corrections apply: a factor
    because residuals are smaller than errors by √((n-2)/n), and Student's t with n/l - 1 degrees of
    freedom in place of the normal because few blocks vary too little. The result is nan for fewer
    than five points. Künsch (1989); Politis & Romano (1992).
    """
    n = len(x)
    if n < 5:
        return Interval(math.nan, math.nan, "block bootstrap")
    slope = theil_sen(x, y)
    line = slope * x + np.median(y - slope * x)
    length = math.ceil(n ** (1 / 3))
    starts = np.random.default_rng(seed).integers(0, n, (samples, math.ceil(n / length)))
    # The residual of each point, for each sample.
    drawn = ((starts[:, :, None] + np.arange(length)) % n).reshape(samples, -1)[:, :n]
    slopes = _slopes(x, line + (y - line)[drawn])
    tails = ((1 - level) / 2, (1 + level) / 2)
    stretch = student_quantile(tails[1], n / length - 1) / _NORMAL.inv_cdf(tails[1])
    low, high = np.quantile(slopes - slope, tails) * stretch * math.sqrt(n / (n - 2))
    # The interval always includes the slope itself.
    ends = min(slope - float(high), slope), max(slope - float(low), slope)
    return Interval(*ends, "block bootstrap")


def student_quantile(level: float, df: float) -> float:
    """Approximate a quantile of Student's t by an expansion in 1/df, within 2 % from df = 2 on.

    This is accurate enough here, and avoids the import of scipy. Abramowitz & Stegun (1964),
    26.7.5.
    """
    z = _NORMAL.inv_cdf(level)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + sum(term / df**power for power, term in enumerate(terms, 1))


def unit_of(middles: Floats) -> str:
    """Choose the unit of a slope: the longest unit that does not exceed the typical slice."""
    step = float(np.median(np.diff(middles))) if len(middles) > 1 else DAY
    fitting = [name for name, size in UNITS.items() if size <= step * 1.1]
    return fitting[-1] if fitting else "day"


def trend(
    middles: Floats, scores: Floats, *, level: float = 0.95, samples: int = 1000, seed: int = 0
) -> Trend:
    """Compute the trend of slice scores; scores of nan (no relevant documents) are left out.

    ``middles`` are the middles of the slices in epoch seconds. With more than 250 slices,
    neighbours are averaged, because all pairs of more points would take minutes.
    """
    known = ~np.isnan(scores)
    unit = unit_of(middles)
    x = (middles[known] - middles[0]) / UNITS[unit]
    y = scores[known]
    slices = len(y)
    x, y = _joined(x), _joined(y)
    slope = theil_sen(x, y)
    first, last = _line_ends(x, y, slope)
    outside = min(first, last) < 0 <= y.min(initial=0.0)  # no score can be there
    drop = (first - last) / abs(first) if first and not outside else math.nan
    limits = slope_interval(x, y, level=level, samples=samples, seed=seed)
    correction = serial_correction(x, y)
    return Trend(
        slices, unit, slope, limits.low, limits.high, level,
        mann_kendall(y, correction), correction, first, last, drop,
    )  # fmt: skip


def _line_ends(x: Floats, y: Floats, slope: float) -> tuple[float, float]:
    """Return the trend line at the first and last point; nan without a slope.

    Means of the first and last slices would be an alternative, but they can rise while the slope
    falls.
    """
    if math.isnan(slope):
        return math.nan, math.nan
    first, last = (slope * x[[0, -1]] + np.median(y - slope * x)).tolist()
    return first, last


def _joined(values: Floats) -> Floats:
    """Average neighbours so that at most ``_MOST_POINTS`` values remain."""
    starts = np.arange(0, len(values), max(1, math.ceil(len(values) / _MOST_POINTS)))
    sizes = np.diff(starts, append=len(values))
    return np.add.reduceat(values, starts) / sizes if len(values) else values


class Stability(NamedTuple):
    """The stability of the ranking of systems across slices, by Kendall's τ; nan without rankings.

    ``with_overall`` is the mean τ of each slice's ranking with the overall ranking, ``with_next``
    with the next slice's. ``slices`` is the number of slices with a ranking.
    """

    with_overall: float
    with_next: float
    slices: int


def stability(by_slice: Mapping[str, Floats]) -> Stability:
    """Compute the stability of the ranking of systems from their slice scores.

    Slices in which all systems score the same are left out.
    """
    matrix = np.stack(list(by_slice.values())) if by_slice else np.empty((0, 0))
    complete = matrix[:, ~np.isnan(matrix).any(axis=0)]
    apart = (
        complete[:, (complete != complete[:1]).any(axis=0)]
        if len(complete) > 1
        else complete[:, :0]
    )
    overall = complete.mean(axis=1) if apart.shape[1] else np.empty(0)
    whole = [kendall_tau(column, overall) for column in apart.T]
    following = [kendall_tau(a, b) for a, b in pairwise(apart.T)]
    return Stability(_mean(whole), _mean(following), apart.shape[1])


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
