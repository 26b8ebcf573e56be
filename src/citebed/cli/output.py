"""What all verbs share: printing rows for machines, tables for people, progress on stderr."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.files.spreadsheets import harmless
from citebed.wording import count, json_text, printable

if TYPE_CHECKING:
    from citebed.collection import Progress

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


@contextmanager
def progress_bar(quiet: bool, unit: str = "bytes") -> Iterator[Progress]:
    """Progress on standard error: a bar with rate and time left on a terminal."""
    from citebed.collection import Progress

    if quiet or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    amount = (
        (DownloadColumn(), TransferSpeedColumn())
        if unit == "bytes"
        else (MofNCompleteColumn(), TextColumn(unit))
    )
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        *amount,
        TextColumn("left"),
        TimeRemainingColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def step(name: str, total: int) -> None:
            bar.update(task, description=name)
            if total:
                bar.update(task, total=total, completed=0)

        yield Progress(step=step, add=lambda amount: bar.advance(task, amount))
