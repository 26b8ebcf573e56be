"""Every failure that the fuzzer ever found, made small and kept: none of them comes again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.cases import case_of
from tests.fuzz.fuzzing import Worker

KEPT = sorted((Path(__file__).parent / "kept").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_failure_that_was_repaired_stays_so(path: Path, worker: Worker) -> None:
    case = case_of(path.read_text())
    assert case.why
    answer = worker.ask(case=case.to_json())
    assert "failure" not in answer, answer["failure"]
