"""Do 95% intervals of time-aware scores hold the truth in 95% of streams?

A small form of bench/stream_intervals.py: 100 streams of a fixed seed in every run of the tests,
where a share within four points of 95% is as chance has it; in the full one all 1,000, 93 to 97%.
"""

from __future__ import annotations

from tests.sampling import FULL, sized
from tests.simulated_streams import Held, coverage

STREAMS, MANY = sized(100, 1000), sized(1000, 20_000)
LOW, HIGH = (0.93, 0.97) if FULL else (0.91, 0.99)


def check(held: Held) -> None:
    for kind in ("scores", "differences"):
        for weight, share in getattr(held, kind).items():
            assert LOW <= share <= HIGH, (kind, weight, share)
    assert all(share <= 1 - LOW for share in held.alarms.values()), held.alarms


def test_over_queries_in_the_same_weeks() -> None:
    held = coverage("queries", STREAMS, MANY)
    check(held)
    assert held.by_query == held.scores


def test_over_queries_and_slices_where_weeks_are_chance_too() -> None:
    held = coverage("both", STREAMS, MANY)
    check(held)
    # Queries alone do not know that.
    assert all(share < LOW for share in held.by_query.values()), held.by_query
