"""Many comparisons at once: corrections of p-values, and Tukey's test of all pairs together."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.resampling import check_samples, shuffled_ranges
from citebed.evaluation.statistics.units import Floats, Labels, as_matrix, make_units


def _bonferroni(p: Floats) -> Floats:
    """Keeps the chance of any false finding, however the comparisons depend on one another.

    Dunn (1961), Multiple Comparisons among Means.
    """
    return p * len(p)


def _holm(p: Floats) -> Floats:
    """Keeps the chance of any false finding, as bonferroni, and never finds less.

    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.
    """
    return np.maximum.accumulate(p * np.arange(len(p), 0, -1))


def _bh(p: Floats) -> Floats:
    """Keeps the expected share of false ones among the findings, for comparisons that are
    independent or depend on one another positively.

    Benjamini & Hochberg (1995), Controlling the False Discovery Rate.
    """
    stepped = p * len(p) / np.arange(1, len(p) + 1)
    return np.minimum.accumulate(stepped[::-1])[::-1]


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p, "bonferroni": _bonferroni, "holm": _holm, "bh": _bh,
}  # fmt: skip
"""All corrections by name: of p-values in ascending order, not yet cut at 1."""


def adjust(p_values: ArrayLike, method: str) -> Floats:
    """The p-values, corrected for their number; compare them with the level as they are.

    A p-value of nan is no comparison: it stays nan and is not counted.
    """
    correction = CORRECTIONS.get(method)
    if correction is None:
        raise UnknownName("correction", method, CORRECTIONS)
    p = np.array(p_values, dtype=np.float64)
    if p.ndim != 1 or bool(np.any((p < 0) | (p > 1))):
        raise CitebedError("expected a list of p-values, each from 0 to 1")
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    p[order] = np.minimum(correction(p[order]), 1.0)
    return p


# --- Tukey's honestly significant differences ------------------------------------------------


class Pair(NamedTuple):
    """Two systems by column, the mean of the second less that of the first, and its p-value.

    The p-value already counts all pairs: compare it with the level as it is.
    """

    first: int
    second: int
    difference: float
    p_value: float


def tukey(
    matrix: ArrayLike,
    *,
    clusters: Labels | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> list[Pair]:
    """All pairs of systems, tested together: a row of the table is a query, a column a system.

    p-values are by the range of the means when systems change places within each query, which
    assumes only that systems are exchangeable within a query, or with clusters within a cluster,
    whose queries are shuffled alike. Systems that never differ have 1.

    Carterette (2012), Multiple Testing in Statistical Analysis of Systems-Based Information
    Retrieval Experiments; Sakai (2018), Laboratory Experiments in Information Retrieval.
    """
    check_samples(samples)
    table = as_matrix(matrix)
    pairs = list(combinations(range(table.shape[1]), 2))
    if not pairs or not len(table):
        return [Pair(first, second, math.nan, math.nan) for first, second in pairs]
    means = table.mean(axis=0)
    differences = np.array([means[second] - means[first] for first, second in pairs])
    p_values = np.ones(len(differences))
    if not np.all(table == table[:, :1]):
        units = make_units(table, clusters)
        ranges = np.sort(shuffled_ranges(units.sums, samples, seed) / units.n_queries)
        bounds = np.abs(differences) - 1e-10 * float(np.abs(table).max())
        extreme = len(ranges) - np.searchsorted(ranges, bounds, side="left")
        p_values = (1 + extreme) / (1 + len(ranges))
    return [
        Pair(first, second, float(difference), float(p))
        for (first, second), difference, p in zip(pairs, differences, p_values, strict=True)
    ]
