"""A little fuzzing in every run of the tests, a minute in the full one, from fixed seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.fuzzing import fuzz
from tests.sampling import sized

SECONDS = sized(8, 30)


@pytest.mark.parametrize("start", [1_000_000, 2_000_000])  # two, for two test processes
def test_whatever_is_read_nothing_fails(start: int, bases: Path) -> None:
    tally = fuzz(SECONDS, start=start, bases=bases)
    assert tally.cases
    assert not tally.failures, tally.text()
