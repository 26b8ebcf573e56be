"""The command ``timeline official``: TREC KBA's own scoring of filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsCsv, AsJson, print_rows, style_of
from citebed.cli.scoring_options import Format, QrelsFile, RunFiles
from citebed.wording import count

if TYPE_CHECKING:
    import polars as pl

    from citebed.report.tables import Table
    from citebed.runs.tables import Qrels
    from citebed.timeline.scoring.official import OfficialTimeline

Times = Annotated[
    Path | None,
    typer.Option(
        "--times",
        help="Document times: lines 'doc_id time', a stream (JSON Lines), or a collection.",
    ),
]
Utc = Annotated[bool, typer.Option("--utc", help="Treat times without a time zone as UTC.")]
Assessors = Annotated[
    str,
    typer.Option(
        help="How to combine several judgements of a pair: any-dissent-negative, any, "
        "majority or max."
    ),
]


def timeline_official(
    qrels: QrelsFile,
    runs: RunFiles,
    times: Times = None,
    utc: Utc = False,
    assessors: Assessors = "any-dissent-negative",
    cutoff_step: Annotated[
        int, typer.Option(help="Step between confidence cut-offs (0 to 999).")
    ] = 1,
    all_cutoffs: Annotated[
        bool, typer.Option("--all-cutoffs", help="Print every cut-off instead of the best ones.")
    ] = False,
    unjudged_negative: Annotated[
        bool, typer.Option("--unjudged-negative", help="Count unjudged pairs as negatives.")
    ] = False,
    require_positives: Annotated[
        bool | None,
        typer.Option(
            "--require-positives/--all-entities",
            help="Score only entities with positives, or all entities (default: both).",
        ),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", "-q", help="Also print per-entity scores.")
    ] = False,
    format: Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Score filter runs as TREC KBA did: precision, recall, F1 and scaled utility at cut-offs.

    A document is accepted if its confidence is above the cut-off. citebed uses only the ids of
    --times, and recognises ids with a time in front. For a page with these scores, use 'citebed
    timeline' with --report and --official.

    Example: citebed timeline official kba.qrels *.run.gz -q
    """
    style = style_of(format, as_json, as_csv)
    judged = read_once(qrels)
    from citebed.timeline.streams.run_sources import opened_runs

    with opened_runs(runs) as opened:
        from citebed.timeline.scoring.official import official_timeline

        scores = official_timeline(
            judged, opened, times=times_from(times, utc), assessors=assessors, step=cutoff_step,
            unjudged_negative=unjudged_negative, require_positives=require_positives,
        )  # fmt: skip
    print_official(scores, style, all_cutoffs, per_query)


def read_once(path: Path) -> Qrels:
    """Read the judgements early, while the processors are idle."""
    from citebed.files.input_files import reusable_path
    from citebed.runs.reader import read_judgement_table, run_name
    from citebed.runs.tables import Qrels

    with reusable_path(path) as file:
        return Qrels(read_judgement_table(file), run_name(path))


def times_from(path: Path | None, utc: bool) -> Any:
    """Read times from a file, or from the dates of a collection's documents."""
    from citebed.timeline.streams.timed_qrels import times_of

    if path is None or not path.is_dir():
        return times_of(path, utc=utc)
    from citebed.collection import open_collection

    return times_of(open_collection(path))


def best_once(official: OfficialTimeline) -> list[Table]:
    """Return each best cut-off once, for people."""
    from citebed.report.timeline_tables import official_table

    caption = "Official scores, best cut-offs by {}"
    return [
        official_table(
            official.merge_entity_rows(table), _teams(official), caption=caption.format(by)
        )
        for by, table in official.best.items()
    ]


def _teams(official: OfficialTimeline) -> dict[str, str]:
    return {scores.run: scores.team for scores in official.runs}


def print_official(
    official: OfficialTimeline, style: str, all_cutoffs: bool, per_query: bool
) -> None:
    """Print the scores at the best or at all cut-offs; with ``per_query`` also per entity."""
    from citebed.report.timeline_tables import ENTITIES, official_table

    whole = {"": official.table} if all_cutoffs else official.best
    entities = {by: official.entities(by) for by in whole} if per_query else {}
    teams = _teams(official)
    if style in ("json", "csv"):
        print_rows(_official_rows([entities, whole], teams), style)
    else:
        for by, table in whole.items():
            if by and style == "table":
                typer.echo(f"Best cut-offs by {by}:")
            if per_query:
                typer.echo(official_table(entities[by], teams, ENTITIES).written(style))
            typer.echo(official_table(official.merge_entity_rows(table), teams).written(style))
    for note in official.notes():
        typer.echo(f"note: {note}", err=style != "table")
    for scores in official.runs:
        typer.echo(f"{scores.run}: {count(scores.skipped.lines, 'document')}", err=style != "table")


def _official_rows(
    parts: Sequence[Mapping[str, pl.DataFrame]], teams: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return flat rows with what their cut-off is best for, and their team if they have one."""
    return [
        {**row, **({"best": by} if by else {}), **({"team": team} if team else {})}
        for part in parts
        for by, table in part.items()
        for row in table.to_dicts()
        for team in [teams[row["run"]]]
    ]
