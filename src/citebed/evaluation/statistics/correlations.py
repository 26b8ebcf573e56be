"""Correlations between two lists of scores of the same things, systems or queries.

All are symmetric but ``tau_ap``, and all are nan where a list has fewer than two values or no
two that differ.
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
    """Pearson's product-moment correlation."""
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
    """Spearman's rank correlation: Pearson's of the ranks, ties sharing their mean rank."""
    first, second = _both(x, y)
    return _pearson(average_ranks(first), average_ranks(second))


# --- Kendall --------------------------------------------------------------------------------


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's τ-b: pairs in the same order less pairs in the opposite, ties accounted for.

    (C - D) / √((P - T_x)·(P - T_y)) over P pairs, T_x and T_y of them tied. In n log n steps.
    Kendall (1945), The Treatment of Ties in Ranking Problems; Knight (1966).
    """
    first, second = _both(x, y)
    n = len(first)
    pairs = n * (n - 1) / 2
    tied_x, tied_y = _tied(first), _tied(second)
    if pairs in (tied_x, tied_y):
        return math.nan
    ranks = _dense(second)
    # Things tied in x stand in the order of y, so that none of them stands before a smaller one.
    opposite = int(np.sum(greater_before(ranks[np.lexsort((ranks, first))])))
    tied_both = _tied(_dense(first) * n + ranks)
    same = pairs - tied_x - tied_y + tied_both - opposite
    tau = (same - opposite) / math.sqrt(pairs - tied_x) / math.sqrt(pairs - tied_y)
    return max(-1.0, min(1.0, tau))


def _dense(values: Floats) -> Integers:
    """The values as whole numbers from 0 in the same order."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def _tied(values: Floats | Integers) -> float:
    """How many pairs are tied."""
    sizes = np.unique(values, return_counts=True)[1]
    return float(np.sum(sizes * (sizes - 1)) / 2)


def greater_before(ranks: Integers) -> Integers:
    """For each of some whole numbers from 0, how many greater ones stand before it.

    Two numbers are told apart by the highest bit in which they differ, so they are counted bit
    by bit: among numbers alike in all higher bits, the ones that stand before a zero.
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
    """The AP correlation τ_ap of an estimated ranking with the true one; the top counts most.

    2/(n-1) · Σ C(i)/(i-1) - 1 over the ranks i > 1 of the estimate, the highest score first,
    where C(i) is how many of those above it are rightly there. It is not symmetric. Ties, in
    either list, are broken in all possible ways and τ_ap averaged over them: for ties in the
    estimate this is Urbano and Marrero's τ_AP,a, and a pair tied in truth counts as half right.
    nan with fewer than two systems, or where one list is all one tie.

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
    # One of t tied things comes after each number k < t of the others with the same chance, and
    # of two tied things either is as likely to be right: k/2 of those k are.
    places = np.arange(1, len(true))
    expected = (share[1:] + (places - above[1:]) / 2) / places
    return 2 * float(expected.sum()) / len(places) - 1


def _greater_above(ranks: Integers, order: Integers) -> Integers:
    """How many greater ranks come strictly before each in an order, in that order."""
    # Among ties the smaller rank goes first, so that none of them counts.
    return greater_before(ranks[np.lexsort((ranks, order))])
