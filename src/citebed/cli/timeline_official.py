"""TREC KBA's official scoring in the verb ``timeline``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from citebed.cli.scoring_options import print_rows
from citebed.errors import CitebedError
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.timeline.scoring.official import OfficialScores, OfficialTimeline

_OFFICIAL = {"cutoff_step", "all_cutoffs", "unjudged_negative", "require_positives"}
_PRINTED_SLICES = {"per_query", "per_slice", "trends"}
_SLICES = {
    "slicing", "since", "until", "weights", "measures", "rel", "binary", "threshold", "samples",
    "alpha", "level", "seed",
}  # fmt: skip


def check_options(context: typer.Context, official: bool, drawn: bool) -> None:
    """An option that would change nothing is an error: the scoring by slices has its own.

    ``drawn`` is whether a page or pictures are written, which show slices in any case.
    """
    unused = _OFFICIAL
    if official:
        unused = _PRINTED_SLICES if drawn else _PRINTED_SLICES | _SLICES
    given = ", ".join(
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in unused and _is_given(context, parameter.name)
    )
    if given and official:
        page = "" if drawn else ", or write a page (--report), which shows slices too"
        raise CitebedError(f"--official scores without slices: leave out {given}{page}.")
    if given:
        raise CitebedError(f"{given}: for the official scoring only. Give --official too.")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def print_official(found: OfficialTimeline, style: str, all_cutoffs: bool) -> None:
    """Print the scores at the best cut-offs, or at all."""
    from citebed.report.timeline_table import official_grid

    parts = {"": found.table} if all_cutoffs else found.best
    if style in ("json", "csv"):
        rows = [
            {**row, **({"best": by} if by else {})}
            for by, table in parts.items()
            for row in table.to_dicts()
        ]
        print_rows(rows, style)
    else:
        for by, table in parts.items():
            if by and style == "table":
                typer.echo(f"Best cut-offs by {by}:")
            typer.echo(official_grid(table).written(style))
    for scores in found.runs:
        _say_skipped(scores, err=style != "table")


def _say_skipped(scores: OfficialScores, err: bool) -> None:
    skipped = scores.skipped
    if skipped.lines and not scores.judged:
        typer.echo(
            f"note: {scores.run}: none of its {count(skipped.lines, 'document')} is judged. Are "
            "ids written alike? (--times knows those with a time in front)",
            err=err,
        )
    if skipped.unjudged:
        typer.echo(
            f"note: {scores.run}: {count(skipped.unjudged, 'document')} of "
            f"{count(len(skipped.queries), 'entity')} that nobody judged left out",
            err=err,
        )
    typer.echo(f"{scores.run}: {count(skipped.lines, 'document')}", err=err)
