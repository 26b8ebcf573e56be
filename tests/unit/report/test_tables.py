"""The one model of tables: columns declared once, written in every form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl
import pytest

from citebed.report.page import environment
from citebed.report.tables import (
    Cell,
    Column,
    Table,
    across,
    build_table,
    frame_table,
    interval,
    legend,
    p_text,
    text_table,
)


@dataclass(frozen=True)
class Score:
    run: str
    value: float
    p: float


COLUMNS = (
    Column("run", "run", left=True),
    Column("the value", lambda of: interval(of.value, -0.5, 0.25, "+.2f"), short="value"),
    Column("p", "p", p_text, "of a t test"),
)
SCORES = [Score("a_b", -0.125, 0.5), Score("漢", math.nan, 0.00001)]


@pytest.fixture
def table() -> Table:
    return build_table(COLUMNS, SCORES, "Scores")


def test_text_is_aligned_by_what_letters_take(table: Table) -> None:
    assert table.text().splitlines() == [
        "run                 value        p",
        "a_b  -0.12 [-0.50, +0.25]   0.5000",
        "漢       – [-0.50, +0.25]  <0.0001",
    ]


def test_markdown_and_latex_escape_what_they_would_obey(table: Table) -> None:
    assert table.written("markdown").splitlines()[:3] == [
        "| run | value | p |", "| :-- | --: | --: |", "| a\\_b | -0.12 [-0.50, +0.25] | 0.5000 |",
    ]  # fmt: skip
    lines = table.written("latex").splitlines()
    assert lines[1] == r"\begin{tabular}{lrr}"
    assert lines[6] == r"漢 & – [-0.50, +0.25] & $<$0.0001 \\"


def test_a_page_says_what_columns_mean_and_sorts_by_numbers(table: Table) -> None:
    template = '{% from "parts.html.j2" import table %}{{ table(of) }}'
    text = environment().from_string(template).render(of=table)
    assert '<th scope="col" class="number" title="of a t test">p</th>' in text
    assert '<th scope="col" class="number">the value</th>' in text
    cell = '<td class="number" data-value="-0.125"><bdi>−0.12</bdi> <small>[−0.50, +0.25]</small>'
    assert cell in text
    assert '<th scope="row"><bdi>a_b</bdi></th>' in text


def test_a_mark_has_room_where_there_is_none() -> None:
    marked = Table([Column("x")], [[Cell("1", mark="†")], [Cell("2", mark=" ")]])
    assert marked.text() == " x\n1†\n2\n"


def test_what_columns_mean_is_a_legend_too() -> None:
    assert legend(COLUMNS, "p") == "p: of a t test"


def test_cells_across_come_in_their_order() -> None:
    cells = [("b", "AP", 1), ("b", "P@5", 2), ("a", "AP", 3), ("a", "P@5", 4)]
    rows = [{"run": run, "measure": measure, "n": n} for run, measure, n in cells]
    both = across("run", rows, ("{run}", "{measure}", "{n:.1f}"))
    assert both.head == ["run", "AP", "P@5"]
    assert both.lines == [["b", "1.0", "2.0"], ["a", "3.0", "4.0"]]


def test_a_data_frame_has_its_numbers_to_the_right() -> None:
    frame = pl.DataFrame({"name": ["a", None], "number": [1, 20]})
    assert frame_table(frame, none="-").text() == "name  number\na          1\n-         20\n"


def test_a_narrow_table_folds_names_and_keeps_numbers_whole() -> None:
    table = text_table(["name", "a long head"], [["one two three", "1,234,567"], ["  four", "8"]])
    assert table.text(20).splitlines() == [
        "name          a long", "                head", "one two    1,234,567", "three",
        "  four             8",
    ]  # fmt: skip


def test_a_table_that_cannot_fit_becomes_records() -> None:
    table = text_table(["name", "head", ""], [["one two", "1,234,567 [1, 2]", "x"], ["b", "", ""]])
    assert table.text(17).splitlines() == [
        "name  one two", "head  1,234,567", "      [1, 2]", "x", "", "name  b",
    ]  # fmt: skip
    assert table.text(7).splitlines()[:4] == ["name", "  one", "  two", "head"]


def test_a_pipe_has_lines_as_long_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = text_table(["x" * 90, "y"], [["1", "2"]])
    assert wide.text().splitlines()[0] == "x" * 90 + "  y"
