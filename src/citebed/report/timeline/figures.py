"""Figures of a timeline: relevant documents by day, scores over time, two systems as areas.

All are readable in black and white and reproducible. They follow figures 1 to 4 of Dietz, Dalton &
Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

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
from citebed.report.timeline.areas import AreasPlot, Pair, score_limits
from citebed.report.timeline.axes import (
    WIDTH,
    date_axis,
    days,
    draw_slices,
    draw_volume,
    legend_below,
    line_key,
)
from citebed.report.timeline.series import (
    Over,
    Steps,
    areas,
    burstiest,
    day_name,
    slice_bounds,
    steps,
    volume,
)
from citebed.runs.tables import Floats
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.scoring.trends import theil_sen
from citebed.wording import count

_TOGETHER = 4
"""The largest number of systems in one panel; more systems get a panel each."""

_PNG_DPI = 200


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
    """Make all figures of scored runs: kinds ``volume``, ``scores`` and ``areas``.

    ``focus`` is the query to show besides all queries; by default the one with the most relevant
    documents in one slice. ``pairs`` are the names of runs to compare; by default the best run with
    the three next ones. ``over`` says whether slices are as wide as their time or their weight.
    """
    topics, names = runs[0].pairs, FileNames()
    places = [None] if len(topics.queries) == 1 else [None, focus or burstiest(topics)]
    pictures = [volume_picture(topics, place, names) for place in places]
    for measure in runs[0].measures:
        pictures.append(scores_picture(runs, measure, names))
        if len(runs) > _TOGETHER:
            pictures.append(overlay_picture(runs, measure, names))
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
    says = (
        f"Relevant documents per {documents.unit}, {whose}: {int(documents.counts.sum())} from "
        f"{day_name(documents.bounds[0])} to {day_name(documents.bounds[-1] - 1)}, at most "
        f"{documents.counts[top]}, {since} {day_name(documents.bounds[top])}. Cut into "
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

    return TimelineFigure("volume", names("relevant", query or ""), says, make)


# --- scores over time -----------------------------------------------------------------------


def scores_picture(
    runs: Sequence[StreamScores], measure: Measure, names: FileNames
) -> TimelineFigure:
    """Plot each system's mean over queries per slice; gaps have no relevant documents.

    Up to four systems share a panel. More get one each, best first: the system, its trend (dashed),
    and the range of all systems.
    """
    runs = runs if len(runs) <= _TOGETHER else best_first(runs, measure)
    series = [steps(scores, measure) for scores in runs]
    known = [each.values[~np.isnan(each.values)] for each in series]
    said = "; ".join(
        f"{scores.run} from {of[0]:.3f} in the first slice to {of[-1]:.3f} in the last"
        for scores, of in zip(runs, known, strict=True)
    )
    if runs[0].pairs.slices.partial[-1]:
        said += "; the last slice is partial"
    title = _over_time(measure, series[0])

    def make() -> Figure:
        if len(runs) <= _TOGETHER:
            names_of = [scores.run for scores in runs]
            return _in_one_panel(title, names_of, series, measure, _FEW, 2.9)
        return _apart(title, _with_means(runs, measure), series, measure)

    return TimelineFigure("scores", names("scores", str(measure)), f"{title}: {said}.", make)


def overlay_picture(
    runs: Sequence[StreamScores], measure: Measure, names: FileNames
) -> TimelineFigure:
    """Plot all systems, or the best ones, in one panel, as in figure 3 of the paper."""
    shown = best_first(runs, measure)[: len(_MANY)]
    series = [steps(scores, measure) for scores in shown]
    labels = _with_means(shown, measure)
    which = "all" if len(shown) == len(runs) else f"the best {len(shown)} of {len(runs)}"
    title = f"{_over_time(measure, series[0])}: {which} systems"

    def make() -> Figure:
        height = 3.4 + 0.16 * math.ceil(len(labels) / 2)
        return _in_one_panel(title, labels, series, measure, _MANY, height)

    says = f"{title}, the best first, with their means: {'; '.join(labels)}."
    return TimelineFigure("scores", names("overlay", str(measure)), says, make)


def _over_time(measure: Measure, of: Steps) -> str:
    joined = f", means of {of.joined} neighbouring slices" if of.joined > 1 else ""
    return f"{measure} over time{joined}"


def _with_means(runs: Sequence[StreamScores], measure: Measure) -> list[str]:
    return [f"{scores.run} ({scores.mean(measure, 'uniform'):.3f})" for scores in runs]


def best_first(runs: Sequence[StreamScores], measure: Measure) -> list[StreamScores]:
    """Sort systems by their mean over slices and queries, best first."""
    return sorted(runs, key=lambda scores: -scores.mean(measure, "uniform"))


def _step_line(steps: Steps) -> tuple[Floats, Floats]:
    """Return the points of a step line with one step per slice; nan breaks the line."""
    return np.repeat(days(steps.bounds), 2)[1:-1], np.repeat(steps.values, 2)


def _in_one_panel(
    title: str,
    labels: Sequence[str],
    series: Sequence[Steps],
    measure: Measure,
    looks: Iterable[LineStyle],
    height: float,
) -> Figure:
    """Draw systems in one panel, each with its own line and marks."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    handles = []
    for at, (label, scores, look) in enumerate(zip(labels, series, looks, strict=False)):
        line: dict[str, Any] = {
            "color": look.colour, "linestyle": look.dashes, "linewidth": look.width,
        }  # fmt: skip
        dots: dict[str, Any] = {
            "marker": look.mark, "markersize": 4, "markerfacecolor": look.filling,
        }  # fmt: skip
        axes.plot(*_step_line(scores), **line)
        shown = _spread(scores.values, at)
        middles = _middles(scores)[shown]
        axes.plot(middles, scores.values[shown], color=look.colour, linestyle="", **dots)
        handles.append(line_key(label, **line, **dots))
    _score_axis(axes, series, measure)
    axes.set_ylabel(str(measure))
    axes.set_title(title)
    legend_below(figure, handles, handlelength=4)
    return figure


def _middles(steps: Steps) -> Floats:
    bounds = days(steps.bounds)
    return (bounds[:-1] + bounds[1:]) / 2


def _spread(values: Floats, at: int) -> list[int]:
    """Choose about twenty slices for marks, different for each system, and all isolated slices."""
    every = max(1, len(values) // 20)
    known = ~np.isnan(values)
    beside = np.convolve(np.concatenate(([0], known, [0])), [1, 0, 1], "valid")
    shown = known & ((np.arange(len(values)) % every == at % every) | (beside == 0))
    return list(np.flatnonzero(shown))


def _score_axis(axes: Axes, series: Sequence[Steps], measure: Measure, most: int = 7) -> None:
    bounds = days(series[0].bounds)
    axes.set_ylim(*score_limits([scores.values for scores in series], measure))
    axes.grid(axis="y", color=RULE, linewidth=0.3)
    date_axis(axes, bounds[0], bounds[-1], most)


def _apart(title: str, runs: Sequence[str], series: Sequence[Steps], measure: Measure) -> Figure:
    columns = 2 if len(runs) <= 12 else 3
    size = (1.1 * WIDTH, 0.9), (0, 1.15)
    figure, grid = panels(len(runs), columns, *size, sharex=True, sharey=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice")
        together = np.stack([scores.values for scores in series])
        span = np.nanmin(together, axis=0), np.nanmax(together, axis=0)
    for axes, run, scores in zip(grid, runs, series, strict=True):
        _panel(axes, scores, span)
        axes.set_title(lines_of(run, 76 // columns), fontweight="normal", fontsize=8)
        _score_axis(axes, series, measure, 6 - columns)
    for at, axes in enumerate(grid):
        axes.tick_params(labelbottom=at >= len(grid) - columns)  # the last one of every column
        if at % columns == 0:
            axes.set_ylabel(str(measure))
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold")
    keys = [
        Line2D([], [], color=INK, linewidth=1.2, label="the system"),
        Line2D([], [], color=MARK, linewidth=1.6, linestyle=(0, (5, 2)), label="its trend"),
        Line2D([], [], color=LIGHT, linewidth=7, label="lowest to highest of all systems"),
    ]
    figure.legend(handles=keys, loc="outside lower left", ncols=3, frameon=False)
    return figure


def _panel(axes: Axes, steps: Steps, span: tuple[Floats, Floats]) -> None:
    x, y = _step_line(steps)
    low, high = (np.repeat(end, 2) for end in span)
    axes.fill_between(x, low, high, where=~np.isnan(low), color=LIGHT, linewidth=0)
    axes.plot(x, y, color=INK, linewidth=1.2)
    known = ~np.isnan(steps.values)
    if known.sum() > 2:
        across, scores = _middles(steps)[known], steps.values[known]
        slope = theil_sen(across, scores)
        line = slope * across + np.median(scores - slope * across)
        axes.plot(across[[0, -1]], line[[0, -1]], color=MARK, linewidth=1.6, linestyle=(0, (5, 2)))


# --- two systems as areas -------------------------------------------------------------------


def areas_picture(
    runs: tuple[StreamScores, StreamScores],
    weights: Sequence[str],
    query: str | None,
    names: FileNames,
    over: Over = "time",
) -> TimelineFigure:
    """Plot two systems under each weighting, with their scores as areas."""
    measure, topics = runs[0].measures[0], runs[0].pairs
    pairs = [
        Pair(weight, *(areas(scores, measure, weight, query, over) for scores in runs))
        for weight in weights
    ]
    first, second = (scores.run for scores in runs)
    whose = "all queries" if query is None else query
    said = "; ".join(f"{pair.weight} {pair.sentence()}" for pair in pairs)
    says = f"{measure} of {first} less that of {second}, {whose}: {said}."
    plot = AreasPlot(
        title=lines_of(f"{measure}: {whose}", 70), runs=(first, second), measure=measure,
        pairs=pairs, over=over, volume=volume(topics, query), cut=slice_bounds(topics, query),
    )  # fmt: skip
    name = names("areas", str(measure), f"{first}-{second}", query or "")
    return TimelineFigure("areas", name, says, plot.figure)
