"""Options and tables of the campaign commands."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import print_rows

if TYPE_CHECKING:
    import polars as pl

    from citebed.judging import Campaign

Folder = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.", show_default=False)
]
QueryId = Annotated[str, typer.Argument(help="Query id.")]
METHOD = "rounds, depth(k=10), mtf(random=0.2) or bandit(random=0.2)."
Database = Annotated[
    str | None,
    typer.Option(
        help="Database URL, e.g. postgresql://… (default: a file in the collection's folder)."
    ),
]


def open_folder(folder: Path, database: str | None = None) -> Campaign:
    """Open a campaign, optionally with another database than its own."""
    from citebed.judging import open_campaign

    return open_campaign(folder, database)


def print_table(table: pl.DataFrame, style: str) -> None:
    """Print a table for people, or its rows for programs."""
    import polars as pl

    from citebed.report.tables import fold, frame_table

    def cell(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:.3f}"
        if isinstance(value, datetime):
            return f"{value:%Y-%m-%d %H:%M}"
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        first, *others = fold(text, 59)  # at a space, so that no number is cut
        return f"{first} …" if others else text

    if style == "table":
        typer.echo(frame_table(table, cell, left=range(table.width)).text(), nl=False)
    else:
        times = pl.selectors.datetime().dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        print_rows(table.with_columns(times).to_dicts(), style)
