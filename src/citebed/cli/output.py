"""What all verbs share: printing rows for machines, tables for people."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from citebed.files.spreadsheets import harmless
from citebed.wording import count, json_text, printable

Rows = Sequence[Mapping[str, Any]]

AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON, for programs.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print rows as CSV, for programs.")]


def a_number(value: float) -> float:
    """The value of an option, unless it is nan, which is within every range."""
    if math.isnan(value):
        raise typer.BadParameter("nan is not a number.")
    return value


def print_json(rows: Rows) -> None:
    """One array of flat rows, a row a line."""
    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    lines = ",\n".join(json_text(row, ascii_only=plain) for row in rows)
    sys.stdout.write(f"[{lines}]\n")


def print_csv(rows: Rows) -> None:
    """Rows with a header of all their names, and no text in them that a spreadsheet would run."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    changed = 0

    def cell(value: object) -> object:
        nonlocal changed
        if not isinstance(value, str):
            return value
        text = harmless(value)
        changed += text != value
        return printable(text)

    writer = csv.writer(sys.stdout)
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(row.get(name)) for name in names] for row in rows)
    if changed:
        cells = f"{count(changed, 'cell')} that a spreadsheet would run"
        typer.echo(f"note: {cells} got an apostrophe in front; --json has them as given", err=True)
