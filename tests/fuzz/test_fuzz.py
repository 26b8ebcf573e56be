"""Fuzzing with fixed seeds: a few hundred cases in every run of the tests, more in the full one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.fuzzing import fuzz
from tests.sampling import sized

CASES = sized(200, 2000)


@pytest.mark.parametrize("start", [1_000_000, 2_000_000])  # two, for two test processes
def test_no_input_makes_a_reader_or_a_command_fail(start: int, bases: Path) -> None:
    tally = fuzz(600, seeds=range(start, start + CASES), bases=bases)
    assert sum(tally.cases.values()) == CASES
    assert not tally.failures, tally.text()
