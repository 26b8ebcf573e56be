"""Options and helpers of all campaign commands: the folder, tables and rows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import print_rows, style_of

if TYPE_CHECKING:
    import polars as pl

    from citebed.judging import Campaign

campaign = typer.Typer(
    help="Build a test collection with the authors of its papers, in two phases.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.", show_default=False)
]

QueryId = Annotated[str, typer.Argument(help="Query id.")]
Method = Annotated[
    str, typer.Option(help="rounds, depth(k=10), mtf(random=0.2) or bandit(random=0.2).")
]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print LaTeX.")]
Database = Annotated[
    str | None,
    typer.Option(
        help="Database URL, e.g. postgresql://… (default: a file in the collection's folder)."
    ),
]
Title = Annotated[str | None, typer.Option(help="Name of the collection in mails.")]


def open_folder(folder: Path, database: str | None = None) -> Campaign:
    from citebed.judging import open_campaign

    return open_campaign(folder, database)


def print_table(table: pl.DataFrame, as_json: bool, as_csv: bool) -> None:
    """Print a table for people, or its rows for programs."""
    from citebed.report.tables import frame_table

    style = style_of(None, as_json, as_csv)
    if style != "table":
        rows = table.with_columns(_times(table)).to_dicts()
        print_rows(rows, style)
        return
    typer.echo(frame_table(table, _cell, left=range(table.width)).text(), nl=False)


def _times(table: pl.DataFrame) -> list[pl.Expr]:
    import polars as pl

    return [
        pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        for name, kind in table.schema.items()
        if isinstance(kind, pl.Datetime)
    ]


def _cell(value: Any) -> str:
    from citebed.report.tables import fold

    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    first, *others = fold(text, 59)  # at a space, so that no number is cut
    return f"{first} …" if others else text
