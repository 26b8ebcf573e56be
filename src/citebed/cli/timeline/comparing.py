"""What the verb ``timeline`` says of chance: intervals, and paired tests between systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli.output import is_given, say_all
from citebed.cli.scoring_options import run_named

if TYPE_CHECKING:
    from citebed.evaluation.scoring.comparing import Design
    from citebed.timeline.scoring.uncertainty import StreamComparisons

    Compared = tuple[StreamComparisons, Design]

UnitsDrawn = Literal["queries", "both"]
Units = Annotated[
    UnitsDrawn,
    typer.Option("--units", help="What intervals and tests draw: queries, or both with slices."),
]
Intervals = Annotated[
    bool, typer.Option("--intervals/--no-intervals", help="Bootstrap intervals of the means.")
]
COMPARING = {"baseline", "test", "correct"}
"""The options that ask for paired tests."""


def design_of(
    context: typer.Context,
    runs: Sequence[Path],
    baseline: str | None,
    how: tuple[str, str],
    alpha: float,
) -> Design | None:
    """How runs are compared, where a baseline, a test or a correction asks for it.

    ``how`` are the test and the correction; without a baseline all pairs are compared.
    """
    if not any(is_given(context, name) for name in COMPARING):
        return None
    from citebed.evaluation.scoring.comparing import Design

    named = None if baseline is None else run_named(baseline, runs)
    return Design(baseline=named, test=how[0], correction=how[1], alpha=alpha)


def print_compared(found: StreamComparisons, design: Design, style: str) -> None:
    """The paired tests as a table, for people, and what there is to know of them."""
    from citebed.report.evaluation.table import comparison_table
    from citebed.report.timeline.table import stream_comparison_notes

    if style not in ("json", "csv"):
        typer.echo(comparison_table([of.named for of in found]).written(style), nl=False)
    say_all(stream_comparison_notes(found, design.alpha), style)
