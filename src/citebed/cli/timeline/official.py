"""How the verb ``timeline`` prints TREC KBA's official scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from citebed.cli.output import print_rows
from citebed.wording import count

if TYPE_CHECKING:
    import polars as pl

    from citebed.report.tables import Table
    from citebed.timeline.scoring.official import OfficialTimeline


def best_once(found: OfficialTimeline) -> list[Table]:
    """The best cut-offs for people, who need not be told twice."""
    from citebed.report.timeline.table import official_table

    caption = "Official scores, best cut-offs by {}"
    return [
        official_table(found.once(table), _teams(found), caption=caption.format(by))
        for by, table in found.best.items()
    ]


def _teams(found: OfficialTimeline) -> dict[str, str]:
    return {scores.run: scores.team for scores in found.runs}


def print_official(found: OfficialTimeline, style: str, all_cutoffs: bool, per_query: bool) -> None:
    """Print the scores at the best cut-offs, or at all; with ``per_query`` of every entity too."""
    from citebed.report.timeline.table import ENTITIES, official_table

    whole = {"": found.table} if all_cutoffs else found.best
    entities = {by: found.entities(by) for by in whole} if per_query else {}
    teams = _teams(found)
    if style in ("json", "csv"):
        print_rows(_official_rows([entities, whole], teams), style)
    else:
        for by, table in whole.items():
            if by and style == "table":
                typer.echo(f"Best cut-offs by {by}:")
            if per_query:
                typer.echo(official_table(entities[by], teams, ENTITIES).written(style))
            typer.echo(official_table(found.once(table), teams).written(style))
    for note in found.notes():
        typer.echo(f"note: {note}", err=style != "table")
    for scores in found.runs:
        typer.echo(f"{scores.run}: {count(scores.skipped.lines, 'document')}", err=style != "table")


def _official_rows(
    parts: Sequence[Mapping[str, pl.DataFrame]], teams: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Flat rows, with what their cut-off is best for and with their team, where there is one."""
    return [
        {**row, **({"best": by} if by else {}), **({"team": team} if team else {})}
        for part in parts
        for by, table in part.items()
        for row in table.to_dicts()
        for team in [teams[row["run"]]]
    ]
