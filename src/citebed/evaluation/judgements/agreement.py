"""Agreement of judges: raw agreement, Cohen's kappa and Krippendorff's alpha, with intervals.

Judgements are a table with the columns ``item``, ``judge`` and ``value``, a number. Each item was
judged by two judges or more, by each of them once.

Every figure is a function of sums over items. Its interval comes from resampling the items, as a
sample of all items.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from citebed.evaluation.statistics.resampling import resampled_sums
from citebed.evaluation.statistics.units import Floats, Integers, cluster_codes
from citebed.frames import FlatRow

Metric = Literal["nominal", "ordinal"]

ONE_VALUE = "all judgements are identical, so chance agreement is undefined"
_LEVEL, _SAMPLES = 0.95, 10_000
_SEED = int(np.random.SeedSequence(0).generate_state(1)[0])


@dataclass(frozen=True)
class Agreement(FlatRow):
    """A measure of agreement with the limits of its interval.

    Values that cannot be computed are ``None``; ``note`` explains why. ``items`` counts the items,
    ``judges`` the judges.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    judges: int
    note: str = ""


Statistic = Callable[[Floats], Floats]
"""Computes a figure from sums over items, one row per sample; nan if all values are equal."""


def _measured(
    measure: str, judgements: pl.DataFrame, columns: Floats, statistic: Statistic
) -> Agreement:
    """Compute a figure and its interval, from columns with one row per item."""
    items, judges = len(columns), judgements["judge"].n_unique()
    value = float(statistic(columns.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        return Agreement(measure, None, None, None, items, judges, ONE_VALUE)
    if items == 1:
        note = "one item cannot be resampled: no interval"
        return Agreement(measure, value, None, None, items, judges, note)
    drawn = statistic(resampled_sums(columns, _SAMPLES, _SEED))
    known = drawn[~np.isnan(drawn)]
    lost = len(drawn) - len(known)
    note = f"in {lost:,} of {len(drawn):,} samples all judgements are equal" if lost else ""
    if lost > len(known):
        return Agreement(measure, value, None, None, items, judges, f"{note}: no interval")
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(known, [tail, 1 - tail], method="inverted_cdf")
    if np.ptp(known) == 0:
        note = "no variation between samples: the interval is not informative"
    return Agreement(measure, value, float(low), float(high), items, judges, note)


def _item_and_value(judgements: pl.DataFrame) -> tuple[Integers, Integers]:
    """Number the items in order of first occurrence, and the values in ascending order."""
    items = cluster_codes(judgements["item"].to_list(), judgements.height)
    values = np.unique(judgements["value"].to_numpy(), return_inverse=True)[1]
    return items, values.astype(np.int64)


def _counts(judgements: pl.DataFrame) -> Floats:
    """Count the judges per item (row) and value (column)."""
    items, values = _item_and_value(judgements)
    counts = np.zeros((items.max() + 1, values.max() + 1))
    np.add.at(counts, (items, values), 1)
    return counts


def raw_agreement(judgements: pl.DataFrame) -> Agreement:
    """Return the share of pairs of judgements of one item that are equal."""
    counts = _counts(judgements)
    sizes = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    columns = np.stack([agreeing, sizes * (sizes - 1)], axis=1)
    return _measured("raw", judgements, columns, lambda sums: sums[:, 0] / sums[:, 1])


def cohens_kappa(judgements: pl.DataFrame) -> Agreement:
    """Compute the agreement of two judges beyond chance, as expected from each judge's totals.

    κ = 1 - Σ o / Σ e over pairs of different values, with o the number of items with the pair and e
    the number expected from each judge's totals. Undefined if both judges used a single, common
    value. There are two judges, and both judged every item.

    Cohen (1960), A Coefficient of Agreement for Nominal Scales.
    """
    items, values = _item_and_value(judgements)
    apart = 1.0 - np.eye(values.max() + 1)
    both = np.zeros((items.max() + 1, 2), dtype=np.int64)  # the values of the two judges
    both[items, cluster_codes(judgements["judge"].to_list(), len(items))] = values
    # The non-empty cells of the two judges' table, and the cell of each item.
    cells, which = np.unique(both, axis=0, return_inverse=True)
    columns = np.zeros((len(both), len(cells)))
    columns[np.arange(len(both)), which.reshape(-1)] = 1

    def kappa(sums: Floats) -> Floats:
        first, second = (sums @ np.eye(len(apart))[cells[:, judge]] for judge in (0, 1))
        observed = sums @ apart[cells[:, 0], cells[:, 1]]
        expected = ((first @ apart) * second).sum(axis=1) / sums.sum(axis=1)
        one_value = np.count_nonzero(first + second, axis=1) < 2
        return np.where(one_value, np.nan, 1 - observed / np.where(one_value, 1.0, expected))

    return _measured("kappa", judgements, columns, kappa)


def krippendorffs_alpha(judgements: pl.DataFrame, metric: Metric = "nominal") -> Agreement:
    """Compute the agreement of any number of judges beyond chance; judgements may be missing.

    α = 1 - (n - 1) · Σ o·δ² / Σ n_c·n_k·δ² over values c and k, with o the coincidences (each pair
    of an item with m judgements counts 1/(m - 1)), n_c their totals and n the overall total. δ is 1
    for different values (nominal), or the difference of their mean ranks among all judgements
    (ordinal). Undefined if all judgements are equal.

    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    counts = _counts(judgements)
    # How often two values coincide in each item, in both orders; pairs that never do are left out.
    cells = np.argwhere(np.triu(counts.T @ counts))
    one, other = counts[:, cells[:, 0]], counts[:, cells[:, 1]]
    met = np.where(cells[:, 0] == cells[:, 1], one * (one - 1), 2 * one * other)
    columns = met / (counts.sum(axis=1) - 1)[:, None]
    disagreement = _nominal if metric == "nominal" else _ordinal

    def alpha(sums: Floats) -> Floats:
        totals = sums @ (np.eye(counts.shape[1])[cells].sum(axis=1) / 2)
        observed, expected = disagreement(sums, totals, cells)
        one_value = np.count_nonzero(totals, axis=1) < 2
        chance = np.where(one_value, 1.0, expected)
        return np.where(one_value, np.nan, 1 - (totals.sum(axis=1) - 1) * observed / chance)

    return _measured(f"alpha(metric={metric})", judgements, columns, alpha)


_Two = tuple[Floats, Floats]  # disagreement as observed, and as expected by chance


def _nominal(sums: Floats, totals: Floats, cells: Integers) -> _Two:
    apart = cells[:, 0] != cells[:, 1]
    return sums[:, apart].sum(axis=1), totals.sum(axis=1) ** 2 - np.square(totals).sum(axis=1)


def _ordinal(sums: Floats, totals: Floats, cells: Integers) -> _Two:
    """Compute Σ o·δ² and Σ n_c·n_k·δ²; the latter is 2·n·Σ n_c·x_c² with centred mean ranks x."""
    ranks = np.cumsum(totals, axis=1) - totals / 2
    size = totals.sum(axis=1, keepdims=True)
    centred = ranks - (totals * ranks).sum(axis=1, keepdims=True) / size
    apart = np.square(centred[:, cells[:, 0]] - centred[:, cells[:, 1]])
    spread = (totals * np.square(centred)).sum(axis=1)
    return (sums * apart).sum(axis=1), 2 * size[:, 0] * spread
