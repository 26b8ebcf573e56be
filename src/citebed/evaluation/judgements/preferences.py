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
from citebed.evaluation.statistics.units import Floats, Integers, cluster_codes
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
    resampling = resampling or Resampling()
    first, second, wins = _checked(preferences)
    names = sorted({*first, *second})
    codes = {name: code for code, name in enumerate(names)}
    pairs = np.array([[codes[name] for name in column] for column in (first, second)])
    _check_connected(names, pairs, wins)
    strengths = _fit(pairs, wins, len(names))
    errors = np.full(len(names), np.nan)
    clusters = preferences["cluster"].to_list() if "cluster" in preferences.columns else None
    units = np.arange(len(wins)) if clusters is None else cluster_codes(clusters, len(wins))
    reach = np.nan
    if (groups := int(units.max()) + 1) > 1:
        from scipy.special import stdtrit

        errors = _standard_errors(pairs, wins, strengths, units)
        reach = float(stdtrit(groups - 1, (1 + resampling.level) / 2))
    table = pl.DataFrame(
        {
            "item": names, "strength": strengths, "low": strengths - reach * errors,
            "high": strengths + reach * errors,
            "comparisons": np.bincount(pairs.ravel(), minlength=len(names)),
        }
    )  # fmt: skip
    return table.sort("strength", "item", descending=[True, False]).fill_nan(None)


def _checked(preferences: pl.DataFrame) -> tuple[list[str], list[str], Floats]:
    """Return both names of each pair, and the first one's share of the preference."""
    missing = [each for each in ("first", "second", "preferred") if each not in preferences.columns]
    if missing or not preferences.height:
        what = f"no column '{missing[0]}'" if missing else "no rows"
        raise CitebedError(f"the preferences have {what}. Give first, second and preferred.")
    columns = preferences.select(pl.col("first", "second", "preferred").cast(pl.String))
    for number, (one, other, preferred) in enumerate(columns.iter_rows(), 1):
        if one is None or other is None or one == other:
            raise CitebedError(f"preference {number}: expected two different items.")
        if preferred not in (one, other, None):
            raise CitebedError(
                f"preference {number}: '{preferred}' is neither '{one}' nor '{other}'. "
                "Leave it empty for a tie."
            )
    first, second, preferred = (columns[name].to_list() for name in columns.columns)
    wins = [0.5 if p is None else float(p == one) for p, one in zip(preferred, first, strict=True)]
    return first, second, np.array(wins)


def _check_connected(names: list[str], pairs: Integers, wins: Floats) -> None:
    """Raise an error unless every item is preferred, over some steps, to every other one."""
    above = np.hstack([pairs[:, wins > 0], pairs[::-1, wins < 1]])
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


def _fit(pairs: Integers, wins: Floats, items: int) -> Floats:
    """Maximise the likelihood (Hunter 2004, section 3)."""
    won = np.bincount(pairs[0], wins, items) + np.bincount(pairs[1], 1 - wins, items)
    strength = np.ones(items)
    for _ in range(_MOST_STEPS):
        met = 1.0 / (strength[pairs[0]] + strength[pairs[1]])
        below = np.bincount(pairs[0], met, items) + np.bincount(pairs[1], met, items)
        new = won / below
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < _PRECISION:
            break
        strength = new
    else:
        raise CitebedError("the strengths did not converge: some groups of items hardly meet.")
    return np.asarray(np.log(new))


def _standard_errors(pairs: Integers, wins: Floats, strengths: Floats, units: Integers) -> Floats:
    """Compute cluster-robust standard errors (Liang & Zeger 1986) of strengths that sum to 0."""
    chance = 1.0 / (1.0 + np.exp(strengths[pairs[1]] - strengths[pairs[0]]))
    items, groups = len(strengths), int(units.max()) + 1
    weight = chance * (1 - chance)
    information = np.zeros((items, items))
    np.add.at(information, (pairs[0], pairs[0]), weight)
    np.add.at(information, (pairs[1], pairs[1]), weight)
    np.add.at(information, (pairs[0], pairs[1]), -weight)
    np.add.at(information, (pairs[1], pairs[0]), -weight)
    scores = np.zeros((groups, items))
    np.add.at(scores, (units, pairs[0]), wins - chance)
    np.add.at(scores, (units, pairs[1]), chance - wins)
    inverse = np.linalg.pinv(information, hermitian=True)
    spread = inverse @ (scores.T @ scores) @ inverse * groups / (groups - 1)
    return np.asarray(np.sqrt(np.maximum(np.diag(spread), 0.0)))
