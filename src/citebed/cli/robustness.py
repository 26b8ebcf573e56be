"""The command ``robustness``: which measures are comparable across slices of different size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer

from citebed.cli.options import TableOptions
from citebed.cli.output import print_rows
from citebed.options import option
from citebed.wording import printable

Part = Literal["means", "measures"]


@dataclass(frozen=True, kw_only=True)
class RobustnessOptions(TableOptions):
    """The simulation and its output."""

    measures: tuple[str, ...] = option(
        (), "Measures, e.g. AP,nDCG@R,AUC:rescaled (repeatable).", "--measures", "--measure", "-m"
    )
    documents: str = option(
        "10,100,200", "Ranking lengths D, e.g. 10,100,1000.", "-D", metavar="LIST"
    )
    relevant: str = option(
        "D/2,D/10",
        "Numbers of relevant documents R: fractions of D (D/10), or counts.",
        "-R",
        metavar="LIST",
    )
    theta: str = option(
        "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1",
        "Levels of disorder, from 0 to 1.",
        metavar="LIST",
    )
    rankings: int = option(1000, "Number of rankings per size and level.")
    perturbation: str = option(
        "shuffle", "How to perturb the ideal ranking: shuffle, exchange or noise."
    )
    seed: int = option(0, "Random seed.", min=0)
    plot: Path | None = option(None, "Save a figure of the means to this .svg or .png file.")
    part: Part | None = option(
        None, "Which table to print: means per size and level, or one row per measure."
    )


def robustness(options: RobustnessOptions) -> None:
    """Test by simulation which measures are comparable across slices of different size.

    citebed takes ideal rankings of D documents, R of them relevant, disorders them by θ from 0
    (ideal) to 1 (random), and scores them. If a measure gives different scores at the same θ only
    because D or R differ, do not average it over slices of different size. You can study any
    measure of 'citebed evaluate'; one followed by :rescaled is rescaled to [-1, 1]. --json and
    --csv print means; add --part measures for one row per measure.

    Example: citebed robustness --measures AP,nDCG@R,nDCG,Rprec,AUC --seed 7 --plot robustness.svg
    """
    from citebed.report import robustness as report
    from citebed.report.tables import build_table
    from citebed.timeline import robustness as study

    style, plot, part = options.style, options.plot, options.part
    if plot is not None:  # check the figure's path before the study starts
        from citebed.report.figure_style import picture_ending
        from citebed.report.robustness import ENDINGS, draw_robustness

        picture_ending(plot, ENDINGS)
    simulated = study.simulate(
        options.measures or study.MEASURES,
        study.StudyOptions(
            settings=tuple(study.settings_of(options.documents, options.relevant)),
            levels=study.levels_of(options.theta),
            rankings=options.rankings,
            seed=options.seed,
            perturbation=options.perturbation,
        ),
    )
    if plot is not None:
        draw_robustness(simulated, plot)
    summed = study.robustness(simulated)
    if style in ("json", "csv"):
        rows = [each.row() for each in summed] if part == "measures" else simulated.rows()
        print_rows(rows, style)
    else:
        means = report.means_table(simulated) if part == "means" else None
        shown = means or build_table(report.MEASURES, summed)
        typer.echo(shown.written(style), nl=style == "table")
    lines = []
    if part is None and style == "table":
        lines += [*map(report.move_sentence, summed), "", *report.verdict_lines(summed), ""]
    lines.append(report.study_sentence(simulated))
    if plot is not None:
        lines.append(f"Drawn: {printable(plot)}")
    for line in lines:
        typer.echo(line, err=style != "table")
