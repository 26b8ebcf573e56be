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

from citebed.errors import CitebedError
from citebed.evaluation.options import Resampling
from citebed.evaluation.statistics.intervals import mean_intervals
from citebed.evaluation.statistics.units import Floats, Integers
from citebed.runs.ranking import encode_values
from citebed.wording import count

_MOST_STEPS, _PRECISION = 100_000, 1e-10


def score_preferences(
    preferences: pl.DataFrame, resampling: Resampling | None = None
) -> pl.DataFrame:
    """Return ``item, strength, low, high, comparisons``, the strongest item first.

    ``preferences`` has the columns ``first``, ``second`` and ``preferred``: the name of one of the
    two, or null for a tie. With a column ``cluster`` (a judge or a paper), intervals treat the
    preferences of one cluster as dependent; otherwise each one is independent.
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
    _check_connected(items.to_list(), pairs, won)
    strengths = _fit(pairs, won, len(items))
    # The mean of these values is the strengths, and their spread that of each preference's
    # influence on them: the errors are robust to dependence within clusters (Liang & Zeger 1986).
    chance = 1.0 / (1.0 + np.exp(strengths[pairs[1]] - strengths[pairs[0]]))
    design = np.eye(len(items))[pairs[0]] - np.eye(len(items))[pairs[1]]
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    scores = design * (won - chance)[:, None]
    intervals = mean_intervals(
        strengths + len(won) * scores @ np.linalg.pinv(information, hermitian=True),
        clusters=preferences["cluster"].to_list() if "cluster" in preferences.columns else None,
        level=(resampling or Resampling()).level,
        method="t",
    )
    return (
        pl.DataFrame(
            {
                "item": items,
                "strength": strengths,
                "low": [limits.low for limits in intervals],
                "high": [limits.high for limits in intervals],
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


def _fit(pairs: Integers, won: Floats, items: int) -> Floats:
    """Maximise the likelihood (Hunter 2004, section 3)."""
    wins = np.bincount(pairs[0], won, items) + np.bincount(pairs[1], 1 - won, items)
    strength = np.ones(items)
    for _ in range(_MOST_STEPS):
        met = 1.0 / (strength[pairs[0]] + strength[pairs[1]])
        new = wins / (np.bincount(pairs[0], met, items) + np.bincount(pairs[1], met, items))
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < _PRECISION:
            return np.asarray(np.log(new))
        strength = new
    raise CitebedError("the strengths did not converge: some groups of items hardly meet.")
