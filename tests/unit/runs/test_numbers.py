"""Scores and grades are numbers in ASCII, and grades have bounds, in whatever form they come."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.errors import CitebedError
from citebed.evaluation.judgements.cocitation import from_file
from citebed.evaluation.measures.names import measure
from citebed.runs.reader import as_qrels, read_qrels, read_run
from citebed.runs.trec_files import LARGEST_GRADE
from citebed.wording import parse_integer, parse_number

ODD = (
    "١٢", "１２", "1_000", "1_0.5", "²", "nan", "inf", "-Infinity", "1e999", "0x10", "1,5", " 1",
    "",
)  # fmt: skip
TOO_LARGE = (2**31, -(2**31), 2**63 - 1, -(2**63), 2**64, 10**30)


@pytest.mark.parametrize("text", ODD)
def test_what_python_takes_for_a_number_and_nobody_else_does(text: str) -> None:
    assert parse_number(text) is None
    assert parse_integer(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0), ("-0.5", -0.5), ("+3", 3.0), (".5", 0.5), ("5.", 5.0), ("1e-3", 0.001),
        ("1E5", 1e5),
    ],
)  # fmt: skip
def test_numbers(text: str, number: float) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("score", [odd for odd in ODD if odd.strip() == odd and odd])
def test_a_score_that_is_not_a_number_is_reported_with_its_line(tmp_path: Path, score: str) -> None:
    path = tmp_path / "a.run"
    path.write_text(f"q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 {score} t\n")
    with pytest.raises(CitebedError, match=r"a\.run:2: the score '.*' is not a finite number"):
        read_run(path)


@pytest.mark.parametrize("grade", ["١", "１", "1_0", "²"])
def test_a_grade_that_is_not_a_number_is_reported_with_its_line(tmp_path: Path, grade: str) -> None:
    path = tmp_path / "a.qrels"
    path.write_text(f"q1 0 d1 1\nq1 0 d2 {grade}\n")
    with pytest.raises(CitebedError, match=r"a\.qrels:2: the relevance '.*' is not a whole number"):
        read_qrels(path)


@pytest.mark.parametrize("grade", TOO_LARGE)
@pytest.mark.parametrize("spread", [" ", "  "])
def test_a_grade_out_of_range_is_reported_with_its_line(
    tmp_path: Path, grade: int, spread: str
) -> None:
    path = tmp_path / "a.qrels"
    path.write_text(spread.join(("q1 0 d1 1\nq1", "0", "d2", f"{grade}\n")))
    with pytest.raises(CitebedError, match=r"a\.qrels:2: the relevance .* is out of range|whole"):
        read_qrels(path)


@pytest.mark.parametrize("grade", [2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_a_grade_out_of_range_is_reported_in_tables_too(tmp_path: Path, grade: int) -> None:
    rows = {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "relevance": [1, grade]}
    with pytest.raises(CitebedError, match=r"relevance of row 2, .* is out of range"):
        as_qrels({"q1": {"d1": 1, "d2": grade}})
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(CitebedError, match="is out of range"):
        read_qrels(tmp_path / "a.parquet")


def test_the_largest_grades_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.qrels"
    path.write_text(f"q1 0 d1 {LARGEST_GRADE}\nq1 0 d2 -{LARGEST_GRADE}\n")
    assert read_qrels(path).table["relevance"].to_list() == [LARGEST_GRADE, -LARGEST_GRADE]


@pytest.mark.parametrize("count", ["١٢", "1_0", "nan", "inf"])
def test_a_count_that_is_not_a_number_is_reported(tmp_path: Path, count: str) -> None:
    path = tmp_path / "cocited.tsv"
    path.write_text(f"d1 d2 {count}\n")
    with pytest.raises(CitebedError, match="is not a number"):
        from_file(path)


@pytest.mark.parametrize("name", ["nDCG@1_0", "nDCG@１０", "RBP(p=nan)", "AP(rel=٢)", "P@1e999"])
def test_a_measure_takes_no_such_number_either(name: str) -> None:
    with pytest.raises(CitebedError):
        measure(name)
