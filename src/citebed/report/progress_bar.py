"""Progress on a terminal or in a notebook: a bar with rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from citebed.collection.progress import Progress
from citebed.report.terminal import console


@contextmanager
def progress_bar(quiet: bool = False, unit: str = "bytes") -> Iterator[Progress]:
    """A bar on standard error, where somebody sees it."""
    if quiet or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield Progress()
        return
    from rich import progress as rich

    amount = (
        (rich.DownloadColumn(), rich.TransferSpeedColumn())
        if unit == "bytes"
        else (rich.MofNCompleteColumn(), rich.TextColumn("{task.fields[unit]}"))
    )
    columns = (
        rich.TextColumn("{task.description:<9}"),
        rich.BarColumn(),
        *amount,
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=console(err=True), transient=True) as bar:
        task = bar.add_task("reading", total=None, unit=unit)

        def step(name: str, total: int) -> None:
            what, _, counted = name.partition(": ")
            bar.update(task, description=what, unit=counted or unit)
            if total:
                bar.update(task, total=total, completed=0)

        yield Progress(step=step, add=lambda amount: bar.advance(task, amount))
