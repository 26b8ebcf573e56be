"""Plot two systems as areas: each area is a score, and the area between them the difference.

Over time, a slice is at its place in time, and its contribution is spread over its length, below
the relevant documents by day. Over weight, a slice is as wide as its weight. The area between the
lines is filled where the first system is better, and hatched where the second is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from citebed.evaluation.measures.base import Measure
from citebed.report.figure_style import INK, LIGHT, MARK, RULE
from citebed.report.timeline.axes import (
    WIDTH,
    date_axis,
    days,
    draw_slices,
    draw_volume,
    legend_below,
    line_key,
)
from citebed.report.timeline.series import WINDOW, Areas, Cut, Over, Volume, day_name
from citebed.runs.tables import Floats

_HATCHES = 150
_APART = 0.135
"""The smallest distance of dates, as a share of the axis."""


class Pair(NamedTuple):
    """Two systems' scores as areas under one weighting."""

    weight: str
    first: Areas
    second: Areas

    def sentence(self) -> str:
        """Return ``0.513 − 0.365 = +0.148 (ahead by 0.160, behind by 0.012)``, for example."""
        first, second = self.first.score, self.second.score
        apart, widths = self.first.heights - self.second.heights, self.first.widths
        ahead, behind = widths @ np.maximum(apart, 0), widths @ np.maximum(-apart, 0)
        text = (
            f"{first:.3f} - {second:.3f} = {first - second:+.3f} "
            f"(ahead by {ahead:.3f}, behind by {behind:.3f})"
        )
        return text.replace("-", "−")


@dataclass(frozen=True, kw_only=True)
class AreasPlot:
    """A plot of two systems under some weightings, below the documents by day."""

    title: str
    runs: tuple[str, str]
    measure: Measure
    pairs: Sequence[Pair]
    over: Over
    volume: Volume
    cut: Cut

    def figure(self) -> Figure:
        """Draw a panel for each weighting and, over time, one of the documents above them."""
        timed = self.over == "time"
        heights = [0.9] * timed + [1.75] * len(self.pairs)
        figure = Figure(figsize=(WIDTH, 0.9 + sum(heights)), layout="constrained")
        grid = list(
            figure.subplots(
                len(heights), 1, squeeze=False, sharex=timed, height_ratios=heights
            ).ravel()
        )
        if timed:
            draw_volume(grid[0], self.volume, ticks=3)
            draw_slices(grid[0], self.cut, counted=False)
            date_axis(grid[0], *days(self.cut.bounds[[0, -1]]))
            unit = self.volume.unit
            about = f"relevant documents per {unit}, their mean over {WINDOW} {unit}s, and slices"
            grid[0].set_title(about, **_PLAIN)
        for axes, pair in zip(grid[timed:], self.pairs, strict=True):
            self._panel(axes, pair)
        figure.suptitle(self.title, x=0.01, ha="left", fontsize=9, fontweight="bold")
        if not timed:
            grid[-1].set_xlabel("start of slice; slices are as wide as their weights")
        self._legend(figure)
        return figure

    def _legend(self, figure: Figure) -> None:
        first, second = self.runs
        legend_below(
            figure,
            [
                line_key(first, color=MARK, linewidth=1.6),
                line_key(second, color=INK, linewidth=1.0, linestyle=(0, (3, 1.2))),
                Patch(facecolor=LIGHT, label="the first is better"),
                _hatched_key("the second is better"),
            ],
        )

    def _panel(self, axes: Axes, pair: Pair) -> None:
        edges, first, second = pair.first.edges, pair.first.heights, pair.second.heights
        axes.set_ylim(*score_limits([first, second], self.measure))
        axes.set_title(f"{pair.weight}: {pair.sentence()}", **_PLAIN)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.add_patch(PathPatch(_boxes(edges, second, first), facecolor=LIGHT, linewidth=0))
        _hatch(axes, _boxes(edges, first, second))
        x = np.repeat(edges, 2)[1:-1]
        axes.plot(x, np.repeat(pair.first.seen, 2), color=MARK, linewidth=1.6)
        dashed: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (3, 1.2))}
        axes.plot(x, np.repeat(pair.second.seen, 2), **dashed)
        if self.over == "time":
            date_axis(axes, edges[0], edges[-1])
            axes.set_ylabel(f"{self.measure}, scaled")
        else:
            _slice_axis(axes, pair.first)


_PLAIN: dict[str, Any] = {"fontweight": "normal", "fontsize": 8}


def score_limits(series: Sequence[Floats], measure: Measure) -> tuple[float, float]:
    """Return the limits of a score axis: from 0 or less to the maximum or the end of the scale."""
    known = np.concatenate(series)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    end = measure.RANGE[1]
    near = math.isfinite(end) and 0.6 * end < high <= end
    top = 1.03 * end if near else 1.15 * high
    bottom = min(0.0, 1.1 * low)
    return bottom, (top if top > bottom else bottom + 1.0)


def _slice_axis(axes: Axes, of: Areas) -> None:
    """Label the starts of slices on an axis of weights."""
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(of.edges, minor=True)
    axes.tick_params(axis="x", which="minor", length=2, width=0.4, color=RULE)
    places = _date_places(of.edges)
    axes.set_xticks(of.edges[places], [day_name(of.starts[at]) for at in places])
    axes.tick_params(axis="x", which="major", length=4)


def _date_places(edges: Floats) -> list[int]:
    """Choose the slices whose starts are labelled, as many as there is room for."""
    places = [0]
    for at in range(1, len(edges) - 1):
        if edges[at] - edges[places[-1]] >= _APART and edges[at] <= 1 - _APART / 2:
            places.append(at)
    return places


def _boxes(edges: Floats, low: Floats, high: Floats) -> Path:
    """Return the boxes between two heights, for slices where ``high`` is above ``low``."""
    wide = np.flatnonzero(high > low)
    left, right, low, high = edges[wide], edges[wide + 1], low[wide], high[wide]
    corners = [(left, low), (left, high), (right, high), (right, low), (left, low)]
    points = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(wide)
    return Path(points, codes) if len(wide) else Path(np.zeros((0, 2)))


def _hatch(axes: Axes, boxes: Path) -> None:
    """Draw slanted lines within boxes.

    They are lines with a clip path, because matplotlib's hatches become SVG fills that refer to
    ids, and ids change when a figure is included in a page.
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
    """Make the legend entry of hatched areas: slanted lines as the mark of an invisible line."""
    points = [(x, y) for at in np.linspace(-1, 0.7, 7) for x, y in ((at, -0.4), (at + 0.3, 0.4))]
    slanted = Path(points, [Path.MOVETO, Path.LINETO] * 7)
    style: dict[str, Any] = {"color": INK, "markersize": 18, "markeredgewidth": 0.5}
    return Line2D([], [], linestyle="", marker=slanted, fillstyle="none", label=text, **style)
