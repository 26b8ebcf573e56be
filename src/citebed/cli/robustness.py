"""The command ``robustness``: which measures are comparable across slices of different size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli.output import AsCsv, AsJson, print_rows, style_of
from citebed.cli.scoring_options import Format, Seed
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.timeline.robustness import Robustness, Simulation


Part = Literal["means", "measures"]


def robustness(
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "--measure",
            "-m",
            help="Measures, e.g. AP,nDCG@R,AUC:rescaled (repeatable).",
        ),
    ] = None,
    documents: Annotated[
        str,
        typer.Option(
            "--documents", "-D", help="Ranking lengths D, e.g. 10,100,1000.", metavar="LIST"
        ),
    ] = "10,100,200",
    relevant: Annotated[
        str,
        typer.Option(
            "--relevant",
            "-R",
            help="Numbers of relevant documents R: fractions of D (D/10), or counts.",
            metavar="LIST",
        ),
    ] = "D/2,D/10",
    theta: Annotated[
        str, typer.Option("--theta", help="Levels of disorder, from 0 to 1.", metavar="LIST")
    ] = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1",
    rankings: Annotated[int, typer.Option(help="Number of rankings per size and level.")] = 1000,
    perturbation: Annotated[
        str, typer.Option(help="How to perturb the ideal ranking: shuffle, exchange or noise.")
    ] = "shuffle",
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Save a figure of the means to this .svg or .png file.")
    ] = None,
    part: Annotated[
        Part | None,
        typer.Option(
            help="Which table to print: means per size and level, or one row per measure."
        ),
    ] = None,
    format: Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Test by simulation which measures are comparable across slices of different size.

    citebed perturbs ideal rankings of D documents, R of them relevant, at levels θ from 0 to 1, and
    scores them. A measure that differs at the same θ only because of D and R should not be averaged
    over slices of different size. You can study any measure of 'citebed evaluate'; a measure
    followed by :rescaled is rescaled to [-1, 1]. Rows (--json, --csv) are means unless you add
    --part measures.

    Example: citebed robustness --measures AP,nDCG@R,nDCG,Rprec,AUC --seed 7 --plot robustness.svg
    """
    from citebed.timeline import robustness as study

    style = style_of(format, as_json, as_csv)
    if plot is not None:  # check the figure's path before the study starts
        from citebed.report.figure_style import picture_ending
        from citebed.report.robustness import ENDINGS, draw_robustness

        picture_ending(plot, ENDINGS)
    options = study.StudyOptions(
        settings=tuple(study.settings_of(documents, relevant)),
        levels=study.levels_of(theta),
        rankings=rankings,
        seed=seed,
        perturbation=perturbation,
    )
    simulated = study.simulate(measures or study.MEASURES, options)
    if plot is not None:
        draw_robustness(simulated, plot)
    summed = study.robustness(simulated)
    if style in ("json", "csv"):
        rows = [each.row() for each in summed] if part == "measures" else simulated.rows()
        print_rows(rows, style)
    else:
        _print_table(simulated, summed, part, style)
    _say(simulated, summed if part is None else (), plot, err=style != "table")


def _print_table(
    simulated: Simulation, summed: Sequence[Robustness], part: Part | None, style: str
) -> None:
    from citebed.report.robustness import MEASURES, means_table
    from citebed.report.tables import build_table

    table = means_table(simulated) if part == "means" else build_table(MEASURES, summed)
    typer.echo(table.written(style), nl=style == "table")


def _say(simulated: Simulation, summed: Sequence[Robustness], plot: Path | None, err: bool) -> None:
    from citebed.report.robustness import move_sentence, study_sentence, verdict_lines

    lines = []
    if summed and not err:
        lines += [*map(move_sentence, summed), "", *verdict_lines(summed), ""]
    lines.append(study_sentence(simulated))
    if plot is not None:
        lines.append(f"Drawn: {printable(plot)}")
    for line in lines:
        typer.echo(line, err=err)
