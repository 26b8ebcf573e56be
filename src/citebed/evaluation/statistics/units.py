"""What is independent of what: queries, or clusters of queries.

Queries taken from one paper resemble one another, so their scores are not independent; the
papers are. All statistics here work on *units*: the queries themselves, or with clusters the
sums over each cluster. The mean stays the mean over queries, whatever the clusters' sizes.
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

# A spread below this share of the values is rounding, not spread.
NEGLIGIBLE = 1e-12


def as_values(values: ArrayLike) -> Floats:
    """The values as one column of numbers; anything but finite numbers is refused."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise CitebedError(
            f"found an array of {array.ndim} dimensions where one value a query is expected"
        )
    return _finite(array)


def as_matrix(matrix: ArrayLike) -> Floats:
    """The values as a table, one row a query; anything but finite numbers is refused."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2:
        raise CitebedError(
            f"found an array of {array.ndim} dimensions where a table is expected: "
            "one row a query, one column a system or measure"
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
    """Each query's cluster as a number from 0; one label a query, of any kind."""
    if len(clusters) != n:
        raise CitebedError(
            f"found {count(len(clusters), 'cluster label')} for {count(n, 'query')}: "
            "give one a query"
        )
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind in "iuUS":
        return np.asarray(np.unique(clusters, return_inverse=True)[1], dtype=np.int64)
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in clusters], dtype=np.int64)


class Units(NamedTuple):
    """Sums of values by unit (a row a unit, a column a measure) and the queries in each."""

    sums: Floats
    sizes: Floats

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.sizes)

    @property
    def n_queries(self) -> float:
        """How many queries there are in all."""
        return float(self.sizes.sum())

    @property
    def single(self) -> bool:
        """Whether every unit is one query."""
        return bool(np.all(self.sizes == 1))

    @property
    def means(self) -> Floats:
        """The mean over all queries, of each column."""
        return np.asarray(self.sums.sum(axis=0) / self.n_queries)

    @property
    def residuals(self) -> Floats:
        """What each unit's sum has above its size times the mean."""
        return self.sums - self.sizes[:, None] * self.means


def make_units(matrix: Floats, clusters: Labels | None) -> Units:
    """The units of a table of values: its rows, or the sums of its rows over each cluster."""
    if clusters is None:
        return Units(matrix, np.ones(len(matrix)))
    codes = cluster_codes(clusters, len(matrix))
    sizes = np.bincount(codes).astype(np.float64)
    columns = [np.bincount(codes, weights=column, minlength=len(sizes)) for column in matrix.T]
    return Units(np.stack(columns, axis=1) if columns else np.empty((len(sizes), 0)), sizes)


def variance_of_means(units: Units) -> Floats:
    """The variance of each column's mean, robust to any correlation within units.

    G/(G-1) · Σ (S_g - n_g·m)² / N² over G units of n_g queries with sum S_g, where m is the mean
    of all N queries. Without clusters (n_g = 1) this is s²/n, the square of the usual standard
    error. It is the sandwich estimator CR1 of a regression on a constant, as Stata and
    statsmodels compute it. Spread that is only rounding counts as none. Needs two units.

    Liang & Zeger (1986), Longitudinal data analysis using generalized linear models;
    Cameron & Miller (2015), A Practitioner's Guide to Cluster-Robust Inference.
    """
    residuals = units.residuals
    size = np.abs(units.sums).max(axis=0, initial=0.0)
    residuals = np.where(np.abs(residuals).max(axis=0) <= NEGLIGIBLE * size, 0.0, residuals)
    total = np.square(residuals).sum(axis=0)
    return np.asarray(total * units.n_units / (units.n_units - 1) / units.n_queries**2)


def average_ranks(values: Floats) -> Floats:
    """Ranks from 1, the smallest first; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places])


def tie_sizes(values: Floats) -> Floats:
    """How often each distinct value is there."""
    return np.unique(values, return_counts=True)[1].astype(np.float64)
