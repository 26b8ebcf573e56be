"""Correlations between two lists of scores of the same systems or queries.

All are symmetric except ``tau_ap``. All are nan if a list has fewer than two different values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError
from citebed.evaluation.statistics.units import (
    NEGLIGIBLE,
    Floats,
    Integers,
    as_values,
    average_ranks,
)


def _both(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first, second = as_values(x), as_values(y)
    if len(first) != len(second):
        raise CitebedError(
            f"found lists of {len(first)} and {len(second)} values: expected two of the same length"
        )
    return first, second


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Compute Pearson's product-moment correlation."""
    first, second = _both(x, y)
    return _pearson(first, second)


def _pearson(x: Floats, y: Floats) -> float:
    centred = []
    for values in (x, y):
        rest = values - values.mean() if len(values) else values
        length = math.sqrt(float(rest @ rest))
        if length <= NEGLIGIBLE * float(np.abs(values).max(initial=0.0)):
            return math.nan
        centred.append(rest / length)
    return max(-1.0, min(1.0, float(centred[0] @ centred[1])))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Compute Spearman's rank correlation; ties share their mean rank."""
    first, second = _both(x, y)
    return _pearson(average_ranks(first), average_ranks(second))


# --- Kendall --------------------------------------------------------------------------------


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float:
    """Compute Kendall's τ-b in n log n steps.

    It is (C - D) / √((P - T_x)·(P - T_y)) with C concordant and D discordant of P pairs, T_x and
    T_y of them tied. Kendall (1945), The Treatment of Ties in Ranking Problems; Knight (1966).
    """
    first, second = _both(x, y)
    n = len(first)
    pairs = n * (n - 1) / 2
    tied_x, tied_y = _tied(first), _tied(second)
    if pairs in (tied_x, tied_y):
        return math.nan
    ranks = _dense(second)
    # Ties in x are sorted by y, so that they do not count as discordant.
    opposite = int(np.sum(greater_before(ranks[np.lexsort((ranks, first))])))
    tied_both = _tied(_dense(first) * n + ranks)
    same = pairs - tied_x - tied_y + tied_both - opposite
    tau = (same - opposite) / math.sqrt(pairs - tied_x) / math.sqrt(pairs - tied_y)
    return max(-1.0, min(1.0, tau))


def _dense(values: Floats) -> Integers:
    """Return the values' dense ranks from 0."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def _tied(values: Floats | Integers) -> float:
    """Count the tied pairs."""
    sizes = np.unique(values, return_counts=True)[1]
    return float(np.sum(sizes * (sizes - 1)) / 2)


def greater_before(ranks: Integers) -> Integers:
    """Count, for each of some integers from 0, the greater ones before it.

    Two numbers are compared by the highest bit in which they differ. Therefore pairs are counted
    bit by bit: among numbers with equal higher bits, the ones before each zero.
    """
    counts = np.zeros(len(ranks), dtype=np.int64)
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        order = np.argsort(ranks >> (bit + 1), kind="stable")
        group, ones = ranks[order] >> (bit + 1), (ranks[order] >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        before -= np.repeat(before[starts], np.diff(starts, append=len(ranks)))
        counts[order] += np.where(ones == 0, before, 0)
    return counts


# --- AP correlation -------------------------------------------------------------------------


def tau_ap(truth: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the AP correlation τ_ap of an estimated ranking with the true one.

    It is 2/(n-1) · Σ C(i)/(i-1) - 1 over the ranks i > 1 of the estimate, highest score first; C(i)
    counts the items that are correctly above rank i, so that the top counts most. It is not
    symmetric. Ties are broken in all possible ways, and τ_ap is averaged over them: for ties in the
    estimate this is Urbano and Marrero's τ_AP,a, and a pair tied in the truth counts half.

    Yilmaz, Aslam & Robertson (2008), A New Rank Correlation Coefficient for Information
    Retrieval; Urbano & Marrero (2017), The Treatment of Ties in AP Correlation.
    """
    true, scores = _both(truth, estimate)
    if len(np.unique(true)) < 2 or len(np.unique(scores)) < 2:
        return math.nan
    ranks, order = _dense(true), -_dense(scores)
    sizes = np.unique(order, return_counts=True)[1]
    above = np.repeat(np.cumsum(sizes) - sizes, sizes)
    right = (_greater_above(ranks, order) + above - _greater_above(ranks.max() - ranks, order)) / 2
    share = np.repeat(np.add.reduceat(right, np.cumsum(sizes) - sizes) / sizes, sizes)
    # One of t tied items comes after each number k < t of the others with equal probability, and
    # k/2 of these are expected to be in the right order.
    places = np.arange(1, len(true))
    expected = (share[1:] + (places - above[1:]) / 2) / places
    return 2 * float(expected.sum()) / len(places) - 1


def _greater_above(ranks: Integers, order: Integers) -> Integers:
    """Count the greater ranks strictly before each one, in this order."""
    # Among ties the smaller rank comes first, so that ties do not count.
    return greater_before(ranks[np.lexsort((ranks, order))])
