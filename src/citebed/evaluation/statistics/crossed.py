"""Statistics of means over cells of two crossed kinds of random units: queries and slices.

A cell is a pair of query and slice. Cells of the same query are correlated, and so are cells of the
same slice. The variance of their weighted mean is the variance of two-way clusters: over rows, plus
over columns, minus over cells, which both include (Cameron, Gelbach & Miller (2011), Robust
Inference With Multiway Clustering).

Rows and columns are resampled independently: Owen (2007), The Pigeonhole Bootstrap. By itself this
is too wide, because it counts the variance within cells three times. The standard error of a
resample counts it three times, too, so that studentised intervals have the right scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.intervals import (
    Bounds,
    Interval,
    bounded_interval,
    check_level,
    order_statistics,
)
from citebed.evaluation.statistics.paired import TestResult
from citebed.evaluation.statistics.resampling import (
    blocks,
    check_samples,
    draw_counts,
    thin_product,
)
from citebed.evaluation.statistics.units import (
    NEGLIGIBLE,
    Floats,
    Labels,
    Units,
    as_values,
    cluster_codes,
)

CROSSED_TESTS = ("t", "bootstrap")
"""The paired tests that support two kinds of units."""

_BLOCK = 1 << 18


class Crossed(NamedTuple):
    """Tables with one row per unit of one kind and one column per unit of the other.

    ``weights`` are the cells' weights in the mean; ``rests`` are the deviations from the mean times
    the weights. Both are 0 for missing cells.
    """

    mean: float
    weights: Floats
    rests: Floats
    cells: int

    @property
    def smaller_unit_count(self) -> int:
        """The number of units of the rarer kind."""
        return int(min(self.weights.shape))

    @property
    def rarer(self) -> Units:
        """The units of the rarer kind: their weights, and values times weights."""
        n, m = self.weights.shape
        axis = 1 if n <= m else 0
        sizes = self.weights.sum(axis=axis)
        return Units((self.rests.sum(axis=axis) + self.mean * sizes)[:, None], sizes)

    @property
    def error(self) -> float:
        """The standard error of the mean; nan with fewer than two units of a kind."""
        if self.smaller_unit_count < 2:
            return math.nan
        largest = float(np.abs(self.rests).max())
        if largest <= NEGLIGIBLE * max(abs(self.mean), 1e-300) * float(self.weights.max()):
            return 0.0
        sums = (self.rests.sum(axis=1), self.rests.sum(axis=0), self.rests)
        return math.sqrt(self.variance(*(np.array([np.square(of).sum()]) for of in sums))[0])

    def variance(self, rows: Floats, columns: Floats, cells: Floats) -> Floats:
        """Combine sums of squares over rows, columns and cells, each times n/(n-1).

        The result is at least the variance over rows and over columns, since the subtracted term
        can be too large by chance.
        """
        n, m = self.weights.shape
        over_rows, over_columns = rows * n / (n - 1), columns * m / (m - 1)
        both = over_rows + over_columns - cells * self.cells / (self.cells - 1)
        return np.asarray(np.maximum(both, np.maximum(over_rows, over_columns)))


def crossed_cells(values: ArrayLike, weights: ArrayLike, rows: Labels, columns: Labels) -> Crossed:
    """Make tables of cells, given the value, weight, row and column of each cell."""
    cells, shares = as_values(values), as_values(weights)
    if not len(cells) or len(shares) != len(cells) or not shares.sum() > 0:
        raise CitebedError("expected a value and a weight for each cell, and one cell at least")
    shares = shares / shares.sum()
    mean = float(shares @ cells)
    places = cluster_codes(rows, len(cells)), cluster_codes(columns, len(cells))
    parts, rests = (np.zeros([int(codes.max()) + 1 for codes in places]) for _ in range(2))
    np.add.at(parts, places, shares)
    np.add.at(rests, places, shares * (cells - mean))
    return Crossed(mean, parts, rests, len(cells))


def crossed_ratios(cells: Crossed, samples: int, seed: int) -> Floats:
    """Return the shifts of resampled means divided by their standard errors.

    The ratio is infinite without spread. Samples without any cell are left out.
    """
    check_samples(samples)
    rng, (n, m) = np.random.default_rng(seed), cells.weights.shape
    parts = [
        _resampled(cells, draw_counts(rng, stop - start, n), draw_counts(rng, stop - start, m))
        for start, stop in blocks(samples, n + m, _BLOCK)
    ]
    return np.concatenate(parts)


def _resampled(cells: Crossed, u: Floats, v: Floats) -> Floats:
    """Return the ratios of samples in which rows are drawn ``u`` and columns ``v`` times.

    A unit that is drawn twice counts as two units with cells of their own.
    """
    w, e = cells.weights, cells.rests
    row_sizes, row_rests = (thin_product(v, table.T.copy()) for table in (w, e))
    column_sizes, column_rests = (thin_product(u, table) for table in (w, e))
    size = (u * row_sizes).sum(axis=1)
    some = size > 0
    size = np.where(some, size, 1.0)
    shift = (u * row_rests).sum(axis=1) / size
    apart = shift[:, None]
    squares, products, sizes = (
        (v * thin_product(u, table)).sum(axis=1) for table in (e * e, e * w, w * w)
    )
    spread = cells.variance(
        (u * (row_rests - apart * row_sizes) ** 2).sum(axis=1),
        (v * (column_rests - apart * column_sizes) ** 2).sum(axis=1),
        squares - 2 * shift * products + shift**2 * sizes,
    )
    flat = spread <= 1e-10 * (squares + shift**2 * sizes)
    errors = np.sqrt(np.where(flat, 1.0, spread)) / size
    endless = np.where(shift == 0, 0.0, np.copysign(np.inf, shift))
    return np.asarray(np.where(flat, endless, shift / errors)[some])


def crossed_interval(
    cells: Crossed,
    *,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
    bounds: Bounds | None = None,
) -> Interval:
    """Compute a studentised interval for the mean, with rows and columns both as samples.

    If all cells are equal, or a limit is infinite because many resamples have no spread, the
    interval is `bounded_interval` over the units of the rarer kind, provided values have
    ``bounds``. Without bounds it is Student's t, with one degree of freedom less than these units;
    nan if all cells are equal. With fewer than two units of a kind it is nan.
    """
    check_level(level)
    tail, error = (1 - level) / 2, cells.error
    if math.isnan(error):
        return Interval(math.nan, math.nan, "studentised")
    if error:
        low, high = order_statistics(crossed_ratios(cells, samples, seed), tail, 1 - tail)
        if math.isfinite(low) and math.isfinite(high):
            return Interval(cells.mean - high * error, cells.mean - low * error, "studentised")
    if bounds is not None:
        return bounded_interval(cells.rarer, bounds, tail, samples, seed)
    if not error:
        return Interval(math.nan, math.nan, "studentised")
    from scipy.special import stdtrit

    reach = float(stdtrit(cells.smaller_unit_count - 1, 1 - tail)) * error
    return Interval(cells.mean - reach, cells.mean + reach, "t")


def crossed_test(name: str, cells: Crossed, *, samples: int = 10_000, seed: int = 0) -> TestResult:
    """Test two-sided whether the mean difference is 0, by ``t`` or the studentised bootstrap.

    The degrees of freedom of t are the number of units of the rarer kind minus one.
    """
    if name not in CROSSED_TESTS:
        raise UnknownName("test over two kinds of units", name, CROSSED_TESTS)
    n, m = cells.weights.shape
    if not cells.rests.any() and not cells.mean:
        return TestResult(name, 0.0, 1.0, n, m, "all differences are zero")
    error = cells.error
    if math.isnan(error) or not error:
        why = "fewer than two units of a kind" if math.isnan(error) else "all cells are equal"
        return TestResult(name, math.nan, math.nan, n, m, f"{why}: the test statistic is undefined")
    statistic = cells.mean / error
    if name == "t":
        from scipy.special import stdtr

        degrees = cells.smaller_unit_count - 1
        p = 2 * float(stdtr(degrees, -abs(statistic)))
        return TestResult(name, statistic, p, n, m, f"{degrees} degrees of freedom")
    ratios = crossed_ratios(cells, samples, seed)
    extreme = int(np.sum(np.abs(ratios) >= abs(statistic) * (1 - 1e-10)))
    p = (1 + extreme) / (1 + len(ratios))
    return TestResult(name, statistic, p, n, m, f"{len(ratios)} resamples")
