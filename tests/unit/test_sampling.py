"""What is left out of a run, and that nothing stays left out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests import sampling

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = [
    "tests/unit/web/test_access.py::test_doors",
    "tests/unit/retrieval/index/test_damage.py::test_bytes",
    "tests/unit/collection/storing/test_strangers.py::test_links",
    "tests/unit/cli/test_odd_streams.py::test_verbs",
    "tests/unit/cli/test_odd_streams.py::test_a_bomb_is_told_within_little_memory",
    "tests/unit/runs/test_numbers.py::test_many",
]
CASES: list[Any] = [SimpleNamespace(nodeid=f"{name}[{at}]") for name in NAMES for at in range(60)]


@pytest.fixture(autouse=True)
def _nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "changed", lambda: ())


def chosen(turn: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(sampling, "TURN", turn)
    monkeypatch.setattr(sampling, "EVERY", 1)
    return {item.nodeid for item in sampling.sampled(CASES)[0]}


def test_web_strangers_and_damage_are_never_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    for turn in ("", "0a1b2c3d", "0a1b2c3e"):
        run = chosen(turn, monkeypatch)
        counts = [sum(case.startswith(name) for case in run) for name in NAMES]
        assert [counts[at] for at in (0, 1, 2, 4)] == [60] * 4


def test_a_file_that_somebody_runs_is_sampled_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = chosen("", monkeypatch)
    assert [sum(case.startswith(name) for case in run) for name in NAMES] == [60, 60, 60, 5, 60, 60]


@pytest.mark.parametrize(
    "path",
    [*sampling.ALWAYS, *sampling.IN_TURN, *sampling.SAMPLED, *sampling.FULL_ONLY],
    ids=lambda path: path,
)
def test_what_is_named_is_there(path: str) -> None:
    """A test that was moved would be left out, or run, in silence."""
    file, _, test = path.partition("::")
    assert (REPOSITORY / file).exists()
    assert f"def {test.partition('[')[0]}" in (REPOSITORY / file).read_text() if test else True


def test_a_long_study_is_played_by_one_commit_in_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tests/unit/judging/simulation/test_simulating.py::test_one"
    monkeypatch.setattr(sampling, "EVERY", 1)
    played = []
    for number in range(16):
        monkeypatch.setattr(sampling, "TURN", f"{number:08x}")
        played.append(bool(sampling.sampled([SimpleNamespace(nodeid=name)])[0]))  # type: ignore[list-item]
    assert sum(played) == 2


def test_hashes_play_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cases that take long a tenth each, of others one in three."""
    runs = [chosen(f"{number:08x}", monkeypatch) for number in range(30)]
    assert set().union(*runs) == {case.nodeid for case in CASES}
    counts = [[sum(case.startswith(name) for case in run) for run in runs] for name in NAMES]
    assert max(counts[3]) <= 20
    assert all(5 < count < 35 for count in counts[5])
    assert [sum(counts[5][at : at + 3]) for at in range(28)] == [60] * 28


def test_what_is_named_more_closely_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY", 1)
    played = dict.fromkeys(("test_no_job_outlives_its_server", "test_another"), 0)
    for number in range(12):
        monkeypatch.setattr(sampling, "TURN", f"{number:08x}")
        for test in played:
            item: Any = SimpleNamespace(nodeid=f"tests/unit/web/test_jobs.py::{test}")
            played[test] += len(sampling.sampled([item])[0])
    assert list(played.values()) == [2, 12]


def test_a_file_that_was_changed_is_run_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "changed", lambda: ("tests/unit/cli/test_odd_streams.py",))
    run = chosen("", monkeypatch)
    assert sum(case.startswith(NAMES[3]) for case in run) == 60


def test_cases_that_are_named_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CASE", "59")
    monkeypatch.setattr(sampling, "EVERY", 8)
    assert {f"{name}[59]" for name in NAMES} <= {i.nodeid for i in sampling.sampled(CASES)[0]}


def test_other_pythons_play_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "TURN", "00000001")
    monkeypatch.setattr(sampling, "EVERY", 8)
    assert len(sampling.sampled(CASES)[0]) == 3 * 8 + 5 + 2 * 8
