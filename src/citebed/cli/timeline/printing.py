"""Output of the command ``timeline``: rows for programs; tables, trends and notes for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from citebed.cli.output import print_rows, say_all
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.evaluation.scoring.comparison import Comparisons, Design
    from citebed.timeline.scoring.comparison import StreamComparison
    from citebed.timeline.timelines import Timeline

    Compared = tuple[Comparisons[StreamComparison], Design]


@dataclass(frozen=True)
class Shown:
    """Content and format of the output."""

    style: str
    per_query: bool
    per_slice: bool
    trends: bool
    by_kind: bool

    @property
    def machine(self) -> bool:
        return self.style in ("json", "csv")


def print_timelines(timelines: Sequence[Timeline], shown: Shown, tests: Sequence[Compared]) -> None:
    if shown.machine:
        print_rows(_rows(timelines, shown, tests), shown.style)
    else:
        from citebed.report.timeline_tables import systems_table

        for timeline in timelines:
            _print_details(timeline, shown)
        typer.echo(systems_table(timelines).written(shown.style), nl=shown.style == "table")
    for at, timeline in enumerate(timelines):
        err = shown.style != "table"
        if len(timelines) > 1 and not shown.machine:
            typer.echo(f"Slices of {timeline.pairs.slices.kind}:", err=err)
        if tests:
            _print_compared(*tests[at], shown.style)
        if shown.trends and not shown.machine:
            _say_trends(timeline, err)
        _say_notes(timeline, err)


def _rows(
    timelines: Sequence[Timeline], shown: Shown, tests: Sequence[Compared]
) -> list[dict[str, Any]]:
    """Print rows for programs; with several slicings each row names its slicing."""
    rows = []
    for at, timeline in enumerate(timelines):
        slicing = {"slicing": timeline.pairs.slices.kind} if len(timelines) > 1 else {}
        of = [test.row() for test in tests[at][0]] if tests else _machine_rows(timeline, shown)
        rows += [{**row, **slicing} for row in of]
    return rows


def _machine_rows(timeline: Timeline, shown: Shown) -> list[dict[str, Any]]:
    if shown.by_kind:
        return timeline.by_kind.to_dicts()
    if shown.trends:
        return timeline.trends.to_dicts()
    return timeline.rows(per_query=shown.per_query, per_slice=shown.per_slice)


def _print_details(timeline: Timeline, shown: Shown) -> None:
    from citebed.report.timeline_tables import kinds_table, queries_table, slices_table

    for scores in timeline.runs:
        if shown.per_query:
            typer.echo(queries_table(scores, timeline.weights).written(shown.style))
        if shown.per_slice:
            by_slice = {str(measure): scores.by_slice(measure) for measure in scores.measures}
            typer.echo(slices_table(scores.pairs, by_slice, scores.run).written(shown.style))
    if shown.by_kind:
        typer.echo(kinds_table(timeline).written(shown.style))


def _say_trends(timeline: Timeline, err: bool) -> None:
    from citebed.report.timeline_tables import stability_sentences, trend_sentence

    if len(timeline.pairs.slices) == 1:
        return  # the evaluation without time
    said = (trend_sentence(*each, timeline.alpha) for each in timeline.trends_found)
    for sentence in (*dict.fromkeys(said), *stability_sentences(timeline.runs)):
        typer.echo(sentence, err=err)


def _say_notes(timeline: Timeline, err: bool) -> None:
    """Print the coverage of the scores; to standard error if a program reads the output."""
    from citebed.runs.times import format_time

    for note in (*timeline.notes(), *timeline.run_notes()):
        typer.echo(f"note: {note}", err=err)
    slices = timeline.pairs.slices
    typer.echo(
        f"{count(len(timeline.pairs.queries), 'query')} in {count(len(slices), 'slice')} from "
        f"{format_time(slices.bounds[0])} to {format_time(slices.bounds[-1])}; "
        f"{count(len(timeline.runs), 'run')} of "
        f"{count(sum(scores.ledger.skipped.lines for scores in timeline.runs), 'document')}",
        err=err,
    )


def _print_compared(compared: Comparisons[StreamComparison], design: Design, style: str) -> None:
    """Print the paired tests as a table for people, with notes."""
    from citebed.report.evaluation_tables import comparison_table
    from citebed.report.timeline_tables import stream_comparison_notes

    if style not in ("json", "csv"):
        typer.echo(comparison_table([of.named for of in compared]).written(style), nl=False)
    say_all(stream_comparison_notes(compared, design.alpha), style)
