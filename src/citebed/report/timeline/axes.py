"""Shared parts of timeline figures: date axes, documents by day, slices, and legends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from citebed.report.figure_style import INK, LIGHT, MARK, RULE, lines_of
from citebed.report.tables import text_width
from citebed.report.timeline.series import WINDOW, Cut, Volume
from citebed.runs.tables import Floats
from citebed.runs.times import DAY

WIDTH = 6.4
"""The width of figures in inches."""

_DOTS = 400
"""The largest number of days drawn as dots; more become an outline."""

_COUNTED = 32
"""The largest number of slices that show their numbers of relevant documents."""

_LINES = 40
"""The largest number of slices with a line at each boundary."""

_ABOVE = 0.9
"""The position of the row of slices, as a share of the height."""


def days(seconds: Any) -> Floats:
    """Convert epoch seconds to matplotlib's days."""
    return np.asarray(seconds, np.float64) / DAY


def date_axis(axes: Axes, first: float, last: float, most: int = 7) -> None:
    """Label an axis with ISO dates, or with hours if there are few days."""
    axes.set_xlim(first, last)
    # matplotlib gives these two no types
    locator: Any = dates.AutoDateLocator
    formatter: Any = dates.DateFormatter
    axes.xaxis.set_major_locator(locator(tz=UTC, minticks=most // 2, maxticks=most))
    how = "%Y-%m-%d" if last - first > 3 else "%m-%d %H:%M"
    axes.xaxis.set_major_formatter(formatter(how, tz=UTC))
    axes.spines[["top", "right"]].set_visible(False)


# --- documents by day, and slices -----------------------------------------------------------


def draw_volume(axes: Axes, volume: Volume, ticks: int = 5) -> None:
    """Plot relevant documents per day and their moving average, with room above for slices."""
    bounds = days(volume.bounds)
    middles = (bounds[:-1] + bounds[1:]) / 2
    _draw_counts(axes, middles, volume)
    line = f"mean over {WINDOW} {volume.unit}s"
    axes.plot(middles, volume.average, color=MARK, linewidth=1.6, label=line)
    most = max(1, int(volume.counts.max()))
    axes.set_ylim(0, 1.1 * most / _ABOVE)
    axes.set_ylabel("documents")
    places = MaxNLocator(ticks, integer=True).tick_values(0, most)
    axes.set_yticks([place for place in places if 0 <= place <= most])


def _draw_counts(axes: Axes, middles: Floats, volume: Volume) -> None:
    """Draw dots or, if there are too many, an outline."""
    name = f"a {volume.unit}"
    if len(volume.counts) > _DOTS:
        axes.fill_between(middles, volume.counts, step="mid", color=LIGHT, linewidth=0, label=name)
        return
    style: dict[str, Any] = {"markersize": 3, "markeredgewidth": 0.6, "markerfacecolor": "white"}
    axes.plot(middles, volume.counts, "o", color=INK, clip_on=False, label=name, **style)


def draw_slices(axes: Axes, cut: Cut, counted: bool = True) -> None:
    """Draw a line at each boundary, and the slices in a row above.

    Slices without relevant documents are dashed. If there is room, the numbers of relevant
    documents are shown. After figure 2 of Dietz, Dalton & Balog (2013).
    """
    bounds = days(cut.bounds)
    gaps = np.minimum(0.1 * np.diff(bounds), 0.003 * (bounds[-1] - bounds[0]))
    starts, ends = bounds[:-1] + gaps, bounds[1:] - gaps
    if len(cut.relevant) <= _LINES:
        axes.vlines(bounds, 0, _ABOVE, transform=axes.get_xaxis_transform(), color=RULE,
                    linewidth=0.4, zorder=0)  # fmt: skip
    for which, dashes, colour, wide, name in (
        (cut.relevant > 0, "solid", INK, 2.0, "slice with relevant documents"),
        (cut.relevant == 0, (0, (1.5, 1.5)), INK, 0.8, "slice without"),
    ):
        if which.any():
            axes.hlines(
                np.full(int(which.sum()), _ABOVE), starts[which], ends[which],
                transform=axes.get_xaxis_transform(), color=colour, linestyle=dashes,
                linewidth=wide, label=name,
            )  # fmt: skip
    if counted and len(cut.relevant) <= _COUNTED:
        for at, number in enumerate(cut.relevant.tolist()):
            axes.text(
                (bounds[at] + bounds[at + 1]) / 2, _ABOVE + 0.02, f"{number}", fontsize=6,
                ha="center", va="bottom", transform=axes.get_xaxis_transform(),
            )  # fmt: skip


# --- names ----------------------------------------------------------------------------------


def legend_below(figure: Figure, keys: Sequence[Any], **how: Any) -> None:
    """Add a legend below the panels, in two columns if the names are short."""
    long = max(text_width(line) for key in keys for line in str(key.get_label()).split("\n"))
    columns = 2 if long <= 38 else 1
    style: dict[str, Any] = {"loc": "outside lower left", "frameon": False, **how}
    figure.legend(handles=list(keys), ncols=min(columns, len(keys)), **style)


def line_key(name: str, **style: Any) -> Line2D:
    """Make the legend entry of a line, with its full name."""
    return Line2D([], [], label=lines_of(name, 78), **style)
