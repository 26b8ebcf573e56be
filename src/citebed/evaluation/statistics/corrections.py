"""Many comparisons at once: corrections of p-values, and Tukey's test of all pairs together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.resampling import check_samples, shuffled_ranges
from citebed.evaluation.statistics.units import NEGLIGIBLE, Floats, Labels, as_matrix, units_of


@dataclass(frozen=True)
class Correction:
    """One correction: its name, what it keeps to a level, its source, and how it is done.

    ``apply`` takes p-values in ascending order and gives them adjusted, not yet cut at 1.
    """

    name: str
    controls: str
    citation: str
    apply: Callable[[Floats], Floats]


def _holm(p: Floats) -> Floats:
    return np.maximum.accumulate(p * np.arange(len(p), 0, -1))


def _bh(p: Floats) -> Floats:
    stepped = p * len(p) / np.arange(1, len(p) + 1)
    return np.minimum.accumulate(stepped[::-1])[::-1]


CORRECTIONS: dict[str, Correction] = {
    correction.name: correction
    for correction in (
        Correction("none", "nothing: each comparison by itself", "", lambda p: p),
        Correction(
            "bonferroni",
            "the chance of any false finding, however the comparisons depend on one another",
            "Dunn (1961), Multiple Comparisons among Means",
            lambda p: p * len(p),
        ),
        Correction(
            "holm",
            "the chance of any false finding, as bonferroni, and never finds less",
            "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure",
            _holm,
        ),
        Correction(
            "bh",
            "the expected share of false ones among the findings, for comparisons that are "
            "independent or depend on one another positively",
            "Benjamini & Hochberg (1995), Controlling the False Discovery Rate",
            _bh,
        ),
    )
}
"""All corrections by name."""


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
    p[order] = np.minimum(correction.apply(p[order]), 1.0)
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


class _Design(NamedTuple):
    matrix: Floats
    clusters: Labels | None
    samples: int
    seed: int


def _two_way(design: _Design, differences: Floats) -> Floats:
    """p-values by the studentised range, over the residuals of systems and queries."""
    if design.clusters is not None:
        raise CitebedError(
            "Tukey's two-way test takes every query for independent: with clusters, use the "
            "method 'randomised'"
        )
    from scipy.stats import studentized_range

    n, m = design.matrix.shape
    of_queries = design.matrix.mean(axis=1, keepdims=True)
    residuals = design.matrix - of_queries - design.matrix.mean(axis=0) + design.matrix.mean()
    degrees = (n - 1) * (m - 1)
    error = math.sqrt(float(np.square(residuals).sum()) / degrees / n)
    if error <= NEGLIGIBLE * float(np.abs(design.matrix).max()):
        return np.full(len(differences), math.nan)
    return np.asarray(studentized_range.sf(np.abs(differences) / error, m, degrees))


def _randomised(design: _Design, differences: Floats) -> Floats:
    """p-values by the range of the means when systems change places within each query."""
    units = units_of(design.matrix, design.clusters)
    ranges = np.sort(shuffled_ranges(units.sums, design.samples, design.seed) / units.n_queries)
    bounds = np.abs(differences) - 1e-10 * float(np.abs(design.matrix).max())
    extreme = len(ranges) - np.searchsorted(ranges, bounds, side="left")
    return np.asarray((1 + extreme) / (1 + len(ranges)))


TUKEY: dict[str, Callable[[_Design, Floats], Floats]] = {
    "two-way": _two_way,
    "randomised": _randomised,
}
"""The two ways to Tukey's test by name."""


def tukey(
    matrix: ArrayLike,
    *,
    method: str = "randomised",
    clusters: Labels | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> list[Pair]:
    """All pairs of systems, tested together: a row of the table is a query, a column a system.

    ``two-way`` is Tukey's own over an analysis of variance with queries as blocks; it assumes
    normal residuals of one variance, and independent queries. ``randomised`` assumes only that
    systems are exchangeable within a query, or with clusters within a cluster, whose queries are
    shuffled alike. Fewer than two queries, or systems that differ by the same amount on every
    query, leave two-way without a p-value (nan); systems that never differ have 1.

    Carterette (2012), Multiple Testing in Statistical Analysis of Systems-Based Information
    Retrieval Experiments; Sakai (2018), Laboratory Experiments in Information Retrieval.
    """
    run = TUKEY.get(method)
    if run is None:
        raise UnknownName("Tukey test", method, TUKEY)
    check_samples(samples)
    table = as_matrix(matrix)
    pairs = list(combinations(range(table.shape[1]), 2))
    if not pairs or not len(table):
        return [Pair(first, second, math.nan, math.nan) for first, second in pairs]
    means = table.mean(axis=0)
    differences = np.array([means[second] - means[first] for first, second in pairs])
    if np.all(table == table[:, :1]):
        p_values = np.ones(len(differences))
    elif run is _two_way and len(table) < 2:
        p_values = np.full(len(differences), math.nan)
    else:
        p_values = run(_Design(table, clusters, samples, seed), differences)
    return [
        Pair(first, second, float(difference), float(p))
        for (first, second), difference, p in zip(pairs, differences, p_values, strict=True)
    ]
