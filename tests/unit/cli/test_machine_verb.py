"""The option --machine of evaluate: tables, rows, and messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citebed.cli.app import main

QUERIES = 8
pytestmark = pytest.mark.usefixtures("files")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that accepts one document too many of every second query, and two runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    human, machine, one, two = [], [], [], []
    for query in range(QUERIES):
        for doc in range(3):
            name, grade = f"q{query} 0 d{doc}", int(doc == query % 3)
            human.append(f"{name} {grade}")
            machine.append(f"{name} {max(grade, int(doc == 0 and query % 2))}")
            one.append(f"q{query} Q0 d{doc} {doc + 1} {3 - doc} one")
            two.append(f"q{query} Q0 d{2 - doc} {doc + 1} {3 - doc} two")
    Path("human.qrels").write_text("\n".join(human[: 4 * 3]))
    Path("all.qrels").write_text("\n".join(human))
    Path("machine.qrels").write_text("\n".join(machine))
    Path("one.run").write_text("\n".join(one))
    Path("two.run").write_text("\n".join(two))


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "human.qrels", "one.run", "two.run", "--machine", "machine.qrels"]
    assert main([*words, "-m", "RR", "--baseline", "one"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == [
        "run", "measure", "corrected", "people", "alone", "machine", "alone", "weight", "queries",
    ]  # fmt: skip
    assert printed[1].startswith("one")
    assert printed[1].endswith("4 of 8")
    assert printed[3].startswith("two - one")
    # people alone, queries 0 to 3: (1 + 1/2 + 1/3 + 1) / 4
    assert "0.7083 [" in printed[1]
    assert "note: people judged 4 queries of 8 wholly" in "\n".join(printed)


def test_rows(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "all.qrels", "one.run", "--machine", "machine.qrels", "--json"]
    assert main([*words, "-m", "RR"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    # everything is judged: (3·1 + 3·1/2 + 2·1/3) / 8, without any doubt
    assert row["value"] == pytest.approx(31 / 48)
    assert row["low"] == pytest.approx(31 / 48)
    assert (row["queries"], row["drawn"], row["judgements"]) == (8, 8, 24)


def test_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.run").write_text(
        "q0 Q0 d0 1 1.0 plan\nq0 Q0 d1 2 0.5 plan\nq1 Q0 d0 1 1.0 plan\nq2 Q0 d2 1 1 plan\n"
    )
    words = ["evaluate", "human.qrels", "one.run", "--machine", "machine.qrels", "-m", "RR"]
    assert main([*words, "--plan", "plan.run"]) == 0
    assert "note: 4 human judgements of 3 queries, by the plan" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--plan", "plan.run"], "--plan': this option needs --machine"),
        (["--machine", "machine.qrels", "--ledger", "--json"], "leave out --on, --ledger"),
        (["--machine", "machine.qrels", "--baseline", "three"], "three"),
        (["--machine", "machine.qrels", "--plan", "one.run"], "a plan are probabilities"),
        (["--machine", "none.qrels"], "none.qrels"),
    ],
)
def test_what_cannot_be_done(
    capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    assert main(["evaluate", "human.qrels", "one.run", *words]) != 0
    assert what in capsys.readouterr().err
