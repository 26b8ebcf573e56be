"""CSV that can be opened in a spreadsheet: no text in it is run as a formula.

A spreadsheet takes a cell that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return
for a formula, whatever program wrote it: ``=HYPERLINK(…)`` may be a paper's title. Such a text is
written with an apostrophe before it. Numbers are left alone, also where they are text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_RUN = r"^[=+\-@\t\r]"
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def harmless(text: str) -> str:
    """The text of a cell, with an apostrophe before it if a spreadsheet would run it."""
    runs = re.match(_RUN, text) and not re.fullmatch(_NUMBER, text)
    return f"'{text}" if runs else text


def harmless_table(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """A table whose text cells are harmless, and how many of them had to be changed."""
    import polars as pl

    changed = 0
    for name, kind in table.schema.items():
        if kind == pl.String:
            column = table[name]
            runs = column.str.contains(_RUN) & ~column.str.contains(f"^(?:{_NUMBER})$")
            if number := int(runs.sum()):
                safe = pl.when(runs).then(pl.lit("'") + column).otherwise(column).alias(name)
                table, changed = table.with_columns(safe), changed + number
    return table, changed
