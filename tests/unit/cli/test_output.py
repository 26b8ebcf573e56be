"""Rows for machines and for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from citebed.cli.app import main
from citebed.cli.output import print_csv, print_json

FORMULA = "=HYPERLINK(x)"


def test_no_cell_is_run_by_a_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [
        {"run": FORMULA, "@name": "-1", "value": -0.5},
        {"run": "plain", "@name": None, "value": -1e-9},
    ]
    print_csv(rows)
    out, err = capsys.readouterr()
    assert list(csv.reader(io.StringIO(out))) == [
        ["run", "'@name", "value"],
        [f"'{FORMULA}", "-1", "-0.5"],
        ["plain", "", "-1e-09"],
    ]
    assert err == (
        "note: 2 cells that a spreadsheet would execute got an apostrophe in front. "
        "Use --json for the original text\n"
    )
    print_json(rows)
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (rows, "")


def test_a_verb_that_prints_ids_of_formulas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "j.qrels").write_text(f"{FORMULA} 0 d 1\n-7 0 d 1\n")
    (tmp_path / "+1+1.run").write_text(f"{FORMULA} Q0 d 1 1 t\n-7 Q0 d 1 1 t\n")
    words = ["evaluate", str(tmp_path / "j.qrels"), str(tmp_path / "+1+1.run"), "-m", "AP"]
    assert main([*words, "--per-query", "--csv"]) == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["run"] for row in rows} == {"'+1+1"}
    assert {row["query_id"] for row in rows} == {f"'{FORMULA}", "-7", "all"}
    assert "4 cells" in err


def test_names_that_are_not_text(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"run": os.fsdecode(b"caf\xe9")}]
    print_csv(rows)
    print_json(rows)
    assert capsys.readouterr().out.splitlines() == ["run", r"caf\xe9", r'[{"run": "caf\\xe9"}]']
