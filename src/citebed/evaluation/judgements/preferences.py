"""Scores of items from preferences between two of them: the model of Bradley and Terry.

An item of strength s_i is preferred to one of strength s_j with probability 1/(1 + exp(s_j - s_i)).
A tie counts half a preference for each. The strengths are those of the highest likelihood, found by
Hunter's MM algorithm, and sum to 0.

Bradley & Terry (1952), Rank Analysis of Incomplete Block Designs; Hunter (2004), MM algorithms for
generalized Bradley-Terry models; Ford (1957) on when strengths exist.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from citebed.errors import CitebedError
from citebed.evaluation.options import Resampling
from citebed.evaluation.statistics.intervals import mean_intervals
from citebed.evaluation.statistics.units import Floats, Integers
from citebed.runs.ranking import encode_values
from citebed.wording import count

_MOST_STEPS, _PRECISION = 100_000, 1e-10


def score_preferences(
    preferences: pl.DataFrame, resampling: Resampling | None = None, *, prior: float = 0.0
) -> pl.DataFrame:
    """Return ``item, strength, low, high, comparisons``, the strongest item first.

    ``preferences`` has the columns ``first``, ``second`` and ``preferred``: the name of one of the
    two, or null for a tie. With a column ``cluster`` (a judge or a paper), intervals treat the
    preferences of one cluster as dependent; otherwise each one is independent.

    ``prior``: how often each item also ties with an average item. With 1, the strength of an item
    that always wins stays finite; without it, such items are an error. Intervals with a prior are
    never shorter than the model's own (Laplace's approximation).
    """
    wanted = ["first", "second", "preferred"]
    missing = [name for name in wanted if name not in preferences.columns]
    if missing or not preferences.height:
        what = f"no column '{missing[0]}'" if missing else "no rows"
        raise CitebedError(f"the preferences have {what}. Give first, second and preferred.")
    table = preferences.select(pl.col(wanted).cast(pl.String))
    for number, (one, other, preferred) in enumerate(table.iter_rows(), 1):
        if one is None or other is None or one == other:
            raise CitebedError(f"preference {number}: expected two different items.")
        if preferred not in (one, other, None):
            raise CitebedError(
                f"preference {number}: '{preferred}' is neither '{one}' nor '{other}'. "
                "Leave it empty for a tie."
            )
    won = (table["preferred"] == table["first"]).cast(pl.Float64).fill_null(0.5).to_numpy()
    items = pl.concat([table["first"], table["second"]]).unique().sort()
    pairs = np.stack([encode_values(table[name], items) for name in ("first", "second")])
    if prior <= 0:
        _check_connected(items.to_list(), pairs, won)
    strengths = _fit(pairs, won, len(items), prior)
    # The mean of these values is the strengths, and their spread that of each preference's
    # influence on them: the errors are robust to dependence within clusters (Liang & Zeger 1986).
    chance = 1.0 / (1.0 + np.exp(strengths[pairs[1]] - strengths[pairs[0]]))
    design = np.eye(len(items))[pairs[0]] - np.eye(len(items))[pairs[1]]
    average = 1.0 / (1.0 + np.exp(-strengths))  # the chance to win against an average item
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    information += np.diag(prior * average * (1 - average))
    scores = design * (won - chance)[:, None] + prior * (0.5 - average) / len(won)
    centre = np.eye(len(items)) - 1 / len(items)  # strengths are relative to their mean
    spread = centre @ np.linalg.pinv(information, hermitian=True) @ centre
    strengths, level = centre @ strengths, (resampling or Resampling()).level
    clusters = preferences["cluster"].to_list() if "cluster" in preferences.columns else None
    values = strengths + len(won) * scores @ spread
    limits = mean_intervals(values, clusters=clusters, level=level, method="t")
    low, high = np.array([(each.low, each.high) for each in limits]).T
    if prior > 0:  # few clusters can agree by chance: use at least the model's own error
        reach = float(ndtri((1 + level) / 2)) * np.sqrt(np.diag(spread))
        low, high = np.fmin(low, strengths - reach), np.fmax(high, strengths + reach)
    return (
        pl.DataFrame(
            {
                "item": items,
                "strength": strengths,
                "low": low,
                "high": high,
                "comparisons": np.bincount(pairs.ravel(), minlength=len(items)),
            }
        )
        .sort("strength", "item", descending=[True, False])
        .fill_nan(None)
    )


def _check_connected(names: list[str], pairs: Integers, won: Floats) -> None:
    """Raise an error unless every item is preferred, over some steps, to every other one."""
    above = np.hstack([pairs[:, won > 0], pairs[::-1, won < 1]])
    graph = coo_array((np.ones(above.shape[1]), tuple(above)), shape=(len(names),) * 2)
    for connection, what in (
        ("weak", "no preference connects"),
        ("strong", "one group always wins against the other, so the strengths are unbounded:"),
    ):
        groups, group = connected_components(graph, connection=connection)
        if groups > 1:
            other = names[int(np.flatnonzero(group != group[0])[0])]
            raise CitebedError(
                f"{what} '{names[0]}' and '{other}' ({count(groups, 'group')}). "
                "Collect preferences between the groups, or score each group alone."
            )


def _fit(pairs: Integers, won: Floats, items: int, prior: float) -> Floats:
    """Maximise the likelihood (Hunter 2004, section 3)."""
    wins = np.bincount(pairs[0], won, items) + np.bincount(pairs[1], 1 - won, items) + prior / 2
    strength = np.ones(items)
    for _ in range(_MOST_STEPS):
        met = 1.0 / (strength[pairs[0]] + strength[pairs[1]])
        meetings = np.bincount(pairs[0], met, items) + np.bincount(pairs[1], met, items)
        new = wins / (meetings + prior / (1.0 + strength))
        if prior <= 0:
            new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < _PRECISION:
            return np.asarray(np.log(new))
        strength = new
    raise CitebedError("the strengths did not converge: some groups of items hardly meet.")
