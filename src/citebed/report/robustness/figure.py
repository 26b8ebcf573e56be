"""The robustness of measures in one figure: a panel a measure, a line a size of slice."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from citebed.errors import CitebedError
from citebed.report.figure_style import INK, OPEN, draw_file, panels, picture_ending
from citebed.runs.tables import Floats
from citebed.timeline.robustness import Setting, Simulation
from citebed.wording import printable

ENDINGS = ("svg", "png")
_RULE = "#b0b0b0"
_DASHES: tuple[Any, ...] = ("solid", (0, (4, 1.5)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
_MARKS = (("o", INK), ("o", "white"), ("s", INK), ("s", "white"), ("^", INK), ("^", "white"))
_COLUMNS = 3


def draw_robustness(simulation: Simulation, path: str | Path) -> None:
    """Draw every measure's mean against θ to a file, SVG or PNG by its ending.

    A line is a size of slice: its dashes tell D, its marks R. The grey line is 1 − θ. Where
    the lines of a panel lie upon each other, the measure does not depend on the size. The file
    is written whole or not at all, and the same study gives the same file.
    """
    path = Path(path)
    picture_ending(path, ENDINGS)
    if not path.parent.is_dir():
        where, what = printable(path.parent), printable(path.name)
        raise CitebedError(f"there is no folder '{where}' to draw '{what}' into.")
    draw_file(lambda: robustness_figure(simulation), path, ENDINGS, OPEN)


def robustness_figure(simulation: Simulation) -> Figure:
    """The figure itself: panels in rows of three, one legend below."""
    columns = min(_COLUMNS, len(simulation.measures))
    figure, grid = panels(len(simulation.measures), columns, (0.3, 0.8), (2.7, 2.3))
    looks = _looks(simulation.options.settings)
    for axes, measure, means in zip(grid, simulation.measures, simulation.mean, strict=True):
        _panel(axes, simulation.options.levels, means, looks)
        axes.set_title(str(measure))
    for axes in grid[-columns:]:
        axes.set_xlabel("disorder θ")
    _legend(figure, simulation.options.settings, looks)
    return figure


def _looks(settings: tuple[Setting, ...]) -> list[dict[str, Any]]:
    """Each setting's line: dashes by D, marks by R as it is written."""
    dashes = dict(zip(dict.fromkeys(s.D for s in settings), cycle(_DASHES), strict=False))
    marks = dict(zip(dict.fromkeys(s.written for s in settings), cycle(_MARKS), strict=False))
    return [
        {
            "color": INK,
            "linewidth": 0.9,
            "linestyle": dashes[setting.D],
            "marker": marks[setting.written][0],
            "markerfacecolor": marks[setting.written][1],
            "markeredgewidth": 0.7,
            "markersize": 3.2,
        }
        for setting in settings
    ]


def _panel(
    axes: Axes, levels: tuple[float, ...], means: Floats, looks: list[dict[str, Any]]
) -> None:
    axes.plot([0, 1], [1, 0], color=_RULE, linewidth=1.6, zorder=1)
    for values, look in zip(means, looks, strict=True):
        axes.plot(levels, values, zorder=2, clip_on=False, **look)
    low, high = min(0.0, float(means.min())), max(1.0, float(means.max()))
    room = 0.03 * (high - low)
    axes.set(xlim=(-0.02, 1.02), ylim=(low - room, high + room))
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])


def _legend(figure: Figure, settings: tuple[Setting, ...], looks: list[dict[str, Any]]) -> None:
    lines = [Line2D([], [], **look) for look in looks]
    names = [str(setting) for setting in settings]
    lines.append(Line2D([], [], color=_RULE, linewidth=1.6))
    names.append("1 − θ")
    figure.legend(
        lines, names, loc="outside lower center", ncols=min(4, len(names)), handlelength=3.6
    )
