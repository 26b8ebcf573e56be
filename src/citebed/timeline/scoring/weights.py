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
from citebed.timeline.scoring.topic_slices import TopicSlices

Weighting = Callable[[TopicSlices, str], Floats]


def _uniform(pairs: TopicSlices, _: str) -> Floats:
    """1/T each: every slice matters as much (the paper's usage scenario U1)."""
    return np.ones(len(pairs))


def _burst(pairs: TopicSlices, _: str) -> Floats:
    """#R(i,q) over their sum: as much as it has relevant documents (U2, equation 2)."""
    return pairs.relevant.astype(np.float64)


def _recency(pairs: TopicSlices, half_life: str) -> Floats:
    """2^(-age/half-life): half as much for each half-life that a slice ended before the last."""
    if not half_life:
        raise CitebedError("recency needs a half-life. Write recency:30d, for example.")
    ends = pairs.slices.ends[pairs.slice]
    # Only proportions count: ages are those against a query's own last slice, lest all become 0.
    last = np.zeros(len(pairs.qrels.query_ids), ends.dtype)
    np.maximum.at(last, pairs.query, ends)
    return np.asarray(np.exp2((ends - last[pairs.query]) / seconds_of(half_life)))


WEIGHTINGS: dict[str, Weighting] = {"uniform": _uniform, "burst": _burst, "recency": _recency}


def weights_of(text: str, pairs: TopicSlices) -> Floats:
    """The weight of each pair, adding up to 1 for each query: uniform, burst or recency:30d."""
    name, colon, parameter = text.partition(":")
    if name not in WEIGHTINGS:
        raise UnknownName("weighting", name, WEIGHTINGS)
    if colon and name != "recency":
        raise CitebedError(f"the weighting {name} takes no parameter; found '{text}'.")
    raw = WEIGHTINGS[name](pairs, parameter)
    totals = np.bincount(pairs.query, raw, len(pairs.qrels.query_ids))
    return np.asarray(raw / totals[pairs.query])
