"""The robustness of measures in one figure: a panel a measure, a line a size of slice."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from citebed.errors import CitebedError, UnknownName
from citebed.files.writing import whole_files
from citebed.report.drawing import STYLE
from citebed.runs.tables import Floats
from citebed.timeline.robustness import Setting, Simulation
from citebed.wording import printable

ENDINGS = ("svg", "png")
_INK, _RULE = "#222222", "#b0b0b0"
_DASHES: tuple[Any, ...] = ("solid", (0, (4, 1.5)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
_MARKS = (("o", _INK), ("o", "white"), ("s", _INK), ("s", "white"), ("^", _INK), ("^", "white"))
_COLUMNS = 3

_STYLE: dict[Any, Any] = {
    **STYLE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def picture_ending(path: str | Path) -> str:
    """``svg`` or ``png``, by the name of the file; any other is an error."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        raise UnknownName("picture format", ending or Path(path).name, ENDINGS)
    return ending


def draw_robustness(simulation: Simulation, path: str | Path) -> None:
    """Draw every measure's mean against θ to a file, SVG or PNG by its ending.

    A line is a size of slice: its dashes tell D, its marks R. The grey line is 1 − θ. Where
    the lines of a panel lie upon each other, the measure does not depend on the size. The file
    is written whole or not at all, and the same study gives the same file.
    """
    path = Path(path)
    ending = picture_ending(path)
    if not path.parent.is_dir():
        where, what = printable(path.parent), printable(path.name)
        raise CitebedError(f"there is no folder '{where}' to draw '{what}' into.")
    undated: dict[str, Any] = {"svg": {"Date": None}, "png": {"Software": None}}
    with whole_files(path) as (draft,), draft.open("wb") as file, mpl.rc_context(_STYLE):
        figure = robustness_figure(simulation)
        figure.savefig(file, format=ending, dpi=200, metadata=undated[ending])


def robustness_figure(simulation: Simulation) -> Figure:
    """The figure itself: panels in rows of three, one legend below."""
    columns = min(_COLUMNS, len(simulation.measures))
    rows = -(-len(simulation.measures) // columns)
    figure = Figure(figsize=(0.3 + 2.7 * columns, 0.8 + 2.3 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    looks = _looks(simulation.options.settings)
    for axes, measure, means in zip(panels, simulation.measures, simulation.mean, strict=False):
        _panel(axes, simulation.options.levels, means, looks)
        axes.set_title(str(measure))
    for axes in panels[len(simulation.measures) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(simulation.measures) - columns) : len(simulation.measures)]:
        axes.set_xlabel("disorder θ")
    _legend(figure, simulation.options.settings, looks)
    return figure


def _looks(settings: tuple[Setting, ...]) -> list[dict[str, Any]]:
    """Each setting's line: dashes by D, marks by R as it is written."""
    dashes = dict(zip(dict.fromkeys(s.D for s in settings), cycle(_DASHES), strict=False))
    marks = dict(zip(dict.fromkeys(s.written for s in settings), cycle(_MARKS), strict=False))
    return [
        {
            "color": _INK,
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
