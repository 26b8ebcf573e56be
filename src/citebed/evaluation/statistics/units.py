"""Independent units of statistics: queries, or clusters of queries.

Queries from one paper are similar, so their scores are not independent, but papers are. All
statistics work on *units*: the queries or, with clusters, the sums over each cluster. The mean is
always the mean over queries, whatever the sizes of the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from citebed.errors import CitebedError
from citebed.wording import count

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = Sequence[Any] | NDArray[Any]

# A relative spread below this is due to rounding.
NEGLIGIBLE = 1e-12


def as_values(values: ArrayLike) -> Floats:
    """Convert values to one column of finite numbers, or raise an error."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise CitebedError(
            f"found an array of {array.ndim} dimensions; expected one value per query"
        )
    return _finite(array)


def as_matrix(matrix: ArrayLike) -> Floats:
    """Convert values to a table of finite numbers with one row per query, or raise an error."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2:
        raise CitebedError(
            f"found an array of {array.ndim} dimensions; expected a table with one row per query "
            "and one column per system or measure"
        )
    return _finite(array)


def _finite(array: Floats) -> Floats:
    bad = array.size - int(np.isfinite(array).sum())
    if bad:
        raise CitebedError(
            f"{bad} of {array.size} values are not finite numbers: leave out the queries for which "
            "the measure is undefined"
        )
    return array


def cluster_codes(clusters: Labels, n: int) -> Integers:
    """Number the clusters from 0; there is one label per query, of any type."""
    if len(clusters) != n:
        raise CitebedError(
            f"found {count(len(clusters), 'cluster label')} for {count(n, 'query')}: "
            "give one per query"
        )
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind in "iuUS":
        return np.asarray(np.unique(clusters, return_inverse=True)[1], dtype=np.int64)
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in clusters], dtype=np.int64)


class Units(NamedTuple):
    """Sums of values, one row per unit and one column per measure, and the units' sizes."""

    sums: Floats
    sizes: Floats

    @property
    def n_units(self) -> int:
        """The number of units."""
        return len(self.sizes)

    @property
    def n_queries(self) -> float:
        """The number of queries."""
        return float(self.sizes.sum())

    @property
    def single(self) -> bool:
        """Whether every unit is a single query."""
        return bool(np.all(self.sizes == 1))

    @property
    def means(self) -> Floats:
        """The mean of each column over all queries."""
        return np.asarray(self.sums.sum(axis=0) / self.n_queries)

    @property
    def residuals(self) -> Floats:
        """Each unit's sum minus its size times the mean."""
        return self.sums - self.sizes[:, None] * self.means


def make_units(matrix: Floats, clusters: Labels | None) -> Units:
    """Make units of a table of values: its rows, or their sums over each cluster."""
    if clusters is None:
        return Units(matrix, np.ones(len(matrix)))
    codes = cluster_codes(clusters, len(matrix))
    sizes = np.bincount(codes).astype(np.float64)
    columns = [np.bincount(codes, weights=column, minlength=len(sizes)) for column in matrix.T]
    return Units(np.stack(columns, axis=1) if columns else np.empty((len(sizes), 0)), sizes)


def variance_of_means(units: Units) -> Floats:
    """Compute the variance of each column's mean, robust to any correlation within units.

    G/(G-1) · Σ (S_g - n_g·m)² / N² over G units of n_g queries with sum S_g, where m is the mean
    of all N queries. Without clusters (n_g = 1) this is s²/n, the square of the usual standard
    error. It is the sandwich estimator CR1 of a regression on a constant, as Stata and
    statsmodels compute it. Spread due to rounding counts as 0. At least two units are needed.

    Liang & Zeger (1986), Longitudinal data analysis using generalized linear models;
    Cameron & Miller (2015), A Practitioner's Guide to Cluster-Robust Inference.
    """
    residuals = units.residuals
    size = np.abs(units.sums).max(axis=0, initial=0.0)
    residuals = np.where(np.abs(residuals).max(axis=0) <= NEGLIGIBLE * size, 0.0, residuals)
    total = np.square(residuals).sum(axis=0)
    return np.asarray(total * units.n_units / (units.n_units - 1) / units.n_queries**2)


def average_ranks(values: Floats) -> Floats:
    """Rank values from 1, smallest first; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places])


def tie_sizes(values: Floats) -> Floats:
    """Count how often each distinct value occurs."""
    return np.unique(values, return_counts=True)[1].astype(np.float64)
