"""What all verbs share: printing rows for machines, tables for people, where a page may go."""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any

import typer

from citebed.errors import CitebedError
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


def check_page(page: Path, read: Set[str]) -> None:
    """Where a page goes: to a new file, or in place of a page; never over data.

    ``read`` are the real paths of the files that it is made of.
    """
    name = printable(page)
    if not page.parent.is_dir():
        raise CitebedError(
            f"there is no folder '{printable(page.parent)}' for the page. Make it first."
        )
    if page.is_dir():
        example = printable(page / "report.html")
        raise CitebedError(f"'{name}' is a folder; name a file, e.g. {example}.")
    if page.exists() and not page.is_file():
        raise CitebedError(f"'{name}' is a device or a pipe; name a plain file.")
    if os.path.realpath(page) in read:
        raise CitebedError(f"'{name}' is one of the files that are read; name another.")
    if page.suffix.lower() not in (".html", ".htm"):
        raise CitebedError(f"'{name}': the page is HTML; name a file that ends in .html.")
