"""Pictures of a timeline: relevant documents by day, scores over time, two systems as areas.

All read in black and white, and are the same bytes for the same scores. After figures 1, 3 and 4
of Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from citebed.evaluation.measures.base import Measure
from citebed.report.drawing import INK, LIGHT, MARK, RULE, FileNames, drawn, panels, svg
from citebed.report.timeline_areas import Pair, areas_figure
from citebed.report.timeline_series import (
    WINDOW,
    Steps,
    areas,
    burstiest,
    day_name,
    short,
    steps,
    volume,
)
from citebed.runs.tables import Floats
from citebed.runs.times import DAY
from citebed.timeline.scoring.query_slices import Cells
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.trends import theil_sen

_WIDTH = 6.4
_TOGETHER = 4
"""Up to so many systems share one panel; more get a panel each."""

_DOTS = 400
"""Up to so many days are dots; more are one outline."""

_PNG_DPI = 200
_LINES: tuple[tuple[str, Any, str, str, float], ...] = (
    (MARK, "solid", "o", MARK, 1.6),
    (INK, (0, (4, 1.5)), "s", "white", 1.0),
    (MARK, (0, (1, 1)), "^", MARK, 1.4),
    (INK, (0, (7, 1.5, 1, 1.5)), "D", "white", 0.8),
)
"""For systems in one panel: colour, dashes, mark, its filling, and the line's width."""


@dataclass(frozen=True)
class Picture:
    """A picture: what it is of (``kind``), its file's name without ending, what it says in words.

    It is drawn when it is asked for, and then kept.
    """

    kind: str
    name: str
    says: str
    make: Callable[[], Figure]

    @cached_property
    def svg(self) -> bytes:
        """Text as text, no background, no date."""
        return svg(self.make)

    @cached_property
    def png(self) -> bytes:
        """On white, for slides and mails."""
        return drawn(self.make, "png", dpi=_PNG_DPI)[0]

    def files(self) -> dict[str, bytes]:
        """The picture as files, by name."""
        return {f"{self.name}.svg": self.svg, f"{self.name}.png": self.png}


def timeline_pictures(
    runs: Sequence[StreamScores],
    weights: Sequence[str] = ("uniform", "burst"),
    focus: str | None = None,
) -> list[Picture]:
    """All pictures of scored runs: kinds ``volume``, ``scores`` and ``areas``.

    ``focus`` is the query looked at beside all; else that with the most relevant documents in
    one slice.
    """
    cells, names = runs[0].cells, FileNames()
    places = [None] if len(cells.queries) == 1 else [None, focus or burstiest(cells)]
    found = [volume_picture(cells, place, names) for place in places]
    found += [scores_picture(runs, measure, names) for measure in runs[0].measures]
    for pair in best_pairs(runs, weights[0]):
        found += [areas_picture(pair, weights, place, names) for place in places]
    return found


def best_pairs(
    runs: Sequence[StreamScores], weight: str
) -> list[tuple[StreamScores, StreamScores]]:
    """The best system by the first measure under a weighting, with each of the three next to it."""
    best, *others = sorted(runs, key=lambda scores: -scores.mean(runs[0].measures[0], weight))
    return [(best, other) for other in others[:3]]


# --- time on an axis ------------------------------------------------------------------------


def _days(seconds: Any) -> Floats:
    return np.asarray(seconds, np.float64) / DAY


def _date_axis(axes: Axes, first: float, last: float, most: int = 7) -> None:
    """Dates as ISO 8601 has them, with hours where there are few days."""
    axes.set_xlim(first, last)
    # matplotlib gives these two no types
    locator: Any = dates.AutoDateLocator
    formatter: Any = dates.DateFormatter
    axes.xaxis.set_major_locator(locator(tz=UTC, minticks=most // 2, maxticks=most))
    how = "%Y-%m-%d" if last - first > 3 else "%m-%d %H:%M"
    axes.xaxis.set_major_formatter(formatter(how, tz=UTC))
    axes.spines[["top", "right"]].set_visible(False)


# --- relevant documents by day --------------------------------------------------------------


def volume_picture(cells: Cells, query: str | None, names: FileNames) -> Picture:
    """Relevant documents per day, a dot each, and the moving average over seven days."""
    found = volume(cells, query)
    top = int(found.counts.argmax())
    whose = "all queries" if query is None else query
    days = _days(found.bounds)
    since = "on" if found.unit == "day" else f"in the {found.unit} from"
    says = (
        f"Relevant documents per {found.unit}, {whose}: {int(found.counts.sum())} from "
        f"{day_name(found.bounds[0])} to {day_name(found.bounds[-1] - 1)}, at most "
        f"{found.counts[top]}, {since} {day_name(found.bounds[top])}."
    )

    def make() -> Figure:
        figure = Figure(figsize=(_WIDTH, 2.3), layout="constrained")
        axes = figure.subplots()
        middles = (days[:-1] + days[1:]) / 2
        _draw_counts(axes, middles, found.counts, found.unit)
        line = f"mean over {WINDOW} {found.unit}s"
        axes.plot(middles, found.average, color=MARK, linewidth=1.6, label=line)
        axes.set_ylim(0, max(1.0, 1.08 * found.counts.max()))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_title(f"Relevant documents per {found.unit}: {short(whose, 50)}")
        _date_axis(axes, days[0], days[-1])
        figure.legend(loc="outside lower left", ncols=2, frameon=False)
        return figure

    return Picture("volume", names("relevant", query or ""), says, make)


def _draw_counts(axes: Axes, middles: Floats, counts: Any, unit: str) -> None:
    """Dots; or, where there are too many to tell apart, an outline."""
    if len(counts) > _DOTS:
        axes.fill_between(middles, counts, step="mid", color=LIGHT, linewidth=0, label=f"a {unit}")
        return
    style: dict[str, Any] = {"markersize": 3, "markeredgewidth": 0.6, "markerfacecolor": "white"}
    axes.plot(middles, counts, "o", color=INK, clip_on=False, label=f"a {unit}", **style)


# --- scores over time -----------------------------------------------------------------------


def scores_picture(runs: Sequence[StreamScores], measure: Measure, names: FileNames) -> Picture:
    """Each system's mean over queries, a step a slice; gaps have no relevant documents.

    Four systems share a panel. More have one each: the system in front of the span from the
    lowest to the highest of all systems, with its trend dashed.
    """
    series = [steps(scores, measure) for scores in runs]
    known = [each.values[~np.isnan(each.values)] for each in series]
    said = "; ".join(
        f"{scores.run} from {of[0]:.3f} in the first slice to {of[-1]:.3f} in the last"
        for scores, of in zip(runs, known, strict=True)
    )
    joined = series[0].joined
    title = f"{measure} over time"
    if joined > 1:
        title += f", means of {joined} neighbouring slices"

    def make() -> Figure:
        draw = _together if len(runs) <= _TOGETHER else _apart
        return draw(title, [scores.run for scores in runs], series, measure)

    return Picture("scores", names("scores", str(measure)), f"{title}: {said}.", make)


def _limits(series: Sequence[Floats], measure: Measure) -> tuple[float, float]:
    """From 0, or less, up to what is reached; the end of the measure's scale if that is near."""
    known = np.concatenate(series)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    end = measure.RANGE[1]
    top = 1.03 * end if math.isfinite(end) and high > 0.6 * end else 1.15 * high
    bottom = min(0.0, 1.1 * low)
    return bottom, (top if top > bottom else bottom + 1.0)


def _step_line(found: Steps) -> tuple[Floats, Floats]:
    """Level through each slice; a gap breaks the line."""
    return np.repeat(_days(found.bounds), 2)[1:-1], np.repeat(found.values, 2)


def _together(title: str, runs: Sequence[str], series: Sequence[Steps], measure: Measure) -> Figure:
    figure = Figure(figsize=(_WIDTH, 2.9), layout="constrained")
    axes = figure.subplots()
    handles = []
    for at, (run, found) in enumerate(zip(runs, series, strict=True)):
        colour, dashes, mark, filling, width = _LINES[at]
        line: dict[str, Any] = {"color": colour, "linestyle": dashes, "linewidth": width}
        dots: dict[str, Any] = {"marker": mark, "markersize": 4, "markerfacecolor": filling}
        axes.plot(*_step_line(found), **line)
        middles = (_days(found.bounds)[:-1] + _days(found.bounds)[1:]) / 2
        shown = _spread(found.values, at)
        axes.plot(middles[shown], found.values[shown], color=colour, linestyle="", **dots)
        handles.append(Line2D([], [], label=short(run, 40), **line, **dots))
    _score_axis(axes, series, measure)
    axes.set_title(title)
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, handlelength=4)
    return figure


def _spread(values: Floats, at: int) -> list[int]:
    """Where marks stand: some twenty, not at the same slices for all, and on each lonely slice."""
    every = max(1, len(values) // 20)
    known = ~np.isnan(values)
    beside = np.convolve(np.concatenate(([0], known, [0])), [1, 0, 1], "valid")
    shown = known & ((np.arange(len(values)) % every == at % every) | (beside == 0))
    return list(np.flatnonzero(shown))


def _score_axis(axes: Axes, series: Sequence[Steps], measure: Measure, most: int = 7) -> None:
    bounds = _days(series[0].bounds)
    axes.set_ylim(*_limits([found.values for found in series], measure))
    axes.grid(axis="y", color=RULE, linewidth=0.3)
    _date_axis(axes, bounds[0], bounds[-1], most)


def _apart(title: str, runs: Sequence[str], series: Sequence[Steps], measure: Measure) -> Figure:
    columns = 2 if len(runs) <= 12 else 3
    size = (1.1 * _WIDTH, 0.9), (0, 1.15)
    figure, grid = panels(len(runs), columns, *size, sharex=True, sharey=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice")
        together = np.stack([found.values for found in series])
        span = np.nanmin(together, axis=0), np.nanmax(together, axis=0)
    for axes, run, found in zip(grid, runs, series, strict=True):
        _panel(axes, found, span)
        axes.set_title(short(run, 76 // columns), fontweight="normal", fontsize=8)
        _score_axis(axes, series, measure, 6 - columns)
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold")
    keys = [
        Line2D([], [], color=INK, linewidth=1.2, label="the system"),
        Line2D([], [], color=MARK, linewidth=1.6, linestyle=(0, (5, 2)), label="its trend"),
        Line2D([], [], color=LIGHT, linewidth=7, label="lowest to highest of all systems"),
    ]
    figure.legend(handles=keys, loc="outside lower left", ncols=3, frameon=False)
    return figure


def _panel(axes: Axes, found: Steps, span: tuple[Floats, Floats]) -> None:
    x, y = _step_line(found)
    low, high = (np.repeat(end, 2) for end in span)
    axes.fill_between(x, low, high, where=~np.isnan(low), color=LIGHT, linewidth=0)
    axes.plot(x, y, color=INK, linewidth=1.2)
    middles = (_days(found.bounds)[:-1] + _days(found.bounds)[1:]) / 2
    known = ~np.isnan(found.values)
    if known.sum() > 2:
        across, scores = middles[known], found.values[known]
        slope = theil_sen(across, scores)
        line = slope * across + np.median(scores - slope * across)
        axes.plot(across[[0, -1]], line[[0, -1]], color=MARK, linewidth=1.6, linestyle=(0, (5, 2)))


# --- two systems as areas -------------------------------------------------------------------


def areas_picture(
    runs: tuple[StreamScores, StreamScores],
    weights: Sequence[str],
    query: str | None,
    names: FileNames,
) -> Picture:
    """Two systems under each weighting, slices as wide as their weights: areas are scores."""
    measure = runs[0].measures[0]
    pairs = [
        Pair(weight, *(areas(scores, measure, weight, query) for scores in runs))
        for weight in weights
    ]
    first, second = (scores.run for scores in runs)
    whose = "all queries" if query is None else query
    said = "; ".join(f"{pair.weight} {pair.told()}" for pair in pairs)
    says = f"{measure} of {first} less that of {second}, {whose}: {said}."
    bottom, top = _limits([part.heights for pair in pairs for part in pair[1:]], measure)
    title = f"{measure}: {short(whose, 50)}"

    def make() -> Figure:
        return areas_figure(title, (first, second), pairs, (bottom, top))

    name = names("areas", str(measure), f"{first}-{second}", query or "")
    return Picture("areas", name, says, make)
