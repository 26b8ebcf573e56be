"""TREC KBA's official scoring in the verb ``timeline``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from citebed.cli.output import print_csv, print_json
from citebed.errors import CitebedError
from citebed.wording import count

if TYPE_CHECKING:
    import polars as pl

    from citebed.timeline.scoring.official import OfficialScores
    from citebed.timeline.streams.stream_runs import StreamRun
    from citebed.timeline.streams.truth import Truth

_OFFICIAL = {"cutoff_step", "all_cutoffs", "unjudged_negative", "require_positives"}
_PRINTED_SLICES = {"per_query", "per_slice", "trends"}
_SLICES = {
    "slicing", "since", "until", "weights", "measures", "rel", "binary", "threshold", "samples",
    "alpha", "level", "seed",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Official:
    """How the official scores are worked out and printed."""

    step: int
    unjudged_negative: bool
    require_positives: bool | None
    all_cutoffs: bool
    style: str


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


def print_official(
    truth: Truth, runs: Iterable[StreamRun], official: Official
) -> dict[str, pl.DataFrame]:
    """Score and print; gives the scores at the best cut-offs."""
    import polars as pl

    from citebed.report.timeline_table import official_grid

    kept = _scored(truth, runs, official)
    kinds = {"f1_of_means": "F1 of means", "su": "SU"}
    best = {kinds[by]: pl.concat([scores.best(by) for scores in kept]) for by in kinds}
    every = {"": pl.concat([scores.table for scores in kept])}
    parts = every if official.all_cutoffs else best
    if official.style in ("json", "csv"):
        _print_rows(parts, official.style)
    else:
        for by, table in parts.items():
            if by and official.style == "table":
                typer.echo(f"Best cut-offs by {by}:")
            typer.echo(official_grid(table).written(official.style))
    for scores in kept:
        _say_skipped(scores, err=official.style != "table")
    return best


def official_truth(
    judged: pl.DataFrame, qrels: Path, times: pl.DataFrame | None, rule: str
) -> Truth:
    """Judgements without times; those of ``times`` tell how ids are written."""
    from citebed.runs.reading import name_of
    from citebed.timeline.streams.truth import Reading, timeless_truth

    # What the rule "any" says, for all grades at once.
    reading = Reading("max" if rule == "any" else rule)
    return timeless_truth(judged, name_of(qrels), reading, times)


def _scored(truth: Truth, runs: Iterable[StreamRun], official: Official) -> list[OfficialScores]:
    from citebed.timeline.scoring.official import score_official

    return [
        score_official(
            run, truth, step=official.step, unjudged_negative=official.unjudged_negative,
            require_positives=official.require_positives,
        )
        for run in runs
    ]  # fmt: skip


def _print_rows(parts: dict[str, pl.DataFrame], style: str) -> None:
    rows = [
        {**row, **({"best": by} if by else {})}
        for by, table in parts.items()
        for row in table.to_dicts()
    ]
    (print_csv if style == "csv" else print_json)(rows)


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
