"""What all verbs share: printing rows for machines, tables for people, progress on stderr."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from citebed.collection import Progress

Rows = Sequence[Mapping[str, Any]]

AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON, for programs.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print rows as CSV, for programs.")]


def print_json(rows: Rows) -> None:
    """One array of flat rows, a row a line."""
    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    lines = ",\n".join(json.dumps(row, ensure_ascii=plain, default=str) for row in rows)
    sys.stdout.write(f"[{lines}]\n")


def print_csv(rows: Rows) -> None:
    """Rows with a header of all their names."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sys.stdout, names)
    writer.writeheader()
    writer.writerows(rows)


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
