"""Draw a collection: its years, venues, passages and reference lists."""

from __future__ import annotations

import datetime
import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from citebed.collection.lint.documents import EARLIEST
from citebed.collection.statistics import CollectionStatistics
from citebed.report.collection import short_name
from citebed.report.figure_style import INK, LIGHT, MARK, OPEN, draw_file
from citebed.wording import count

ENDINGS = ("svg", "png", "pdf")
_MIDDLE, _FAINT = "#8ba1b8", "#d9d9d9"
_VENUES = 12
_FEW_YEARS = 5
_BARS = 120
"""More bars than this are drawn as one outline."""

_STYLE: dict[Any, Any] = {
    **OPEN,
    "axes.titlepad": 10,
    "grid.color": _FAINT,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "svg.fonttype": "path",
}


def draw(statistics: CollectionStatistics, path: str | Path) -> None:
    """Draw the statistics to a file, SVG, PNG or PDF by its ending.

    Panels without data are left out. The file is written atomically, and the same statistics give
    the same file.
    """
    draw_file(lambda: _figure(statistics), path, ENDINGS, _STYLE)


def _figure(statistics: CollectionStatistics) -> Figure:
    years, venues = statistics.years, statistics.counts("venues")
    panels: list[Callable[[SubFigure], None]] = []
    if any(_is_plausible(year) for year, _, _ in years):
        panels.append(lambda figure: _draw_years(figure.subplots(), years))
    if venues:
        panels.append(lambda figure: _draw_venues(figure, venues[:_VENUES]))
    if any(statistics.lengths.values()):
        panels.append(lambda figure: _draw_lengths(figure, statistics))
    if any(number for number, _ in statistics.per_paper):
        panels.append(lambda figure: _draw_references(figure.subplots(), statistics.per_paper))
    lines = max(1, (len(panels) + 1) // 2)
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1)
    figure = Figure(figsize=(10, 0.6 + 3.5 * lines), layout=layout)
    parts = [count(statistics.count("documents", "count"), "document")]
    if statistics.per_paper:
        parts.append(count(len(statistics.per_paper), "citing paper"))
    heading = f"{short_name(statistics.name, 60)}: {', '.join(parts)}"
    figure.suptitle(heading, fontsize=11, fontweight="bold", x=0.012, ha="left")
    if not panels:
        figure.text(0.5, 0.45, "Nothing to draw yet.", ha="center")
        return figure
    grid = figure.add_gridspec(lines, 2)
    for number, panel in enumerate(panels):
        alone = number == len(panels) - 1 and number % 2 == 0
        panel(
            figure.add_subfigure(grid[number // 2, :] if alone else grid[number // 2, number % 2])
        )
    return figure


def _count_axis(axes: Axes) -> None:
    """Whole numbers with thousands separators, and faint rules across."""
    axes.yaxis.set_major_locator(_whole_numbers(6))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(axis="y")
    axes.tick_params(axis="y", length=0)


def _whole_numbers(at_most: int) -> MaxNLocator:
    return MaxNLocator(at_most, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


def _bars(axes: Axes, places: list[int], heights: tuple[int, ...], color: str, label: str) -> None:
    if len(places) <= _BARS:
        axes.bar(places, heights, width=0.82, color=color, label=label)
    else:
        edges = [place - 0.5 for place in (*places, places[-1] + 1)]
        axes.stairs(heights, edges, fill=True, color=color, label=label)


def _draw_bars(
    axes: Axes, title: str, places: list[int], both: list[tuple[int, int]], labels: tuple[str, str]
) -> None:
    """Draw light bars of totals and, in front, dark bars of parts."""
    every, some = zip(*both, strict=True)
    _bars(axes, places, every, LIGHT, labels[0])
    _bars(axes, places, some, MARK, labels[1])
    axes.set_title(title)
    # Label each of a few bars and limit their width; label many bars at round numbers.
    room = max(0.0, (6 - len(places)) / 2)
    axes.set_xlim(places[0] - 0.7 - room, places[-1] + 0.7 + room)
    if len(places) <= 8:
        axes.set_xticks(places)
    else:
        axes.xaxis.set_major_locator(_whole_numbers(8))
    _count_axis(axes)
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        names[::-1],
        loc="lower right",
        bbox_to_anchor=(1, 1.008),
        ncols=2,
        borderaxespad=0,
        handlelength=1,
        columnspacing=1.5,
    )


def _is_plausible(year: int) -> bool:
    """Return True for a plausible year; errors such as 11 or 3011 would distort the axis."""
    return EARLIEST <= year <= datetime.date.today().year + 1


def _draw_years(axes: Axes, years: tuple[tuple[int, int, int], ...]) -> None:
    counts = {year: (n, abstracts) for year, n, abstracts in years if _is_plausible(year)}
    others = {year: n for year, n, _ in years if year not in counts}
    if others:
        named = f"the year{'s' * (len(others) > 1)} {', '.join(map(str, others))}"
        when = named if len(others) <= _FEW_YEARS else f"{len(others)} other years"
        axes.set_xlabel(f"not drawn: {count(sum(others.values()), 'document')} of {when}")
    places = list(range(min(counts), max(counts) + 1))
    both = [counts.get(year, (0, 0)) for year in places]
    labels = ("without abstract", "with abstract")
    _draw_bars(axes, "Documents per year", places, both, labels)


def _draw_venues(figure: SubFigure, venues: list[tuple[str, int]]) -> None:
    figure.suptitle("Largest venues, documents", x=0.02, ha="left", fontsize=9, fontweight="bold")
    axes = figure.subplots()
    places = range(len(venues))
    counts = [number for _, number in venues]
    bars = axes.barh(places, counts, height=0.66, color=MARK)
    axes.bar_label(bars, [f"{number:,}" for number in counts], padding=3, fontsize=7)
    names = (short_name(name, 74) for name, _ in venues)
    lines = [textwrap.fill(name, 42, max_lines=2, placeholder="…") for name in names]
    axes.set_yticks(places, lines, fontsize=6.5)
    axes.set_ylim(max(len(venues), 8) - 0.4, -0.6)
    axes.set_xlim(0, max(counts) * 1.16)
    axes.set_xticks([])
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _draw_lengths(figure: SubFigure, statistics: CollectionStatistics) -> None:
    passages = [(name, lengths) for name, lengths in statistics.lengths.items() if lengths]
    row = figure.subplots(1, len(passages), squeeze=False)[0]
    for axes, (name, lengths) in zip(row, passages, strict=True):
        end = max(lengths) + 1
        bins = min(25, end, 5 + math.isqrt(len(lengths)))
        axes.hist(lengths, bins=bins, range=(0, end), color=_MIDDLE, rwidth=0.92)
        mean = statistics.groups[name]["tokens per passage, all"].value or 0
        axes.axvline(mean, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        left = mean > 0.6 * end
        axes.annotate(
            f"mean {mean:.0f}",
            (mean, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if left else 4, -2),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
        )
        axes.set_title(f"Length of {len(lengths):,} {name}")
        axes.set_xlabel("tokens")
        axes.set_ylabel(name)
        axes.set_xlim(0, end * 1.04)
        axes.xaxis.set_major_locator(_whole_numbers(5))
        _count_axis(axes)
        axes.margins(y=0.12)


def _draw_references(axes: Axes, per_paper: tuple[tuple[int, int], ...]) -> None:
    papers = sorted(per_paper, reverse=True)
    places = list(range(1, len(papers) + 1))
    _draw_bars(axes, "References per citing paper", places, papers, ("not found", "found"))
    axes.set_xlabel("citing papers, the longest list first")
