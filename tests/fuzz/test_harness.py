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
from tests.sampling import sized


def test_every_parameter_of_every_verb_has_values() -> None:
    for verb, parameters in verbs.verbs().items():
        for parameter in parameters:
            assert parameter.is_flag or verbs.values_of(verb, parameter), (verb, parameter.name)


@pytest.mark.parametrize("name", READERS)
def test_files_are_well_formed_before_they_are_damaged(
    name: str, tmp_path: Path, bases: Path
) -> None:
    for kind in dict.fromkeys(READERS[name].kinds):
        file, data = MADE[kind]
        files = {MADE[beside][0]: MADE[beside][1] for beside in NEIGHBOURS.get(kind, ())}
        base = "c" if name in ("queries", "contexts", "feedback", "source papers") else ""
        (tmp_path / kind).mkdir()
        Case(name, base=base, files={**files, file: data}).lay(tmp_path / kind, bases)
        READERS[name].read(tmp_path / kind / file)


def test_spelled_values_can_be_read() -> None:
    for read, texts in SPELLED.values():
        for text in texts:
            read(text)


def test_the_bases_are_whole(tmp_path: Path, bases: Path) -> None:
    READERS["collection"].read(bases / "c")
    READERS["index"].read(bases / "c")
    for at, _ in enumerate(MODELS):
        Case("filter", base=f"stopped{at}").lay(tmp_path, bases)
        assert (tmp_path / f"stopped{at}" / "out.run.checkpoint").exists()
        go_on(tmp_path / f"stopped{at}")


def test_a_case_depends_only_on_its_seed_and_survives_json(bases: Path) -> None:
    for target in targets():
        for seed in range(sized(1, 3)):
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


def test_readers_and_verbs_are_distinguished() -> None:
    names = [name for name in targets() if name.startswith("read ")]
    assert names == [f"read {name}" for name in readers.READERS]
