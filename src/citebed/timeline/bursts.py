"""Bursts in a stream, found by Kleinberg's automaton with two states.

Documents come at rate α₀ = n/T in the quiet state and s·α₀ in the burst state; the gap x before
a document costs -ln α + α·x in the state of rate α. Entering the burst state costs γ·ln n, leaving
it nothing. The cheapest sequence of states is found by dynamic programming.
Kleinberg, Bursty and Hierarchical Structure in Streams, KDD 2002; s = 2 and γ = 1 as there.
"""

from __future__ import annotations

import math

import numpy as np

from citebed.runs.tables import Flags, Ints

RATIO, GAMMA = 2.0, 1.0


def bursting(times: Ints, start: int, end: int, s: float = RATIO, gamma: float = GAMMA) -> Flags:
    """Return which documents are in a burst, given their times in order."""
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
        held = min(max(ahead, 0.0), enter)
        ahead = held + cost
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
