"""Results as flat rows and as tables that print well and render as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import polars as pl

from citebed.wording import MAYBE_FORMULA, escape_formulas, for_terminal


class FlatRow:
    """A dataclass of plain values that forms a row of a table."""

    def row(self) -> dict[str, Any]:
        """Return a flat row; unknown values (nan) become null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in vars(self).items()
        }


def rows_to_frame(rows: Iterable[FlatRow]) -> pl.DataFrame:
    """Return rows as a table with one column per field."""
    return pl.DataFrame([row.row() for row in rows], infer_schema_length=None)


class TableResult:
    """A result that prints as a table, and renders as one in a notebook."""

    def main_table(self) -> pl.DataFrame:
        """Return the table to print."""
        raise NotImplementedError

    def _render(self, method: str) -> str:
        with pl.Config(
            tbl_rows=-1, tbl_cols=-1, tbl_width_chars=-1, fmt_str_lengths=60,
            tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True,
        ):  # fmt: skip
            return str(getattr(self.main_table(), method)())

    def __repr__(self) -> str:
        return for_terminal(self._render("__str__"))

    def _repr_html_(self) -> str:
        return self._render("_repr_html_")


class MultiTableResult(TableResult):
    """A result of several named tables; it prints the ``MAIN`` one."""

    PARTS: ClassVar[tuple[str, ...]]
    MAIN: ClassVar[str]

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        raise NotImplementedError

    def all_rows(self) -> list[dict[str, Any]]:
        """Return all parts except the per-query one as flat rows with the name of their part."""
        several = [part for part in self.PARTS if part != "queries"]
        return [{"part": part, **row} for part in several for row in self.rows(part)]

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all parts as tables."""
        parts = {part: self.rows(part) for part in self.PARTS}
        return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in parts.items()}

    def main_table(self) -> pl.DataFrame:
        """Return the part to print."""
        return self.tables[self.MAIN].with_columns(pl.col(pl.Float64).round(4))


def escape_formula_cells(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return a table for CSV without formulas in its texts, and the number of changed cells."""
    changed = 0
    for name, kind in table.schema.items():
        if kind != pl.String:
            continue
        suspects = table[name].str.contains(MAYBE_FORMULA).fill_null(value=False).arg_true()
        if len(suspects):
            cells = table[name].to_list()
            for row in suspects:
                escaped = escape_formulas(cells[row])
                changed += escaped != cells[row]
                cells[row] = escaped
            table = table.with_columns(pl.Series(name, cells, dtype=pl.String))
    return table, changed
