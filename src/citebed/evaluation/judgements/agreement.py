"""Agreement of judges: raw agreement, Cohen's kappa and Krippendorff's alpha, with intervals.

Judgements are a table with the columns ``item``, ``judge`` and ``value``. Null and nan values are
missing. Values are numbers, or words whose order is given by ``scale``, lowest first.

Every figure is a function of sums over items. Its interval comes from resampling the items that
several judges judged, as a sample of all items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.resampling import resampled_sums
from citebed.evaluation.statistics.units import Floats, Integers, cluster_codes
from citebed.frames import FlatRow
from citebed.wording import shorten

Columns = pl.DataFrame | Mapping[str, Sequence[Any]]
"""Judgements in the columns ``item``, ``judge`` and ``value``."""
Scale = Sequence[Any]
"""All possible values, lowest first."""
Metric = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]

ONE_VALUE = "all judgements are identical, so chance agreement is undefined"
NO_PAIRS = "no item was judged by two judges"


@dataclass(frozen=True)
class Agreement(FlatRow):
    """A measure of agreement with the limits of its interval.

    Values that cannot be computed are ``None``; ``note`` explains why. ``items`` counts the items
    with two or more judges, ``judges`` the judges of these items.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    judges: int
    note: str = ""


@dataclass(frozen=True)
class Bootstrap:
    """Options of intervals, which are percentiles over resampled items."""

    level: float = 0.95
    samples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise CitebedError(
                f"found level={self.level}, expected a share between 0 and 1, such as 0.95"
            )


USUAL = Bootstrap()


# --- the judgements -------------------------------------------------------------------------


class _Coded(NamedTuple):
    """Judgements of items with several judges, coded as numbers from 0, one row each."""

    items: Integers
    judges: Integers
    values: Integers
    names: tuple[Any, ...]
    scale: tuple[Any, ...]
    ordered: bool

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(np.unique(self.items))

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(np.unique(self.judges))

    def places(self, what: str) -> Floats:
        """Return the values as numbers; words by their position on the scale."""
        if not self.ordered:
            raise CitebedError(
                f"{what} needs values in an order, found words such as "
                f"'{shorten(str(self.scale[0]))}': give all of them as the scale, lowest first."
            )
        numeric = all(isinstance(value, int | float) for value in self.scale)
        return np.array(self.scale if numeric else range(len(self.scale)), dtype=np.float64)


def _coded(judgements: Columns, scale: Scale | None, among: Sequence[Any] = ()) -> _Coded:
    """Code the judgements of items with two or more judges, optionally of some judges only."""
    table = _table(judgements)
    if among:
        known = {str(judge) for judge in table["judge"].unique().to_list()}
        for judge in among:
            if str(judge) not in known:
                raise UnknownName("judge", str(judge), known)
        table = table.filter(pl.col("judge").cast(pl.String).is_in([str(judge) for judge in among]))
    shared = table.filter(pl.len().over("item") > 1)
    values = table["value"].unique().sort().to_list()
    whole = tuple(values if scale is None else scale)
    place = {value: at for at, value in enumerate(whole)}
    for value in values:
        if value not in place:
            raise CitebedError(f"the value '{value}' is not on the scale {list(whole)}.")
    judges = shared["judge"].to_list()
    return _Coded(
        cluster_codes(shared["item"].to_list(), len(shared)),
        cluster_codes(judges, len(shared)),
        np.array([place[value] for value in shared["value"].to_list()], dtype=np.int64),
        tuple(dict.fromkeys(judges)),
        whole,
        scale is not None or not any(isinstance(value, str) for value in whole),
    )


def _table(judgements: Columns) -> pl.DataFrame:
    """Drop missing values; raise an error if a judge judged an item twice."""
    table = judgements if isinstance(judgements, pl.DataFrame) else pl.DataFrame(judgements)
    lost = [name for name in ("item", "judge", "value") if name not in table.columns]
    if lost:
        raise CitebedError(
            f"judgements have no column '{lost[0]}': expected item, judge and value, "
            f"found {', '.join(table.columns) or 'none'}."
        )
    table = table.select("item", "judge", "value").drop_nulls("value")
    if table["item"].null_count() or table["judge"].null_count():
        raise CitebedError("found a judgement without an item or a judge: give both.")
    if table["value"].dtype.is_float():
        table = table.filter(pl.col("value").is_not_nan())
    twice = table.filter(pl.struct("item", "judge").is_duplicated())
    if len(twice):
        item, judge, _ = twice.row(0)
        raise CitebedError(
            f"'{judge}' judged the item '{item}' more than once: give the current judgement only."
        )
    return table


# --- resampling -----------------------------------------------------------------------------

Statistic = Callable[[Floats], Floats]
"""Computes a figure from sums over items, one row per sample; nan if all values are equal."""

_BLOCK = 1 << 22  # numbers in memory at a time


def _measured(
    measure: str, coded: _Coded, columns: Floats, statistic: Statistic, bootstrap: Bootstrap
) -> Agreement:
    """Compute a figure and its interval, from columns with one row per item."""
    items, judges = coded.n_items, coded.n_judges
    if not items:
        return Agreement(measure, None, None, None, 0, 0, NO_PAIRS)
    value = float(statistic(columns.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        return Agreement(measure, None, None, None, items, judges, ONE_VALUE)
    if items == 1:
        note = "one item cannot be resampled: no interval"
        return Agreement(measure, value, None, None, items, judges, note)
    low, high, note = _limits(columns, statistic, bootstrap)
    return Agreement(measure, value, low, high, items, judges, note)


def _limits(
    columns: Floats, statistic: Statistic, bootstrap: Bootstrap
) -> tuple[float | None, float | None, str]:
    """Return the percentiles of a figure over resampled items, and a note."""
    step = max(1, _BLOCK // max(1, columns.shape[1]))
    starts = range(0, max(1, bootstrap.samples), step)
    seeds = np.random.SeedSequence(bootstrap.seed).generate_state(len(starts))
    blocks = [
        statistic(resampled_sums(columns, min(step, bootstrap.samples - start), int(seed)))
        for start, seed in zip(starts, seeds, strict=True)
    ]
    drawn = np.concatenate(blocks)
    known = drawn[~np.isnan(drawn)]
    lost = len(drawn) - len(known)
    note = f"in {lost:,} of {len(drawn):,} samples all judgements are equal" if lost else ""
    if lost > len(known):
        return None, None, f"{note}: no interval"
    tail = (1 - bootstrap.level) / 2
    low, high = np.quantile(known, [tail, 1 - tail], method="inverted_cdf")
    if np.ptp(known) == 0:
        note = "no variation between samples: the interval is not informative"
    return float(low), float(high), note


# --- raw agreement --------------------------------------------------------------------------


def raw_agreement(judgements: Columns, *, bootstrap: Bootstrap = USUAL) -> Agreement:
    """Return the share of pairs of judgements of one item that are equal."""
    coded = _coded(judgements, None)
    counts = _counts(coded)
    sizes = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    columns = np.stack([agreeing, sizes * (sizes - 1)], axis=1)
    return _measured("raw", coded, columns, lambda sums: sums[:, 0] / sums[:, 1], bootstrap)


def _counts(coded: _Coded) -> Floats:
    """Count the judges per item (row) and value (column)."""
    counts = np.zeros((coded.n_items, len(coded.scale)))
    np.add.at(counts, (coded.items, coded.values), 1)
    return counts


# --- Cohen's kappa --------------------------------------------------------------------------


def cohens_kappa(
    judgements: Columns,
    *,
    judges: tuple[Any, Any] | None = None,
    weights: Weights = "none",
    scale: Scale | None = None,
    bootstrap: Bootstrap = USUAL,
) -> Agreement:
    """Compute the agreement of two judges beyond chance, as expected from each judge's totals.

    κ = 1 - Σ w·o / Σ w·e over pairs of values, with o the number of items with the pair and e the
    number expected from each judge's totals. The weight w is 0 for equal values and 1 for others,
    or with ``weights`` the distance of the values or its square. With more than two judges, name a
    pair, or use alpha. Undefined if both judges used a single, common value.

    Cohen (1960), A Coefficient of Agreement for Nominal Scales; Cohen (1968), Weighted kappa.
    """
    measure = "kappa" if weights == "none" else f"kappa(weights={weights})"
    if weights not in WEIGHTS:
        raise UnknownName("weights", weights, WEIGHTS)
    coded = _coded(judgements, scale, judges or ())
    if coded.n_judges > 2:
        note = f"kappa needs two judges, found {coded.n_judges}: name a pair, or use alpha"
        return Agreement(measure, None, None, None, coded.n_items, coded.n_judges, note)
    places = np.arange(len(coded.scale)) if weights == "none" else coded.places(measure)
    apart = WEIGHTS[weights](np.abs(places[:, None] - places[None, :]).astype(np.float64))
    both = np.zeros((coded.n_items, 2), dtype=np.int64)  # the values of the two judges
    both[coded.items, coded.judges] = coded.values
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

    return _measured(measure, coded, columns, kappa, bootstrap)


WEIGHTS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda distance: (distance > 0).astype(np.float64),
    "linear": lambda distance: distance,
    "quadratic": np.square,
}
"""The weight of a disagreement, as a function of the distance of the values."""


# --- Krippendorff's alpha -------------------------------------------------------------------


def krippendorffs_alpha(
    judgements: Columns,
    *,
    metric: Metric = "nominal",
    scale: Scale | None = None,
    bootstrap: Bootstrap = USUAL,
) -> Agreement:
    """Compute the agreement of any number of judges beyond chance; judgements may be missing.

    α = 1 - (n - 1) · Σ o·δ² / Σ n_c·n_k·δ² over values c and k, with o the coincidences (each pair
    of an item with m judgements counts 1/(m - 1)), n_c their totals and n the overall total. δ is 1
    for different values (nominal), the difference of the values (interval), or the difference of
    their mean ranks among all judgements (ordinal). Undefined if all judgements are equal.

    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    disagreement = METRICS.get(metric)
    if disagreement is None:
        raise UnknownName("metric", metric, METRICS)
    measure = f"alpha(metric={metric})"
    coded = _coded(judgements, scale)
    if metric == "interval" and not all(isinstance(v, int | float) for v in coded.scale):
        raise CitebedError(f"{measure} needs numbers, found '{shorten(str(coded.scale[0]))}'.")
    places = np.zeros(len(coded.scale)) if metric == "nominal" else coded.places(measure)
    counts = _counts(coded)
    # How often two values coincide in each item, in both orders; pairs that never do are left out.
    cells = np.argwhere(np.triu(counts.T @ counts))
    one, other = counts[:, cells[:, 0]], counts[:, cells[:, 1]]
    met = np.where(cells[:, 0] == cells[:, 1], one * (one - 1), 2 * one * other)
    columns = met / (counts.sum(axis=1) - 1)[:, None]

    def alpha(sums: Floats) -> Floats:
        totals = sums @ (np.eye(len(places))[cells].sum(axis=1) / 2)
        observed, expected = disagreement(sums, totals, cells, places)
        one_value = np.count_nonzero(totals, axis=1) < 2
        chance = np.where(one_value, 1.0, expected)
        return np.where(one_value, np.nan, 1 - (totals.sum(axis=1) - 1) * observed / chance)

    return _measured(measure, coded, columns, alpha, bootstrap)


_Two = tuple[Floats, Floats]  # disagreement as observed, and as expected by chance


def _nominal(sums: Floats, totals: Floats, cells: Integers, _places: Floats) -> _Two:
    apart = cells[:, 0] != cells[:, 1]
    return sums[:, apart].sum(axis=1), totals.sum(axis=1) ** 2 - np.square(totals).sum(axis=1)


def _interval(sums: Floats, totals: Floats, cells: Integers, places: Floats) -> _Two:
    """Compute Σ o·δ² and Σ n_c·n_k·δ²; the latter is 2·n·Σ n_c·x_c² with x the centred value."""
    size = totals.sum(axis=1, keepdims=True)
    centred = places - (totals * places).sum(axis=1, keepdims=True) / size
    apart = np.square(centred[:, cells[:, 0]] - centred[:, cells[:, 1]])
    spread = (totals * np.square(centred)).sum(axis=1)
    return (sums * apart).sum(axis=1), 2 * size[:, 0] * spread


def _ordinal(sums: Floats, totals: Floats, cells: Integers, _places: Floats) -> _Two:
    """Apply the interval metric to mean ranks."""
    return _interval(sums, totals, cells, np.cumsum(totals, axis=1) - totals / 2)


METRICS: dict[str, Callable[[Floats, Floats, Integers, Floats], _Two]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
"""Observed and expected disagreement, by metric."""
