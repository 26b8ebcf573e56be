"""Statistics slowly and obviously: all flips, all resamples, all orders, pair by pair.

Small inputs only. Fractions where a comparison must not depend on rounding.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import numpy as np

Numbers = Sequence[float]
Labels = Sequence[Hashable]


def cluster_sums(values: Numbers, clusters: Labels) -> list[Fraction]:
    """The sum of each cluster's values."""
    sums: dict[Hashable, Fraction] = {}
    for value, label in zip(values, clusters, strict=True):
        sums[label] = sums.get(label, Fraction(0)) + Fraction(value)
    return list(sums.values())


def flipped_share(sums: Sequence[Fraction]) -> Fraction:
    """The share of all sign flips with a total at least as far from zero as the one found."""
    found = abs(sum(sums, Fraction(0)))
    totals = [
        abs(sum((s * v for s, v in zip(signs, sums, strict=True)), Fraction(0)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    return Fraction(sum(total >= found for total in totals), len(totals))


def signed_ranks(differences: Numbers) -> list[Fraction]:
    """Signed ranks of the differences from zero: ties share the mean rank, zeros have none."""
    sizes = [abs(d) for d in differences if d]
    ranks = []
    for d in differences:
        below = sum(size < abs(d) for size in sizes)
        level = sum(size == abs(d) for size in sizes)
        rank = below + Fraction(level + 1, 2)
        ranks.append(rank if d > 0 else -rank if d < 0 else Fraction(0))
    return ranks


def robust_variance(values: Numbers, clusters: Labels) -> float:
    """The cluster-robust variance of a regression on a constant, by its matrices.

    (X'X)⁻¹ · Σ X_g' u_g u_g' X_g · (X'X)⁻¹ times G/(G-1) · (N-1)/(N-k), here with k = 1.
    """
    y = np.array(values, dtype=float)
    x = np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ x)
    rest = y - (x @ (bread @ x.T @ y))
    labels = list(dict.fromkeys(clusters))
    meat = np.zeros((1, 1))
    for label in labels:
        rows = np.array([other == label for other in clusters])
        score = x[rows].T @ rest[rows][:, None]
        meat += score @ score.T
    return float((bread @ meat @ bread)[0, 0]) * len(labels) / (len(labels) - 1)


def all_resamples(values: Numbers, clusters: Labels) -> Iterator[tuple[float, float]]:
    """The mean and its robust variance in each resample of whole clusters, all of them."""
    groups: dict[Hashable, list[float]] = {}
    for value, label in zip(values, clusters, strict=True):
        groups.setdefault(label, []).append(value)
    for drawn in product(groups.values(), repeat=len(groups)):
        flat = [value for group in drawn for value in group]
        # A cluster drawn twice is two clusters.
        labels = [place for place, group in enumerate(drawn) for _ in group]
        yield sum(flat) / len(flat), robust_variance(flat, labels)


def bootstrap_share(differences: Numbers, clusters: Labels) -> float:
    """The share of all resamples with a shift over its error at least as large as found."""
    mean = sum(differences) / len(differences)
    found = abs(mean) / math.sqrt(robust_variance(differences, clusters))
    extreme = [
        abs(other - mean) > 1e-9
        if variance < 1e-18
        else abs(other - mean) / math.sqrt(variance) >= found - 1e-9
        for other, variance in all_resamples(differences, clusters)
    ]
    return sum(extreme) / len(extreme)


def tukey_share(table: Sequence[Numbers], clusters: Labels, difference: float) -> float:
    """The share of all orders of systems, cluster by cluster, with so wide a range of means."""
    labels = list(dict.fromkeys(clusters))
    systems = range(len(table[0]))
    wide = count = 0
    for orders in product(permutations(systems), repeat=len(labels)):
        order = dict(zip(labels, orders, strict=True))
        means = [
            sum(row[order[c][k]] for row, c in zip(table, clusters, strict=True)) / len(table)
            for k in systems
        ]
        wide += max(means) - min(means) >= abs(difference) - 1e-9
        count += 1
    return wide / count


def intraclass(values: Numbers, clusters: Labels) -> float:
    """The analysis-of-variance estimate of the correlation within clusters."""
    groups: dict[Hashable, list[float]] = {}
    for value, label in zip(values, clusters, strict=True):
        groups.setdefault(label, []).append(value)
    n, g = len(values), len(groups)
    grand = sum(values) / n
    centres = {label: sum(group) / len(group) for label, group in groups.items()}
    between = sum(len(x) * (centres[c] - grand) ** 2 for c, x in groups.items()) / (g - 1)
    within = sum((v - centres[c]) ** 2 for c, x in groups.items() for v in x) / (n - g)
    usual = (n - sum(len(x) ** 2 for x in groups.values()) / n) / (g - 1)
    return (between - within) / (between + (usual - 1) * within)


def kendall(x: Numbers, y: Numbers) -> float:
    """τ-b, pair by pair."""
    sign = [
        ((a > c) - (a < c), (b > d) - (b < d))
        for (a, b), (c, d) in combinations(list(zip(x, y, strict=True)), 2)
    ]
    tied = sum(s != 0 for s, _ in sign) * sum(t != 0 for _, t in sign)
    return sum(s * t for s, t in sign) / math.sqrt(tied) if tied else math.nan


def tau_ap(truth: Numbers, estimate: Numbers) -> float:
    """τ_ap averaged over all orders that ties in either list allow."""
    found = [_tau_ap(true, estimated) for true in _orders(truth) for estimated in _orders(estimate)]
    return float(sum(found) / len(found))


def _orders(scores: Numbers) -> list[tuple[int, ...]]:
    return [
        order
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]


def _tau_ap(truth: Sequence[int], estimate: Sequence[int]) -> Fraction:
    place = {system: rank for rank, system in enumerate(truth)}
    total = Fraction(0)
    for rank in range(1, len(estimate)):
        above = estimate[:rank]
        total += Fraction(sum(place[a] < place[estimate[rank]] for a in above), rank)
    return 2 * total / (len(estimate) - 1) - 1


def benjamini_hochberg(p_values: Numbers, level: float) -> set[int]:
    """Return the hypotheses that the step-up procedure rejects at a level, as its paper says."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    last = 0
    for rank, i in enumerate(order, start=1):
        if p_values[i] <= rank / len(p_values) * level:
            last = rank
    return set(order[:last])


# Cells that two kinds of units cross.

Cell = tuple[float, float, Hashable, Hashable]
"""A cell's value, its weight, its row and its column."""


def crossed_variance(cells: Sequence[Cell], rows: int, columns: int, number: int) -> float:
    """Return the variance of the weighted mean of cells, from pairs of cells that share a unit.

    Add the pairs that share a row, times n/(n-1) for n rows, and the pairs that share a column,
    times n/(n-1) for n columns. Subtract the pairs of a cell with itself, times n/(n-1) for the
    ``number`` of cells. The result is at least each of the first two.
    """
    size = sum(weight for _, weight, _, _ in cells)
    mean = sum(value * weight for value, weight, _, _ in cells) / size
    row = column = itself = 0.0
    for i, (value, weight, r, c) in enumerate(cells):
        for j, (value2, weight2, r2, c2) in enumerate(cells):
            product_ = weight * (value - mean) * weight2 * (value2 - mean) / size**2
            row += product_ * (r == r2)
            column += product_ * (c == c2)
            itself += product_ * (i == j)
    row, column = row * rows / (rows - 1), column * columns / (columns - 1)
    return max(row, column, row + column - itself * number / (number - 1))


def crossed_resample(
    cells: Sequence[Cell], rows: Sequence[Hashable], columns: Sequence[Hashable]
) -> list[Cell]:
    """The cells of rows and columns that were drawn, one of either drawn twice being two."""
    return [
        (value, weight, at, beside)
        for at, row in enumerate(rows)
        for beside, column in enumerate(columns)
        for value, weight, r, c in cells
        if (r, c) == (row, column)
    ]
