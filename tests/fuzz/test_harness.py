"""The fuzzer itself: it covers every option, its files are well-formed, its oracle sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz import readers, verbs
from tests.fuzz.bases import MODELS, go_on
from tests.fuzz.cases import Case, case_of
from tests.fuzz.fuzzing import Worker
from tests.fuzz.minimising import smaller
from tests.fuzz.readers import READERS, SPELLED
from tests.fuzz.targets import case_of_seed, targets
from tests.fuzz.wellformed import MADE, NEIGHBOURS


@pytest.mark.parametrize("verb", verbs.verbs())
def test_every_parameter_of_every_verb_has_values(verb: str) -> None:
    for parameter in verbs.verbs()[verb]:
        assert parameter.is_flag or verbs.values_of(verb, parameter), parameter.name


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, one in READERS.items() for kind in one.kinds]
)
def test_what_is_to_be_damaged_is_well_formed(
    name: str, kind: str, tmp_path: Path, bases: Path
) -> None:
    file, data = MADE[kind]
    files = {MADE[beside][0]: MADE[beside][1] for beside in NEIGHBOURS.get(kind, ())}
    base = "c" if name in ("queries", "contexts", "feedback", "source papers") else ""
    Case(name, base=base, files={**files, file: data}).lay(tmp_path, bases)
    READERS[name].read(tmp_path / file)


@pytest.mark.parametrize("name", SPELLED)
def test_what_is_spelled_can_be_read(name: str) -> None:
    for text in SPELLED[name][1]:
        SPELLED[name][0](text)


def test_the_bases_are_whole(tmp_path: Path, bases: Path) -> None:
    READERS["collection"].read(bases / "c")
    READERS["index"].read(bases / "c")
    for at, _ in enumerate(MODELS):
        Case("filter", base=f"stopped{at}").lay(tmp_path, bases)
        assert (tmp_path / f"stopped{at}" / "out.run.checkpoint").exists()
        go_on(tmp_path / f"stopped{at}")


@pytest.mark.parametrize("target", targets())
def test_a_case_is_determined_by_its_seed_and_can_be_kept(target: str, bases: Path) -> None:
    for seed in range(3):
        case = case_of_seed(target, seed, bases)
        assert case == case_of_seed(target, seed, bases)
        assert case == case_of(case.to_json())


STRAYING = Case("index", commands=[["index", "c", "--workers", "1", "--rebuild"]], base="c")


def test_the_oracle_sees_what_may_not_be_written(worker: Worker) -> None:
    assert worker.ask(case=STRAYING.to_json())["failure"]["kind"] == "strayed"


def test_a_worker_that_dies_is_a_failure_and_is_replaced(worker: Worker) -> None:
    answer = worker.ask(case=Case("read nothing of the kind", "x").to_json())
    assert answer["failure"]["kind"].startswith("raised KeyError")
    assert worker.ask(target="none", seed=0)["failure"]["kind"].startswith("crash")
    assert "failure" not in worker.ask(case=Case("read ids", "x", files={"x": b"q1\n"}).to_json())


def test_a_failing_case_is_made_smaller(worker: Worker) -> None:
    case = Case(**{**vars(STRAYING), "files": {"more": b"x" * 100}})
    small = smaller(case, "strayed index", worker)
    assert small.commands == [["index", "c", "--rebuild"]]
    assert small.files == {}


def test_readers_and_verbs_are_told_apart() -> None:
    names = [name for name in targets() if name.startswith("read ")]
    assert names == [f"read {name}" for name in readers.READERS]
