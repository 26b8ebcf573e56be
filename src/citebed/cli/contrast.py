"""The commands ``contrast`` and ``pool-bias``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli.options import Measures, QrelsFile, RunFiles, TableOptions, typed
from citebed.cli.output import check_page, print_lines, write_page
from citebed.errors import CitebedError
from citebed.evaluation.options import CONTRASTED, POOLED, ContrastOptions, PoolBiasOptions
from citebed.options import option
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.frames import MultiTableResult
    from citebed.report.tables import Table

ContrastPart = Literal[
    "judgements", "summary", "changes", "correlations", "conclusions", "movers", "queries"
]  # fmt: skip
BiasPart = Literal["falls", "orders", "unjudged", "conclusions"]
FULL = "Print all tables, not only the summary."
REST = "--full prints the rest: {}; --part NAME one table"


@dataclass(frozen=True, kw_only=True)
class ContrastOutput(TableOptions):
    """The tables and figures of ``contrast``."""

    part: ContrastPart | None = option(
        None,
        "Print only this table. 'movers' are the queries that change most, 'conclusions' the "
        "significant differences, 'queries' the scores of every query (not part of --full).",
    )
    full: bool = option(False, f"{FULL} With --plots: draw all figures.", "--full", "--all")
    plots: Path | None = option(
        None,
        "Save plots to this folder: system means, and per-query scatter plots of the best run and "
        "of the run that changes most.",
    )
    report: Path | None = option(None, "Write tables and figures to this HTML file.")
    draw: tuple[str, ...] = option(
        (),
        "With --plots: plot the queries of this run, not of the best run and the one that changes "
        "most (repeatable).",
        metavar="RUN",
    )
    pair: tuple[str, str] | None = option(
        None, "With --plots: also plot these two runs against each other.", metavar="RUN RUN"
    )


def contrast(
    context: typer.Context,
    before: Annotated[Path, typer.Argument(help="First judgement set.", metavar="QRELS1")],
    after: Annotated[Path, typer.Argument(help="Second judgement set.", metavar="QRELS2")],
    runs: RunFiles,
    output: ContrastOutput,
    options: ContrastOptions,
    measures: Measures = None,
) -> None:
    """Compare the same runs under two judgement sets.

    Prints each measure under both sets and a summary of what changes. --full adds: correlations of
    systems and of queries (Kendall's τ, and τ_AP with the second set as the truth); the differences
    between runs, how much each changes, and whether it stays significant; the queries that change
    most. A query counts only if both sets judge it, and if it has a relevant document in both
    (--keep-empty drops the second condition). By default, the measures are AP, P@5, Rprec, GMAP and
    Bpref.

    Example: citebed contrast t1.qrels t12.qrels runs/*.run -m AP -m Bpref --plots figures/
    """
    from citebed.evaluation.contrasts.contrast import contrast as contrast_runs
    from citebed.report.contrast_tables import contrast_lines, contrast_tables

    style, full, plots = output.style, output.full, output.plots
    if output.report:
        check_page(output.report, {os.path.realpath(path) for path in (before, after, *runs)})
    for flag, named in (("--pair", output.pair), ("--draw", output.draw)):
        if named and plots is None:
            raise typer.BadParameter(f"{flag} needs --plots FOLDER.")
    pair, drawn_runs = find_pair(output.pair, runs), find_plotted(output.draw, runs)
    contrasted = contrast_runs(before, after, runs, measures or CONTRASTED, options)
    notes = []
    if plots is not None:
        from citebed.report.contrast_page import draw_contrast

        drawn = draw_contrast(contrasted, plots, pair, runs=drawn_runs or None, full=full)
        notes.append(f"{count(len(drawn), 'figure file')} in {printable(plots)}")
    if output.report:
        from citebed.report.contrast_page import contrast_page

        notes.append(write_page(output.report, contrast_page(contrasted, typed(context))))
    _print(contrasted, output.part, output, contrast_tables(contrasted, output.part, full=full))
    print_lines(contrast_lines(contrasted, output.part, full=full), style)
    judged = count(len(contrasted.sets.query_ids), "query")
    scored = count(len(contrasted.before.runs), "run")
    print_lines([*notes, f"{judged} judged in both sets; {scored}"], style)
    if output.part is None and not full and style == "table":
        typer.echo(REST.format("correlations, differences, queries that change most"))


def find_plotted(names: Sequence[str], runs: Sequence[Path]) -> list[str]:
    """Return the names of runs to plot, given their names or files."""
    from citebed.runs.reader import find_run_name

    return [find_run_name(name, runs, "run to plot") for name in names]


def find_pair(pair: tuple[str, str] | None, runs: Sequence[Path]) -> tuple[str, str] | None:
    """Return the names of the two runs of ``--pair``; they must differ."""
    if pair is None:
        return None
    first, second = find_plotted(pair, runs)
    if first == second:
        raise CitebedError(f"--pair names '{first}' twice. Name two different runs.")
    return first, second


def _print(
    parts: MultiTableResult, part: str | None, output: TableOptions, tables: Iterable[Table]
) -> None:
    """Print one part or all; rows of all parts have their part's name (except per-query rows)."""
    output.print_tables(lambda: parts.rows(part) if part else parts.all_rows(), tables)


@dataclass(frozen=True, kw_only=True)
class BiasOutput(TableOptions):
    """The output of ``pool-bias``."""

    part: BiasPart | None = option(None, "Print only this table.")
    full: bool = option(False, FULL, "--full", "--all")


def pool_bias(
    qrels: QrelsFile,
    runs: RunFiles,
    output: BiasOutput,
    options: PoolBiasOptions,
    measures: Measures = None,
) -> None:
    """Measure pool bias: how much does a run's score drop if its unique documents were unjudged?

    For each run (or team), citebed removes the judgements of documents that only this run has in
    its first N (--depth), and scores all runs again. It also checks which significant differences
    remain if the worse run's unjudged documents are all relevant. Default: AP, P@10 and Bpref.

    Example: citebed pool-bias all.qrels runs/*.run --teams teams.txt --depth 100 -m AP
    """
    from citebed.evaluation.contrasts.pool_bias import pool_bias as measure_bias
    from citebed.report.contrast_tables import bias_lines, bias_tables

    style, part, full = output.style, output.part, output.full
    bias = measure_bias(qrels, runs, measures or POOLED, options)
    _print(bias, part, output, bias_tables(bias, part, full=full))
    print_lines(bias_lines(bias, full=full), style)
    if part is None and not full and style == "table":
        typer.echo(REST.format("every difference that depends on unjudged documents"))
