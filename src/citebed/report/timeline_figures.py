"""Figures of a timeline: relevant documents by day, scores over time, two systems as areas.

All are readable in black and white and reproducible. They follow figures 1 to 4 of Dietz, Dalton &
Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.run_scores import find_run
from citebed.report.figure_style import (
    INK,
    LIGHT,
    MARK,
    RULE,
    FileNames,
    drawn,
    lines_of,
    panels,
    svg,
)
from citebed.report.tables import text_width
from citebed.report.timeline_series import (
    WINDOW,
    Areas,
    Cut,
    Over,
    Steps,
    Volume,
    areas,
    burstiest,
    day_name,
    slice_bounds,
    steps,
    volume,
)
from citebed.runs.tables import Floats
from citebed.runs.times import DAY
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.scoring.trends import theil_sen
from citebed.wording import count

_TOGETHER = 4
"""The largest number of systems in one panel; more systems get a panel each."""

_PNG_DPI = 200

_PLAIN: dict[str, Any] = {"fontweight": "normal", "fontsize": 8}
_DASHED: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (3, 1.2))}
_HATCHES = 150
_APART = 0.135
"""The smallest distance of dates, as a share of the axis."""

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


class LineStyle(NamedTuple):
    """The style of a system's line, distinct even in black and white."""

    colour: str
    dashes: Any
    mark: str
    filling: str = "white"
    width: float = 1.3


_FEW = (
    LineStyle(MARK, "solid", "o", MARK, 1.6),
    LineStyle(INK, (0, (4, 1.5)), "s", "white", 1.0),
    LineStyle(MARK, (0, (1, 1)), "^", MARK, 1.4),
    LineStyle(INK, (0, (7, 1.5, 1, 1.5)), "D", "white", 0.8),
)
# Colours that are distinct with any colour vision (Okabe and Ito); each line has its own mark.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00")
_MANY = tuple(
    LineStyle(colour, dashes, mark)
    for (dashes, colour), mark in zip(
        product(("solid", (0, (4, 1.5))), _COLOURS), "os^Dv<P>XphH", strict=True
    )
)
"""The styles of an overlay; of more systems, the best are shown."""


@dataclass(frozen=True)
class TimelineFigure:
    """A figure with its kind, its file name without ending and its alternative text.

    It is drawn at the first use and then cached.
    """

    kind: str
    name: str
    alt_text: str
    make: Callable[[], Figure]

    @cached_property
    def svg(self) -> bytes:
        """The figure as SVG, without background and date."""
        return svg(self.make)

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG on white, for slides and mails."""
        return drawn(self.make, "png", dpi=_PNG_DPI)[0]

    def files(self) -> dict[str, bytes]:
        """Return the figure's files by name."""
        return {f"{self.name}.svg": self.svg, f"{self.name}.png": self.png}


def timeline_pictures(
    runs: Sequence[StreamScores],
    weights: Sequence[str] = ("uniform", "burst"),
    focus: str | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    over: Over = "time",
) -> list[TimelineFigure]:
    """Make all figures of scored runs, of the kinds ``volume``, ``scores`` and ``areas``.

    ``focus`` is the query to show besides all queries; by default the one with the most relevant
    documents in one slice. ``pairs`` are the names of runs to compare; by default the best run with
    the three next ones. ``over`` says whether slices are as wide as their time or their weight.
    """
    topics, names = runs[0].pairs, FileNames()
    places = [None] if len(topics.queries) == 1 else [None, focus or burstiest(topics)]
    pictures = [volume_picture(topics, place, names) for place in places]
    for measure in runs[0].measures:
        pictures += scores_pictures(runs, measure, names)
    named = [(find_run(one, runs), find_run(other, runs)) for one, other in pairs]
    for pair in named or best_pairs(runs, weights[0]):
        pictures += [areas_picture(pair, weights, place, names, over) for place in places]
    return pictures


def best_pairs(
    runs: Sequence[StreamScores], weight: str
) -> list[tuple[StreamScores, StreamScores]]:
    """Pair the best system, by the first measure, with each of the three next ones."""
    best, *others = sorted(runs, key=lambda scores: -scores.mean(runs[0].measures[0], weight))
    return [(best, other) for other in others[:3]]


# --- relevant documents by day --------------------------------------------------------------


def volume_picture(topics: TopicSlices, query: str | None, names: FileNames) -> TimelineFigure:
    """Plot relevant documents per day, their average over seven days, and the slices."""
    documents, cut = volume(topics, query), slice_bounds(topics, query)
    top = int(documents.counts.argmax())
    whose = "all queries" if query is None else query
    since = "on" if documents.unit == "day" else f"in the {documents.unit} from"
    alt_text = (
        f"Relevant documents per {documents.unit}, {whose}: {int(documents.counts.sum())} from "
        f"{day_name(documents.bounds[0])} to {day_name(documents.bounds[-1] - 1)}, at most "
        f"{documents.counts[top]}, {since} {day_name(documents.bounds[top])}. Divided into "
        f"{count(len(cut.relevant), 'slice')}, {int((cut.relevant == 0).sum()):,} of them without "
        "relevant documents"
        f"{'; the last is partial' if topics.slices.partial[-1] else ''}."
    )

    def make() -> Figure:
        figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
        axes = figure.subplots()
        draw_volume(axes, documents)
        draw_slices(axes, cut)
        axes.set_title(lines_of(f"Relevant documents per {documents.unit}: {whose}", 70))
        date_axis(axes, *days(cut.bounds[[0, -1]]))
        legend_below(figure, axes.get_legend_handles_labels()[0])
        return figure

    return TimelineFigure("volume", names("relevant", query or ""), alt_text, make)


# --- scores over time -----------------------------------------------------------------------


def scores_pictures(
    runs: Sequence[StreamScores], measure: Measure, names: FileNames
) -> list[TimelineFigure]:
    """Plot each system's mean over queries per slice; gaps have no relevant documents.

    Up to four systems share a panel. More get one each, best first: the system, its trend (dashed),
    and the range of all systems. A second figure then overlays all systems, or the best ones, as in
    figure 3 of the paper.
    """
    is_small = len(runs) <= _TOGETHER
    if not is_small:
        runs = sorted(runs, key=lambda scores: -scores.mean(measure, "uniform"))
    series = [steps(scores, measure) for scores in runs]
    labels = [scores.run for scores in runs]
    known = [each.values[~np.isnan(each.values)] for each in series]
    ends = "; ".join(
        f"{label} from {of[0]:.3f} in the first slice to {of[-1]:.3f} in the last"
        for label, of in zip(labels, known, strict=True)
    )
    if runs[0].pairs.slices.partial[-1]:
        ends += "; the last slice is partial"
    joined = series[0].joined
    title = f"{measure} over time"
    title += f", means of {joined} neighbouring slices" if joined > 1 else ""
    alt_text, name = f"{title}: {ends}.", names("scores", str(measure))
    if is_small:
        make = partial(_overlay, title, labels, series, measure, _FEW, 2.9)
        return [TimelineFigure("scores", name, alt_text, make)]
    labels = [f"{scores.run} ({scores.mean(measure, 'uniform'):.3f})" for scores in runs]
    make = partial(_panel_per_system, title, labels, series, measure)
    figure = TimelineFigure("scores", name, alt_text, make)
    best = labels[: len(_MANY)]
    which = "all" if len(best) == len(runs) else f"the best {len(best)} of {len(runs)}"
    title = f"{title}: {which} systems"
    height = 3.4 + 0.16 * math.ceil(len(best) / 2)
    make = partial(_overlay, title, best, series[: len(best)], measure, _MANY, height)
    alt_text = f"{title}, the best first, with their means: {'; '.join(best)}."
    return [figure, TimelineFigure("scores", names("overlay", str(measure)), alt_text, make)]


def _overlay(
    title: str,
    labels: Sequence[str],
    series: Sequence[Steps],
    measure: Measure,
    styles: Sequence[LineStyle],
    height: float,
) -> Figure:
    """Draw systems in one panel, each with its own line and marks."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    handles = []
    for at, (label, scores, style) in enumerate(zip(labels, series, styles, strict=False)):
        line: dict[str, Any] = {
            "color": style.colour, "linestyle": style.dashes, "linewidth": style.width,
        }  # fmt: skip
        dots: dict[str, Any] = {
            "marker": style.mark, "markersize": 4, "markerfacecolor": style.filling,
        }  # fmt: skip
        axes.plot(*_step_line(scores), **line)
        # Mark about twenty slices, different ones for each system, and all isolated slices.
        every, numbered = max(1, len(scores.values) // 20), np.arange(len(scores.values))
        known = ~np.isnan(scores.values)
        neighbours = np.convolve(np.concatenate(([0], known, [0])), [1, 0, 1], "valid")
        marked = np.flatnonzero(known & ((numbered % every == at % every) | (neighbours == 0)))
        middles = _middles(scores)[marked]
        axes.plot(middles, scores.values[marked], color=style.colour, linestyle="", **dots)
        handles.append(line_key(label, **line, **dots))
    _score_axis(axes, series, measure)
    axes.set_ylabel(str(measure))
    axes.set_title(title)
    legend_below(figure, handles, handlelength=4)
    return figure


def _panel_per_system(
    title: str, labels: Sequence[str], series: Sequence[Steps], measure: Measure
) -> Figure:
    columns = 2 if len(labels) <= 12 else 3
    size = (1.1 * WIDTH, 0.9), (0, 1.15)
    figure, grid = panels(len(labels), columns, *size, sharex=True, sharey=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice")
        together = np.stack([scores.values for scores in series])
        low, high = (np.repeat(end(together, axis=0), 2) for end in (np.nanmin, np.nanmax))
    trend: dict[str, Any] = {"color": MARK, "linewidth": 1.6, "linestyle": (0, (5, 2))}
    for at, (axes, label, scores) in enumerate(zip(grid, labels, series, strict=True)):
        x, y = _step_line(scores)
        axes.fill_between(x, low, high, where=~np.isnan(low), color=LIGHT, linewidth=0)
        axes.plot(x, y, color=INK, linewidth=1.2)
        known = ~np.isnan(scores.values)
        if known.sum() > 2:
            across, values = _middles(scores)[known], scores.values[known]
            slope = theil_sen(across, values)
            line = slope * across + np.median(values - slope * across)
            axes.plot(across[[0, -1]], line[[0, -1]], **trend)
        axes.set_title(lines_of(label, 76 // columns), fontweight="normal", fontsize=8)
        _score_axis(axes, series, measure, 6 - columns)
        axes.tick_params(labelbottom=at >= len(grid) - columns)  # the last one of every column
        if at % columns == 0:
            axes.set_ylabel(str(measure))
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold")
    keys = [
        Line2D([], [], color=INK, linewidth=1.2, label="the system"),
        Line2D([], [], label="its trend", **trend),
        Line2D([], [], color=LIGHT, linewidth=7, label="lowest to highest of all systems"),
    ]
    figure.legend(handles=keys, loc="outside lower left", ncols=3, frameon=False)
    return figure


def _step_line(steps: Steps) -> tuple[Floats, Floats]:
    """Return the points of a step line with one step per slice; nan breaks the line."""
    return np.repeat(days(steps.bounds), 2)[1:-1], np.repeat(steps.values, 2)


def _middles(steps: Steps) -> Floats:
    bounds = days(steps.bounds)
    return (bounds[:-1] + bounds[1:]) / 2


def _score_axis(axes: Axes, series: Sequence[Steps], measure: Measure, most: int = 7) -> None:
    bounds = days(series[0].bounds)
    axes.set_ylim(*score_limits([scores.values for scores in series], measure))
    axes.grid(axis="y", color=RULE, linewidth=0.3)
    date_axis(axes, bounds[0], bounds[-1], most)


# --- two systems as areas -------------------------------------------------------------------


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


def areas_picture(
    runs: tuple[StreamScores, StreamScores],
    weights: Sequence[str],
    query: str | None,
    names: FileNames,
    over: Over = "time",
) -> TimelineFigure:
    """Plot two systems as areas: each area is a score, the area between them the difference.

    Over time, a slice is at its place in time, and its contribution is spread over its length,
    below the relevant documents by day. Over weight, a slice is as wide as its weight. The area
    between the lines is filled where the first system is better, and hatched where the second is.
    """
    measure, topics = runs[0].measures[0], runs[0].pairs
    pairs = [
        Pair(weight, *(areas(scores, measure, weight, query, over) for scores in runs))
        for weight in weights
    ]
    first, second = (scores.run for scores in runs)
    whose = "all queries" if query is None else query
    values = "; ".join(f"{pair.weight} {pair.sentence()}" for pair in pairs)
    alt_text = f"{measure} of {first} minus {measure} of {second}, {whose}: {values}."
    documents, cut = volume(topics, query), slice_bounds(topics, query)

    def make() -> Figure:
        timed = over == "time"
        heights = [0.9] * timed + [1.75] * len(pairs)
        figure = Figure(figsize=(WIDTH, 0.9 + sum(heights)), layout="constrained")
        grid = list(
            figure.subplots(
                len(heights), 1, squeeze=False, sharex=timed, height_ratios=heights
            ).ravel()
        )
        if timed:
            draw_volume(grid[0], documents, ticks=3)
            draw_slices(grid[0], cut, counted=False)
            date_axis(grid[0], *days(cut.bounds[[0, -1]]))
            unit = documents.unit
            about = f"relevant documents per {unit}, their mean over {WINDOW} {unit}s, and slices"
            grid[0].set_title(about, **_PLAIN)
        for axes, pair in zip(grid[timed:], pairs, strict=True):
            _draw_pair(axes, pair, measure, over)
        title = lines_of(f"{measure}: {whose}", 70)
        figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold")
        if not timed:
            grid[-1].set_xlabel("start of slice; slices are as wide as their weights")
        # slanted lines as the mark of an invisible line
        points = [
            (x, y) for at in np.linspace(-1, 0.7, 7) for x, y in ((at, -0.4), (at + 0.3, 0.4))
        ]
        slanted = Path(points, [Path.MOVETO, Path.LINETO] * 7)
        hatched: dict[str, Any] = {"color": INK, "markersize": 18, "markeredgewidth": 0.5}
        legend_below(
            figure,
            [
                line_key(first, color=MARK, linewidth=1.6),
                line_key(second, **_DASHED),
                Patch(facecolor=LIGHT, label="the first is better"),
                Line2D([], [], linestyle="", marker=slanted, fillstyle="none",
                       label="the second is better", **hatched),
            ],
        )  # fmt: skip
        return figure

    name = names("areas", str(measure), f"{first}-{second}", query or "")
    return TimelineFigure("areas", name, alt_text, make)


def _draw_pair(axes: Axes, pair: Pair, measure: Measure, over: Over) -> None:
    edges, one, other = pair.first.edges, pair.first.heights, pair.second.heights
    axes.set_ylim(*score_limits([one, other], measure))
    axes.set_title(f"{pair.weight}: {pair.sentence()}", **_PLAIN)
    axes.axhline(0, color=INK, linewidth=0.6)
    axes.add_patch(PathPatch(_boxes(edges, other, one), facecolor=LIGHT, linewidth=0))
    _hatch(axes, _boxes(edges, one, other))
    x = np.repeat(edges, 2)[1:-1]
    axes.plot(x, np.repeat(pair.first.seen, 2), color=MARK, linewidth=1.6)
    axes.plot(x, np.repeat(pair.second.seen, 2), **_DASHED)
    if over == "time":
        date_axis(axes, edges[0], edges[-1])
        axes.set_ylabel(f"{measure}, scaled")
        return
    axes.set_xlim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(edges, minor=True)
    axes.tick_params(axis="x", which="minor", length=2, width=0.4, color=RULE)
    places = [0]  # the slices whose starts are labelled, as many as there is room for
    for at in range(1, len(edges) - 1):
        if edges[at] - edges[places[-1]] >= _APART and edges[at] <= 1 - _APART / 2:
            places.append(at)
    axes.set_xticks(edges[places], [day_name(pair.first.starts[at]) for at in places])
    axes.tick_params(axis="x", which="major", length=4)


def score_limits(series: Sequence[Floats], measure: Measure) -> tuple[float, float]:
    """Return the limits of a score axis: from 0 or less to the maximum or the end of the scale."""
    known = np.concatenate(series)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    end = measure.RANGE[1]
    near = math.isfinite(end) and 0.6 * end < high <= end
    top = 1.03 * end if near else 1.15 * high
    bottom = min(0.0, 1.1 * low)
    return bottom, (top if top > bottom else bottom + 1.0)


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


# --- parts of several figures ---------------------------------------------------------------


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


def draw_volume(axes: Axes, volume: Volume, ticks: int = 5) -> None:
    """Plot relevant documents per day and their moving average, with room above for slices.

    Each day is a dot; with too many days, the counts become an outline.
    """
    bounds = days(volume.bounds)
    middles, name = (bounds[:-1] + bounds[1:]) / 2, f"a {volume.unit}"
    if len(volume.counts) > _DOTS:
        axes.fill_between(middles, volume.counts, step="mid", color=LIGHT, linewidth=0, label=name)
    else:
        dot: dict[str, Any] = {"markersize": 3, "markeredgewidth": 0.6, "markerfacecolor": "white"}
        axes.plot(middles, volume.counts, "o", color=INK, clip_on=False, label=name, **dot)
    line = f"mean over {WINDOW} {volume.unit}s"
    axes.plot(middles, volume.average, color=MARK, linewidth=1.6, label=line)
    most = max(1, int(volume.counts.max()))
    axes.set_ylim(0, 1.1 * most / _ABOVE)
    axes.set_ylabel("documents")
    places = MaxNLocator(ticks, integer=True).tick_values(0, most)
    axes.set_yticks([place for place in places if 0 <= place <= most])


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


def legend_below(figure: Figure, keys: Sequence[Any], **how: Any) -> None:
    """Add a legend below the panels, in two columns if the names are short."""
    long = max(text_width(line) for key in keys for line in str(key.get_label()).split("\n"))
    columns = 2 if long <= 38 else 1
    style: dict[str, Any] = {"loc": "outside lower left", "frameon": False, **how}
    figure.legend(handles=list(keys), ncols=min(columns, len(keys)), **style)


def line_key(name: str, **style: Any) -> Line2D:
    """Make the legend entry of a line, with its full name."""
    return Line2D([], [], label=lines_of(name, 78), **style)
