"""Slices that are finer in bursts, found by Kleinberg's automaton with two states.

Documents come at rate α₀ = n/T in the quiet state and s·α₀ in the burst state; the gap x before
a document costs -ln α + α·x in the state of rate α. Entering the burst state costs γ·ln n, leaving
it nothing. The cheapest sequence of states is found by dynamic programming.
Kleinberg, Bursty and Hierarchical Structure in Streams, KDD 2002; s = 2 and γ = 1 as there.
"""

from __future__ import annotations

import math

import numpy as np

from citebed.errors import CitebedError
from citebed.runs.tables import Flags, Ints
from citebed.runs.times import format_span
from citebed.timeline.slices.base import Range, Slices
from citebed.timeline.slices.uniform import MONTH, check_count, parse_length, seconds_of

COARSE, FINE = "7d", "1d"
RATIO, GAMMA = 2.0, 1.0


def burst(coarse: str, fine: str, over: Range) -> Slices:
    """Slices of length ``coarse``, out of which those of length ``fine`` that meet a burst are cut.

    Bursts are of the relevant documents of all queries together.
    """
    if MONTH in (parse_length(coarse)[1], parse_length(fine)[1]):
        raise CitebedError(f"burst:{coarse}/{fine}: write both lengths in days or hours.")
    long, short = seconds_of(coarse), seconds_of(fine)
    if short >= long or long % short:
        raise CitebedError(
            f"burst:{coarse}/{fine}: {format_span(long)} are not a multiple of the finer length."
        )
    over.check_length(coarse, long)
    check_count(fine, over.length / short)
    times = over.within()
    busy = times[bursting(times, over.since, over.until)] if len(times) else times
    bursts = over.since + np.unique((busy - over.since) // short) * short
    ends = np.minimum(bursts + short, over.until)
    whole = np.arange(over.since, over.until, long)
    bounds = np.unique(np.concatenate((whole, bursts, ends, [over.until])))
    return Slices(f"burst:{coarse}/{fine}", bounds)


def bursting(times: Ints, start: int, end: int, s: float = RATIO, gamma: float = GAMMA) -> Flags:
    """Which of the documents, given by their times in order, come in a burst."""
    n = len(times)
    rate = n / (end - start)
    gaps = np.diff(times, prepend=start)
    # How much more the burst state costs than the quiet one, document by document.
    extra = (-math.log(s) + (s - 1) * rate * gaps).tolist()
    enter = gamma * math.log(n)
    # With the quiet path's cost as zero, the burst path's is `ahead`; a path may leave a burst
    # for nothing, so the difference carried on is never below 0 nor above the cost to enter.
    ahead, carried = enter, []
    for cost in extra:
        kept = min(max(ahead, 0.0), enter)
        ahead = kept + cost
        carried.append(ahead)
    return _states(carried, enter)


def _states(carried: list[float], enter: float) -> Flags:
    """Go back along the cheapest path: True in the burst state."""
    busy = np.zeros(len(carried), bool)
    state = bool(carried) and carried[-1] < 0
    for at in range(len(carried) - 1, -1, -1):
        busy[at] = state
        if at:
            state = carried[at - 1] < (enter if state else 0.0)
    return busy
