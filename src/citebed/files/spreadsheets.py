"""CSV that can be opened in a spreadsheet: no text in it is run as a formula.

A spreadsheet takes a cell that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return
for a formula, whatever program wrote it: ``=HYPERLINK(…)`` may be a paper's title. So it does with
the wide forms of these signs, and where it parts cells at semicolons, tabs or bars, as it does in
half of the world, with what stands behind one, or on a new line, in the middle of a cell. Such a
text is written with an apostrophe before it. Numbers are left alone, also where they are text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_SIGNS = r"[=+\-@＝＋－＠﹦﹢﹣﹫]"
_BLANKS = r'[ \xa0"]{0,20}'
_PARTS = r"[;|\t\r\n]"
_RUN = rf"^(?:[\t\r]|{_BLANKS}{_SIGNS})"
_RUN_WITHIN = rf"{_PARTS}{_BLANKS}{_SIGNS}"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def harmless(text: str) -> str:
    """The text of a cell, with an apostrophe before what a spreadsheet would run."""
    if re.fullmatch(_NUMBER, text):
        return text
    text = re.sub(rf"({_PARTS})(?={_BLANKS}{_SIGNS})", r"\1'", text)
    return f"'{text}" if re.match(_RUN, text) else text


def harmless_table(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """A table whose text cells are harmless, and how many of them had to be changed."""
    import polars as pl

    changed = 0
    for name, kind in table.schema.items():
        if kind == pl.String:
            column = table[name]
            runs = column.str.contains(f"(?:{_RUN})|(?:{_RUN_WITHIN})")
            runs = (runs & ~column.str.contains(f"^(?:{_NUMBER})$")).fill_null(value=False)
            if number := int(runs.sum()):
                cells = column.to_list()
                for row in runs.arg_true():
                    cells[row] = harmless(cells[row])
                table = table.with_columns(pl.Series(name, cells, dtype=pl.String))
                changed += number
    return table, changed
