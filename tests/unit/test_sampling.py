"""Which cases a run of the tests leaves out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests import sampling

NAMES = ["tests/unit/web/test_access.py::test_doors", "tests/unit/cli/test_odd_streams.py::test_a"]
CASES: list[Any] = [SimpleNamespace(nodeid=f"{name}[{at}]") for name in NAMES for at in range(60)]
ALONE: Any = SimpleNamespace(nodeid="tests/unit/runs/test_numbers.py::test_one")


@pytest.fixture(autouse=True)
def _nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "changed", lambda: ())


def test_every_case_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY", 1)
    assert sampling.sampled([*CASES, ALONE]) == ([*CASES, ALONE], [])


def test_one_case_in_eight_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY", 8)
    chosen, left = sampling.sampled([*CASES, ALONE])
    assert (len(chosen), len(left)) == (2 * 8 + 1, 2 * 52)
    assert chosen[-1] is ALONE


def test_a_file_that_was_changed_is_run_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY", 8)
    monkeypatch.setattr(sampling, "changed", lambda: ("tests/unit/cli/test_odd_streams.py",))
    assert len(sampling.sampled(CASES)[0]) == 8 + 60


def test_cases_that_are_named_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CASE", "59")
    monkeypatch.setattr(sampling, "EVERY", 8)
    assert {f"{name}[59]" for name in NAMES} <= {i.nodeid for i in sampling.sampled(CASES)[0]}
