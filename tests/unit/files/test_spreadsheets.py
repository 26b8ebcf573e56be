"""No text cell is a formula; numbers and other text are as they were."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.frames import escape_formula_cells
from citebed.wording import escape_formulas

CELL = st.text(max_size=8) | st.from_regex(r"[=+\-@;| \t\r\n0-9.eE＝﹢\"]{0,6}\n?", fullmatch=True)


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0", "+1-555", "-x", "@SUM(A1)", "\tx", "\rx", "-", "--1", "-1\n",
        "＝1+1", "＋x", "－x", "＠x", "﹦x", " =1+1", '"=1"', "\xa0@x",
    ],
)  # fmt: skip
def test_what_a_spreadsheet_would_run(text: str) -> None:
    assert escape_formulas(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a;=1+1", "a;'=1+1"), (";=1", ";'=1"), ("a; =1", "a;' =1"), ('a;"=1"', 'a;\'"=1"'),
        ("a;＝1", "a;'＝1"), ("a|@x", "a|'@x"), ("a\n=1", "a\n'=1"), ("a\r\n+x", "a\r\n'+x"),
        ("\t=1", "'\t'=1"), ("=1;=2", "'=1;'=2"),
    ],
)  # fmt: skip
def test_what_it_would_run_where_cells_are_parted_otherwise(text: str, safe: str) -> None:
    assert escape_formulas(text) == safe


@given(CELL)
def test_once_is_enough(text: str) -> None:
    assert escape_formulas(escape_formulas(text)) == escape_formulas(text)


def test_blanks_without_end_take_no_time() -> None:
    text = "\n" * 300_000 + ";" + " " * 300_000
    assert escape_formulas(text) == text


@pytest.mark.parametrize(
    "text", ["", "a=b", "A; B", "x;y", "10.1145/x", "-5", "+0.25", "-1e-07", ".5", "7.", "'"]
)
def test_what_it_would_not(text: str) -> None:
    assert escape_formulas(text) == text


@given(st.lists(CELL | st.none()))
def test_a_table_is_its_cells(cells: list[str | None]) -> None:
    table = pl.DataFrame({"text": cells, "number": [-1] * len(cells)}, schema_overrides=SCHEMA)
    safe, changed = escape_formula_cells(table)
    expected = [None if cell is None else escape_formulas(cell) for cell in cells]
    assert safe["text"].to_list() == expected
    assert safe["number"].equals(table["number"])
    assert changed == sum(a != b for a, b in zip(cells, expected, strict=True))


SCHEMA = {"text": pl.String, "number": pl.Int64}
