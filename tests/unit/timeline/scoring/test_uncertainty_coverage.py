"""Do 95% intervals of time-aware scores hold the truth in 95% of streams?

A small form of bench/stream_intervals.py: 150 streams of a fixed seed in every run of the tests,
where a share within four points of 95% is as chance has it; in the full one all 1,000, 93 to 97%.
"""

from __future__ import annotations

import pytest
from tests.sampling import FULL, sized
from tests.simulated_streams import coverage

STREAMS, MANY = sized(150, 1000), sized(6000, 20_000)
LOW, HIGH = (0.93, 0.97) if FULL else (0.91, 0.99)


@pytest.mark.parametrize("units", ["queries", "both"])
def test_intervals_hold_the_truth_as_often_as_they_say(units: str) -> None:
    held = coverage(units, STREAMS, MANY)
    for kind in ("scores", "differences"):
        for weight, share in getattr(held, kind).items():
            assert LOW <= share <= HIGH, (kind, weight, share)
    for weight, share in held.alarms.items():
        assert 1 - HIGH <= share <= 1 - LOW, (weight, share)
