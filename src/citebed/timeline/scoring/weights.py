"""How much each slice matters to a query, P(i|q): named weightings.

All are over the slices in which the query has relevant documents, and add up to 1 for it.
Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.runs.tables import Floats
from citebed.timeline.lengths import seconds_of
from citebed.timeline.scoring.query_slices import Cells

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
    ends = cells.slices.ends[cells.slice]
    # Only proportions count: ages are those against a query's own last slice, lest all become 0.
    last = np.zeros(len(cells.truth.judged.query_ids), ends.dtype)
    np.maximum.at(last, cells.query, ends)
    return np.asarray(np.exp2((ends - last[cells.query]) / seconds_of(half_life)))


WEIGHTINGS: dict[str, Weighting] = {"uniform": _uniform, "burst": _burst, "recency": _recency}


def weights_of(text: str, cells: Cells) -> Floats:
    """The weight of each cell, adding up to 1 for each query: uniform, burst or recency:30d."""
    name, colon, parameter = text.partition(":")
    if name not in WEIGHTINGS:
        raise UnknownName("weighting", name, WEIGHTINGS)
    if colon and name != "recency":
        raise CitebedError(f"the weighting {name} takes no parameter; found '{text}'.")
    raw = WEIGHTINGS[name](cells, parameter)
    totals = np.bincount(cells.query, raw, len(cells.truth.judged.query_ids))
    return np.asarray(raw / totals[cells.query])
