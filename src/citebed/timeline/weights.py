"""How much each slice matters to a query, P(i|q): named weightings.

All are over the slices in which the query has relevant documents, and add up to 1 for it.
Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.tables import Floats
from citebed.timeline.cells import Cells
from citebed.timeline.slices.uniform import seconds_of

Weighting = Callable[[Cells, str], Floats]


def _uniform(cells: Cells, _: str) -> Floats:
    """1/T each: every slice matters as much (the paper's usage scenario U1)."""
    return np.ones(len(cells))


def _burst(cells: Cells, _: str) -> Floats:
    """#R(i,q) over their sum: as much as it has relevant documents (U2, equation 2)."""
    return cells.relevant.astype(np.float64)


def _recency(cells: Cells, half_life: str) -> Floats:
    """2^(-age/half-life): half as much for each half-life that a slice ended before the last."""
    if not half_life:
        raise CitebedError("recency needs a half-life. Write recency:30d, for example.")
    age = cells.slices.ends[-1] - cells.slices.ends[cells.slice]
    return np.asarray(np.exp2(-age / seconds_of(half_life)))


WEIGHTINGS: dict[str, Weighting] = {"uniform": _uniform, "burst": _burst, "recency": _recency}


def weights_of(text: str, cells: Cells) -> Floats:
    """The weight of each cell, adding up to 1 for each query: uniform, burst or recency:30d."""
    name, colon, parameter = text.partition(":")
    if name not in WEIGHTINGS:
        raise UnknownName("weighting", name, WEIGHTINGS)
    if colon and name != "recency":
        raise CitebedError(f"the weighting {name} takes no parameter; found '{text}'.")
    raw = WEIGHTINGS[name](cells, parameter)
    # Ages of many half-lives make weights of nearly 0: only their proportions count.
    totals = np.bincount(cells.query, raw, len(cells.truth.judged.query_ids))
    return np.asarray(raw / totals[cells.query])
