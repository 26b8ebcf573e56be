"""The commands ``contrast`` and ``pool-bias``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli import scoring_options as options
from citebed.cli.output import (
    AsCsv,
    AsJson,
    check_page,
    print_rows,
    say_all,
    style_of,
    typed,
)
from citebed.cli.pairs import check_pair
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.evaluation.contrasts.contrast import Contrast
    from citebed.frames import MultiTableResult
    from citebed.report.tables import Table

ContrastPart = Literal[
    "judgements", "summary", "changes", "correlations", "conclusions", "movers", "queries"
]  # fmt: skip
BiasPart = Literal["falls", "orders", "unjudged", "conclusions"]
Full = Annotated[
    bool,
    typer.Option(
        "--full", "--all", help="Print all tables and draw all figures, not only the summary."
    ),
]


def contrast(
    context: typer.Context,
    before: Annotated[
        Path, typer.Argument(help="First judgement set, e.g. of cited papers.", metavar="J1")
    ],
    after: Annotated[
        Path, typer.Argument(help="Second judgement set, e.g. extended.", metavar="J12")
    ],
    runs: options.RunFiles,
    measures: options.Measures = None,
    part: Annotated[
        ContrastPart | None,
        typer.Option(help="Print only this table ('queries' is printed only on request)."),
    ] = None,
    full: Full = False,
    plots: Annotated[
        Path | None,
        typer.Option(
            help="Save plots to this folder: system means, and per-query scatter plots of the "
            "best run and of the run that changes most."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write tables and figures to this HTML file."),
    ] = None,
    drawn_runs: Annotated[
        list[str] | None,
        typer.Option(
            "--draw",
            metavar="RUN",
            help="With --plots: plot the queries of this run instead (repeatable).",
        ),
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="RUN RUN", help="With --plots: also plot these two runs against each other."
        ),
    ] = None,
    largest: Annotated[
        int, typer.Option(min=0, help="Number of largest gains and losses to list.")
    ] = 5,
    keep_empty: Annotated[
        bool,
        typer.Option(help="Keep queries without a relevant document in one of the sets."),
    ] = False,
    test: options.Test = "t",
    correct: options.Correct = "none",
    alpha: options.Alpha = 0.05,
    complete: options.Complete = False,
    scores: options.Scores = "double",
    cluster: options.Cluster = None,
    queries: options.Queries = None,
    samples: options.Samples = None,
    seed: options.Seed = 0,
    format: options.Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Compare the same runs under two judgement sets.

    Prints each measure under both sets and a summary of what changes. --full adds correlations of
    systems and of queries (τ_AP takes the second set as the truth), which significant differences
    survive, by how much each shifts, and the queries that change most. Only queries that both sets
    judge count, and only those with a relevant document in both (--keep-empty keeps the others).
    Measures: AP, P@5, Rprec, GMAP and Bpref, unless you name some.

    Example: citebed contrast j1.qrels j12.qrels runs/*.run -m AP -m Bpref --plots figures/
    """
    from citebed.evaluation.contrasts import contrast as contrasts
    from citebed.evaluation.scoring.comparison import Design
    from citebed.evaluation.scoring.run_scores import make_resampling
    from citebed.report.contrast_tables import contrast_lines, contrast_tables
    from citebed.runs.reader import find_run_name

    style = style_of(format, as_json, as_csv)
    if report:
        check_page(report, {os.path.realpath(path) for path in (before, after, *runs)})
    if pair and plots is None:
        raise typer.BadParameter("--pair needs --plots FOLDER.")
    if drawn_runs and plots is None:
        raise typer.BadParameter("--draw needs --plots FOLDER.")
    two, drawn_runs = (
        names and [find_run_name(run, runs, "run to plot") for run in names]
        for names in (pair, drawn_runs)
    )
    check_pair(two)
    how = contrasts.ContrastOptions(
        settings=options.settings_of(complete, scores),
        design=Design(test=test, correction=correct, alpha=alpha),
        resampling=make_resampling(cluster, after, queries, samples, seed),
        keep_empty=keep_empty,
        largest=largest,
    )
    chosen = measures or contrasts.CONTRASTED
    contrasted = contrasts.contrast(before, after, runs, chosen, how)
    drawn = _draw(contrasted, plots, two, drawn_runs, full)
    drawn += _write_page(contrasted, report, typed(context)) if report else []
    _print(contrasted, part, style, contrast_tables(contrasted, part, full=full))
    say_all(contrast_lines(contrasted, part, full=full), style)
    judged = count(len(contrasted.sets.query_ids), "query")
    runs_said = count(len(contrasted.before.runs), "run")
    say_all([*drawn, f"{judged} judged in both sets; {runs_said}"], style)
    _say_more(part, full, style, "correlations, differences, queries that change most")


def _draw(
    contrasted: Contrast,
    folder: Path | None,
    pair: Sequence[str] | None,
    runs: list[str] | None,
    full: bool,
) -> list[str]:
    """Draw the figures if --plots is given, and return a sentence about the files."""
    if folder is None:
        return []
    from citebed.report.contrast_page import draw_contrast

    drawn = draw_contrast(contrasted, folder, pair, runs=runs, full=full)
    return [f"{count(len(drawn), 'figure file')} in {printable(folder)}"]


def _write_page(contrasted: Contrast, page: Path, command: str) -> list[str]:
    """Write the HTML page and return a sentence about it."""
    from citebed.files.output_files import write_file
    from citebed.report.contrast_page import contrast_page

    whole = printable(contrast_page(contrasted, command)).encode()
    write_file(page, whole)
    return [f"{printable(page)}: {len(whole) / 1e6:.1f} MB"]


def _say_more(part: str | None, full: bool, style: str, what: str) -> None:
    """Say below a summary how to print the rest."""
    if part is None and not full and style == "table":
        typer.echo(f"--full prints the rest: {what}; --part NAME one table")


def _print(
    parts: MultiTableResult, wanted: str | None, style: str, tables: Iterable[Table]
) -> None:
    """Print one part or all parts, as tables or as rows with their part's name (except per-query
    rows)."""
    if style in ("json", "csv"):
        print_rows(parts.all_rows() if wanted is None else parts.rows(wanted), style)
        return
    marks = {"table": "{}\n", "markdown": "**{}**\n\n", "latex": "% {}\n"}
    for at, table in enumerate(tables):
        gap = "\n" if at else ""
        typer.echo(gap + marks[style].format(table.caption) + table.written(style), nl=False)


def pool_bias(
    qrels: options.QrelsFile,
    runs: options.RunFiles,
    measures: options.Measures = None,
    teams: Annotated[
        Path | None,
        typer.Option(help="File of lines 'run team'; citebed leaves out a team's runs together."),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Pool depth.")] = 100,
    cutoffs: Annotated[
        list[int] | None,
        typer.Option(
            "--cutoff", min=1, help="Rank cut-off for counting unjudged documents (repeatable)."
        ),
    ] = None,
    part: Annotated[BiasPart | None, typer.Option(help="Print only this table.")] = None,
    full: Full = False,
    test: options.Test = "t",
    correct: options.Correct = "none",
    alpha: options.Alpha = 0.05,
    complete: options.Complete = False,
    scores: options.Scores = "double",
    cluster: options.Cluster = None,
    queries: options.Queries = None,
    samples: options.Samples = None,
    seed: options.Seed = 0,
    format: options.Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Measure pool bias: how much does a run's score drop if its unique documents were unjudged?

    For each run (or team), citebed removes the judgements of documents that only this run has in
    its first N (--depth), and scores all runs again. For every significant difference it then
    checks whether it would hold if all unjudged documents of the worse run were relevant.
    Measures: AP, P@10 and Bpref, unless you name some.

    Example: citebed pool-bias all.qrels runs/*.run --teams teams.txt --depth 100 -m AP
    """
    from citebed.evaluation.contrasts import pool_bias as bias
    from citebed.evaluation.contrasts.pool import CUTOFFS, PoolBiasOptions, read_teams
    from citebed.evaluation.scoring.comparison import Design
    from citebed.evaluation.scoring.run_scores import make_resampling
    from citebed.report.contrast_tables import bias_lines, bias_tables

    style = style_of(format, as_json, as_csv)
    how = PoolBiasOptions(
        depth=depth,
        teams=read_teams(teams) if teams is not None else None,
        cutoffs=tuple(cutoffs or CUTOFFS),
        settings=options.settings_of(complete, scores),
        design=Design(test=test, correction=correct, alpha=alpha),
        resampling=make_resampling(cluster, qrels, queries, samples, seed),
    )
    parts = bias.pool_bias(qrels, runs, measures or bias.MEASURES, how)
    _print(parts, part, style, bias_tables(parts, part, full=full))
    say_all(bias_lines(parts, full=full), style)
    _say_more(part, full, style, "every difference that depends on unjudged documents")
