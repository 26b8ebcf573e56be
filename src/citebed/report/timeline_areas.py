"""Two systems as areas: slices as wide as their weights, so that each area is a score.

Where the first system is better the space between them is filled, where the second is, hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from citebed.report.drawing import INK, LIGHT, MARK, RULE, panels
from citebed.report.timeline_series import Areas, day_name, short
from citebed.runs.tables import Floats

_WIDTH = 6.4
_HATCHES = 150
_APART = 0.135
"""Dates stand no nearer to each other than this share of the axis."""


class Pair(NamedTuple):
    """Two systems' scores as areas under one weighting."""

    weight: str
    first: Areas
    second: Areas

    def told(self) -> str:
        """``0.513 − 0.365 = +0.148 (ahead by 0.160, behind by 0.012)``."""
        first, second = self.first.score, self.second.score
        apart, widths = self.first.heights - self.second.heights, self.first.widths
        ahead, behind = widths @ np.maximum(apart, 0), widths @ np.maximum(-apart, 0)
        text = (
            f"{first:.3f} - {second:.3f} = {first - second:+.3f} "
            f"(ahead by {ahead:.3f}, behind by {behind:.3f})"
        )
        return text.replace("-", "−")


def areas_figure(
    title: str, runs: tuple[str, str], pairs: Sequence[Pair], limits: tuple[float, float]
) -> Figure:
    """A panel a weighting, one above the other."""
    figure, grid = panels(len(pairs), 1, (_WIDTH, 0.9), (0, 1.75))
    for axes, pair in zip(grid, pairs, strict=True):
        axes.set_ylim(*limits)
        _panel(axes, pair)
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold")
    grid[-1].set_xlabel("start of slice; slices are as wide as their weights")
    first, second = (short(run, 40) for run in runs)
    figure.legend(
        handles=[
            Line2D([], [], color=MARK, linewidth=1.6, label=first),
            Line2D([], [], color=INK, linewidth=1.0, linestyle=(0, (3, 1.2)), label=second),
            Patch(facecolor=LIGHT, label="the first is better"),
            _hatched_key("the second is better"),
        ],
        loc="outside lower left",
        ncols=2,
        frameon=False,
    )
    return figure


def _panel(axes: Axes, pair: Pair) -> None:
    edges, first, second = pair.first.edges, pair.first.heights, pair.second.heights
    axes.set_xlim(0, 1)
    axes.set_title(f"{pair.weight}: {pair.told()}", fontweight="normal", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.axhline(0, color=INK, linewidth=0.6)
    axes.add_patch(PathPatch(_boxes(edges, second, first), facecolor=LIGHT, linewidth=0))
    _hatch(axes, _boxes(edges, first, second))
    x = np.repeat(edges, 2)[1:-1]
    axes.plot(x, np.repeat(first, 2), color=MARK, linewidth=1.6)
    axes.plot(x, np.repeat(second, 2), color=INK, linewidth=1.0, linestyle=(0, (3, 1.2)))
    axes.set_xticks(edges, minor=True)
    axes.tick_params(axis="x", which="minor", length=2, width=0.4, color=RULE)
    places = _date_places(edges)
    axes.set_xticks(edges[places], [day_name(pair.first.starts[at]) for at in places])
    axes.tick_params(axis="x", which="major", length=4)


def _date_places(edges: Floats) -> list[int]:
    """Which slices' starts are named: as many as have room."""
    places = [0]
    for at in range(1, len(edges) - 1):
        if edges[at] - edges[places[-1]] >= _APART and edges[at] <= 1 - _APART / 2:
            places.append(at)
    return places


def _boxes(edges: Floats, low: Floats, high: Floats) -> Path:
    """The boxes between two heights, of the slices where ``high`` is the higher one."""
    kept = np.flatnonzero(high > low)
    left, right, low, high = edges[kept], edges[kept + 1], low[kept], high[kept]
    corners = [(left, low), (left, high), (right, high), (right, low), (left, low)]
    points = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(kept)
    return Path(points, codes) if len(kept) else Path(np.zeros((0, 2)))


def _hatch(axes: Axes, boxes: Path) -> None:
    """Slanted lines within boxes.

    They are lines cut by a clip path, for a pattern of matplotlib's would be an SVG fill that
    refers to an id, and ids change when a picture becomes part of a page.
    """
    if not np.size(boxes.vertices):
        return
    points = [
        (x, y) for at in np.linspace(-0.35, 1, _HATCHES) for x, y in ((at, 0), (at + 0.35, 1))
    ]
    slanted = Path(points, [Path.MOVETO, Path.LINETO] * _HATCHES)
    lines = PathPatch(
        slanted, transform=axes.transAxes, facecolor="none", edgecolor=INK, linewidth=0.5
    )
    axes.add_patch(lines)
    lines.set_clip_path(boxes, axes.transData)


def _hatched_key(text: str) -> Line2D:
    """The key of what is hatched: slanted lines, as the mark of a line that is none."""
    points = [(x, y) for at in np.linspace(-1, 0.7, 7) for x, y in ((at, -0.4), (at + 0.3, 0.4))]
    slanted = Path(points, [Path.MOVETO, Path.LINETO] * 7)
    style: dict[str, Any] = {"color": INK, "markersize": 18, "markeredgewidth": 0.5}
    return Line2D([], [], linestyle="", marker=slanted, fillstyle="none", label=text, **style)
