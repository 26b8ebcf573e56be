"""Multiple comparisons: corrections of p-values, and Tukey's test of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.resampling import check_samples, shuffled_ranges
from citebed.evaluation.statistics.units import Floats, Labels, as_matrix, make_units


def _bonferroni(p: Floats) -> Floats:
    """Control the probability of any false finding, under any dependence of the comparisons.

    Dunn (1961), Multiple Comparisons among Means.
    """
    return p * len(p)


def _holm(p: Floats) -> Floats:
    """Control the probability of any false finding, with at least the power of Bonferroni.

    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.
    """
    return np.maximum.accumulate(p * np.arange(len(p), 0, -1))


def _bh(p: Floats) -> Floats:
    """Control the false discovery rate, for independent or positively dependent comparisons.

    Benjamini & Hochberg (1995), Controlling the False Discovery Rate.
    """
    stepped = p * len(p) / np.arange(1, len(p) + 1)
    return np.minimum.accumulate(stepped[::-1])[::-1]


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p, "bonferroni": _bonferroni, "holm": _holm, "bh": _bh,
}  # fmt: skip
"""All corrections by name, for p-values in ascending order; results may exceed 1."""


def adjust(p_values: ArrayLike, method: str) -> Floats:
    """Correct p-values for their number; compare the results with the level directly.

    A p-value of nan stays nan and does not count as a comparison.
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


def tukey(
    matrix: ArrayLike,
    *,
    clusters: Labels | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> Floats:
    """Test all pairs of systems together; rows are queries, columns systems.

    Return the p-value of each pair, corrected for all, in the order of ``combinations``.

    The p-values come from the range of the means after shuffling the systems within each query.
    This assumes only that systems are exchangeable within a query; with clusters, within a cluster,
    whose queries are shuffled alike. If systems never differ, p-values are 1.

    Carterette (2012), Multiple Testing in Statistical Analysis of Systems-Based Information
    Retrieval Experiments; Sakai (2018), Laboratory Experiments in Information Retrieval.
    """
    check_samples(samples)
    table = as_matrix(matrix)
    pairs = combinations(table.mean(axis=0), 2)
    differences = np.array([second - first for first, second in pairs])
    if np.all(table == table[:, :1]):
        return np.ones(len(differences))
    units = make_units(table, clusters)
    ranges = np.sort(shuffled_ranges(units.sums, samples, seed) / units.n_queries)
    bounds = np.abs(differences) - 1e-10 * float(np.abs(table).max())
    extreme = len(ranges) - np.searchsorted(ranges, bounds, side="left")
    return np.asarray((1 + extreme) / (1 + len(ranges)))
