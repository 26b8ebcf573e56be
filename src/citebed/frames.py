"""Results as flat rows and as tables that print well and render as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import polars as pl

from citebed.wording import for_terminal


class FlatRow:
    """A dataclass of plain values that forms a row of a table."""

    def row(self) -> dict[str, Any]:
        """Return a flat row; unknown values (nan) become null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in vars(self).items()
        }


def frame_of(rows: Iterable[FlatRow]) -> pl.DataFrame:
    """Return rows as a table with one column per field."""
    return pl.DataFrame([row.row() for row in rows], infer_schema_length=None)


class Shown:
    """A result that prints as a table, and renders as one in a notebook."""

    def shown(self) -> pl.DataFrame:
        """Return the table to show first."""
        raise NotImplementedError

    def _rendered(self, how: str) -> str:
        with pl.Config(
            tbl_rows=-1, tbl_cols=-1, tbl_width_chars=-1, fmt_str_lengths=60,
            tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True,
        ):  # fmt: skip
            return str(getattr(self.shown(), how)())

    def __repr__(self) -> str:
        return for_terminal(self._rendered("__str__"))

    def _repr_html_(self) -> str:
        return self._rendered("_repr_html_")


class Parts(Shown):
    """A result of several named tables; it prints the ``SHOWN`` one."""

    PARTS: ClassVar[tuple[str, ...]]
    SHOWN: ClassVar[str]

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

    def shown(self) -> pl.DataFrame:
        """Return the part to show first."""
        return self.tables[self.SHOWN].with_columns(pl.col(pl.Float64).round(4))
