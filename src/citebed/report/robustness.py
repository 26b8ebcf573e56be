"""Robustness of measures: tables, sentences, and a figure with a panel per measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citebed.errors import CitebedError
from citebed.report.tables import Column, Table, number, text_table
from citebed.timeline.robustness import NEAR, Robustness, Simulation
from citebed.wording import count, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = ("svg", "png")
"""The formats of the figure."""
_RULE = "#b0b0b0"
_DASHES: tuple[Any, ...] = ("solid", (0, (4, 1.5)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
_MARKS = (("o", True), ("o", False), ("s", True), ("s", False), ("^", True), ("^", False))
_COLUMNS = 3
_PAPER = (
    "The paper (Dietz, Dalton & Balog 2013, section 4.4) asks whether a measure follows the level "
    "of disorder. It finds that AP and R-precision do, nDCG does with the cut-off R, and AUC does "
    "after rescaling to [-1, 1]."
)
_PAPERS = {"AP", "Rprec", "nDCG", "nDCG@R", "AUC", "AUC:rescaled"}
_MOVES = {
    "moves little": "at most 10%",
    "moves somewhat": "at most 33%",
    "moves much": "more",
    "does not fall": "no fall at all",
}


def _plain(value: float) -> str:
    """Format to three decimals, without the sign of a negative zero."""
    text = number(value, ".3f")
    return text.removeprefix("-") if text.strip("-0.") == "" else text


MEASURES = (
    Column("measure", "measure", left=True),
    Column("r with θ", "correlation", _plain),
    Column("from 1 − θ", "distance", _plain),
    Column("largest move", "largest_move", _plain),
    Column("at θ", "theta", "g"),
    Column("mean move", "mean_move", _plain),
    Column("with D", "move_with_D", _plain),
    Column("with R", "move_with_R", _plain),
    Column("fall", "fall", _plain),
    Column("of fall", "share", ".0%"),
)
"""One row per measure: correlation with θ, distance from 1 − θ, and the moves with D and R."""


def means_table(simulation: Simulation) -> Table:
    """Make a table of the means: a row per measure and size, a column per level."""
    head = ["measure", "D", "R", *(f"θ={level:g}" for level in simulation.options.levels)]
    rows = [
        [str(measure), str(setting.D), str(setting.R), *map(_plain, means)]
        for measure, of_measure in zip(simulation.measures, simulation.mean, strict=True)
        for setting, means in zip(simulation.options.settings, of_measure, strict=True)
    ]
    return text_table(head, rows)


def move_sentence(of: Robustness) -> str:
    """Describe how much a measure moves with the size of the slice."""
    start = (
        f"{of.measure} moves by up to {of.largest_move:.2f} with the size of the slice at the same "
        f"disorder (at θ={of.theta:g}), {of.mean_move:.2f} on average"
    )
    if of.verdict == "one level":
        return f"{start}."
    if of.verdict == "does not fall":
        return f"{start}, and does not fall with disorder."
    return f"{start}: {of.share:.0%} of its fall from order to disorder."


def verdict_lines(verdicts: Sequence[Robustness]) -> list[str]:
    """Answer two different questions: the paper's (does a measure follow the disorder?) and ours
    (how much does it move with the size of the slice?)."""
    lines = [_PAPER] if any(of.measure in _PAPERS for of in verdicts) else []
    nearest = sorted(verdicts, key=lambda of: of.distance)
    groups = (
        (", ".join(f"{of.measure} {of.distance:.2f}" for of in nearest if of.follows == near), how)
        for near, how in ((True, f"within {NEAR:g}"), (False, "farther"))
    )
    distances = "; ".join(f"{names} ({how})" for names, how in groups if names)
    lines.append(f"Measured here as the mean distance from 1 − θ: {distances}.")
    lines += [
        f"Rescaled to [-1, 1], as {of.measure}:rescaled, {of.measure} has the distance "
        f"{of.rescaled_distance:.2f} from 1 − θ instead of {of.distance:.2f}."
        for of in verdicts
        if of.rescaled_distance < of.distance / 2  # it measures the disorder twice as well
    ]
    if any(of.verdict == "one level" for of in verdicts):
        return [*lines, "Use two levels or more (--theta) to see how much size moves a measure."]
    moves = []
    for verdict, words in _MOVES.items():
        shares = [
            f"{of.measure} {of.share:.0%}".removesuffix(" nan%")
            for of in verdicts
            if of.verdict == verdict
        ]
        if shares:
            moves.append(f"{words}: {', '.join(shares)}")
    lines.append(
        "Our question is another one: how much does the size of a slice move a measure at the same "
        "disorder? The mean move as a share of the fall from order to disorder: "
        f"{'; '.join(moves)}."
    )
    both = [of.measure for of in verdicts if of.follows and of.verdict == "moves much"]
    if both:
        follow, give = ("follows", "gives") if len(both) == 1 else ("follow", "give")
        lines.append(
            f"{', '.join(both)} {follow} the disorder (the first question), and yet {give} slices "
            "of different size different scores (the second question)."
        )
    return lines


def study_sentence(simulation: Simulation) -> str:
    """Describe the simulation and its precision."""
    options = simulation.options
    sizes = "; ".join(map(str, options.settings))
    # half of the widest interval, rounded up to three decimals
    error = math.ceil(float((simulation.high - simulation.low).max()) / 2 * 1000) / 1000
    return (
        f"{options.rankings:,} rankings of each size ({sizes}) at each of "
        f"{count(len(options.levels), 'level')}, seed {options.seed}. Perturbation "
        f"{options.perturbation}: {options.how.means}. Every mean is known to "
        f"±{error:.2g} or better (95%)."
    )


def draw_robustness(simulation: Simulation, path: str | Path) -> None:
    """Draw every measure's mean against θ to a file, SVG or PNG by its ending.

    Each line is a size of slice: its dashes show D, its marks R. The grey line is 1 − θ. If the
    lines of a panel coincide, the measure does not depend on the size. The file is written
    atomically, and the same study gives the same file.
    """
    from citebed.report.figure_style import OPEN, draw_file, picture_ending

    path = Path(path)
    picture_ending(path, ENDINGS)
    if not path.parent.is_dir():
        where, what = printable(path.parent), printable(path.name)
        raise CitebedError(f"there is no folder '{where}' to draw '{what}' into.")
    draw_file(lambda: robustness_figure(simulation), path, ENDINGS, OPEN)


def robustness_figure(simulation: Simulation) -> Figure:
    """Make the figure: panels in rows of three, with one legend below."""
    from matplotlib.lines import Line2D

    from citebed.report.figure_style import INK, panels

    settings = simulation.options.settings
    dashes = dict(zip(dict.fromkeys(s.D for s in settings), cycle(_DASHES), strict=False))
    marks = dict(zip(dict.fromkeys(s.written for s in settings), cycle(_MARKS), strict=False))
    styles: list[dict[str, Any]] = [
        {
            "color": INK,
            "linewidth": 0.9,
            "linestyle": dashes[setting.D],
            "marker": marks[setting.written][0],
            "markerfacecolor": INK if marks[setting.written][1] else "white",
            "markeredgewidth": 0.7,
            "markersize": 3.2,
        }
        for setting in settings
    ]
    columns = min(_COLUMNS, len(simulation.measures))
    figure, grid = panels(len(simulation.measures), columns, (0.3, 0.8), (2.7, 2.3))
    for axes, measure, means in zip(grid, simulation.measures, simulation.mean, strict=True):
        axes.plot([0, 1], [1, 0], color=_RULE, linewidth=1.6, zorder=1)
        for values, style in zip(means, styles, strict=True):
            axes.plot(simulation.options.levels, values, zorder=2, clip_on=False, **style)
        low, high = min(0.0, float(means.min())), max(1.0, float(means.max()))
        room = 0.03 * (high - low)
        axes.set(xlim=(-0.02, 1.02), ylim=(low - room, high + room))
        axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        axes.set_title(str(measure))
    for axes in grid[-columns:]:
        axes.set_xlabel("disorder θ")
    lines = [Line2D([], [], **style) for style in styles]
    lines.append(Line2D([], [], color=_RULE, linewidth=1.6))
    names = [*map(str, settings), "1 − θ"]
    figure.legend(
        lines, names, loc="outside lower center", ncols=min(4, len(names)), handlelength=3.6
    )
    return figure
