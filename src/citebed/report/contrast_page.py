"""Figures and HTML page of a contrast: queries under both judgement sets, and systems' means.

The figures follow Figures 1 and 2 of Ritchie, Robertson & Teufel (2007): the first set, J1, is on
the vertical axis and the second, J1+2, on the horizontal one, so that queries that rose are below
the diagonal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from citebed.evaluation.contrasts.contrast import Contrast
from citebed.evaluation.measures.base import Measure
from citebed.report.contrast_tables import (
    MOVERS,
    contrast_tables,
    extremes_lines,
    largest_moves,
)
from citebed.report.figure_style import MARK, RULE, FileNames, drawn, lines_of, panels, write_files
from citebed.report.page import make_page_figure, render
from citebed.report.tables import build_table
from citebed.runs.tables import Floats
from citebed.wording import count

ENDINGS = ("svg", "png")
_SIZES = (0.25, 0.8), (2.75, 2.75)
_ACROSS = 34
"""Characters per line of an axis label."""
_BESIDE = 20
_LINES = 16
"""Characters per line of a name beside a slope, and lines of names per panel."""
_DOT = 16.0
_LARGEST_DOT = 420.0
_NUMBERED = 6
"""The number of queries from which a point shows its number."""

_OPTIONS: dict[str, Any] = {"style": {"axes.titlelocation": "center"}, "dpi": 160}
Made = tuple[str, Callable[[], Figure]]


def draw_contrast(
    contrast: Contrast,
    folder: str | Path,
    pair: Sequence[str] | None = None,
    *,
    runs: Sequence[str] | None = None,
    full: bool = False,
) -> list[Path]:
    """Draw a contrast into a folder, each figure as SVG and PNG; return the files.

    ``systems`` shows the means of all runs. ``RUN`` shows a run's queries under each measure, side
    by side, for the named ``runs``, by default `most_informative_runs`. With ``full``,
    all runs are drawn, and each measure also alone, as ``RUN_MEASURE``. With a ``pair`` of runs,
    ``FIRST-SECOND`` plots one against the other per query, under each of the two sets.
    Measures without their own scores per query (GMAP) have no scatter plots. All files appear
    together, at the end.
    """
    for run in (*(pair or ()), *(runs or ())):
        contrast.before[run]  # raises an error for an unknown name
    files = (
        (f"{name}.{ending}", whole)
        for name, make in _figures(contrast, pair, runs, full)
        for ending, whole in zip(ENDINGS, drawn(make, *ENDINGS, **_OPTIONS), strict=True)
    )
    return write_files(Path(folder), files)


def most_informative_runs(contrast: Contrast) -> list[str]:
    """Return the best run under the second set and the run that changes most."""
    first = [of for of in contrast.rows("changes") if of["measure"] == str(contrast.measures[0])]
    if len(first) > 2:
        best = max(first, key=lambda of: of["after"])
        first = [best, max(first, key=lambda of: abs(of["change"]))]
    return list(dict.fromkeys(of["run"] for of in first))


def _figures(
    contrast: Contrast, pair: Sequence[str] | None, runs: Sequence[str] | None, full: bool
) -> Iterator[Made]:
    names = FileNames()
    every = [scores.run for scores in contrast.before.runs]
    for run in every if full else runs or most_informative_runs(contrast):
        if full:
            for measure in contrast.by_query:
                yield names(run, str(measure)), partial(_run_figure, contrast, run, [measure])
        if len(contrast.by_query) > (1 if full else 0):
            yield names(run), partial(_run_figure, contrast, run, contrast.by_query)
    yield names("systems"), partial(_systems_figure, contrast)
    if pair is not None and contrast.by_query:
        yield names("-".join(pair)), partial(_pair_figure, contrast, *pair)


# --- queries --------------------------------------------------------------------------------


def _run_figure(contrast: Contrast, run: str, measures: Sequence[Measure]) -> Figure:
    figure, grid = panels(len(measures), len(measures), *_SIZES)
    x, y = contrast.before[run], contrast.after[run]
    first, second = contrast.sets.before.name, contrast.sets.after.name
    for axes, measure in zip(grid, measures, strict=True):
        scatter(axes, y.of(measure), x.of(measure), measure.RANGE)
        axes.set_title(str(measure))
        axes.set_xlabel(lines_of(f"under {second}", _ACROSS))
    grid[0].set_ylabel(lines_of(f"under {first}", _ACROSS))
    said = (
        f"{run}, {count(len(x.query_ids), 'query')}",
        f"below the diagonal: higher under {second}",
    )
    _entitle(figure, said, len(measures))
    return figure


def _entitle(figure: Figure, said: Sequence[str], columns: int) -> None:
    """Write a title of several lines above all panels."""
    lines = (lines_of(sentence, _ACROSS * columns + 8) for sentence in said)
    figure.suptitle("\n".join(lines), fontsize=8)


def _pair_figure(contrast: Contrast, first: str, second: str) -> Figure:
    from citebed.evaluation.scoring.comparison import shared_queries

    columns = len(contrast.by_query)
    figure, grid = panels(2 * columns, columns, *_SIZES)
    rows = (grid[:columns], contrast.before), (grid[columns:], contrast.after)
    for row, evaluation in rows:
        _, (x, y) = shared_queries(evaluation[first], evaluation[second])
        for axes, measure in zip(row, contrast.by_query, strict=True):
            at = contrast.measures.index(measure)
            scatter(axes, y[at], x[at], measure.RANGE)
            axes.set_title(lines_of(f"{measure} under {evaluation.qrels}", _ACROSS))
            axes.set_xlabel(lines_of(second, _ACROSS))
        row[0].set_ylabel(lines_of(first, _ACROSS))
    _entitle(figure, ("below the diagonal:", f"{second} is better"), columns)
    return figure


def scatter(axes: Axes, x: Floats, y: Floats, limits: tuple[float, float]) -> None:
    """Plot points in a square with its diagonal; points in the same place become a larger ring.

    The area of a ring grows with the number of queries, up to a limit. From six queries on, the
    number is shown.
    """
    low, high = limits
    if not all(map(math.isfinite, limits)):  # the range of the scores instead
        low, high = float(min(x.min(), y.min(), 0.0)), float(max(x.max(), y.max(), 1.0))
    room = 0.04 * (high - low)
    axes.plot([low, high], [low, high], color=RULE, linewidth=0.7, zorder=1)
    places = Counter(zip(x.round(9).tolist(), y.round(9).tolist(), strict=True)).most_common()
    unit = min(_DOT, _LARGEST_DOT / max((number for _, number in places), default=1))
    # Draw the largest rings first, so that none is hidden, and all rings of one size at once, which
    # keeps the file small.
    for number, group in groupby(places, key=lambda place: place[1]):
        points = [place for place, _ in group]
        size = max(_DOT, unit * number)
        axes.scatter(
            [a for a, _ in points],
            [b for _, b in points],
            s=size,
            facecolor=(*mpl.colors.to_rgb(MARK), 0.18),
            edgecolor=MARK,
            linewidth=0.7,
            clip_on=False,
            zorder=2,
        )
        for place in points if number >= _NUMBERED else ():
            _number(axes, place, number, size)
    axes.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal")
    if (low, high) == (0.0, 1.0):
        axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])


def _number(axes: Axes, place: tuple[float, float], number: int, size: float) -> None:
    """Write the number of queries into a ring or, if it is too small, to its upper right."""
    across = 2 * math.sqrt(size / math.pi)
    inside = across > 4.2 * len(str(number)) + 2
    offset = 0.0 if inside else across / 2 * 0.75
    axes.annotate(
        str(number), place, xytext=(offset, offset), textcoords="offset points", fontsize=6,
        ha="center" if inside else "left", va="center" if inside else "bottom", zorder=3,
    )  # fmt: skip


# --- systems --------------------------------------------------------------------------------


def _systems_figure(contrast: Contrast) -> Figure:
    """Draw, per measure and run, a line between the means under the first and second set."""
    columns = min(3, len(contrast.measures))
    names = {scores.run: lines_of(scores.run, _BESIDE) for scores in contrast.before.runs}
    most = max(name.count("\n") + 1 for name in names.values())
    lines = max(_LINES, most * len(names))
    figure, grid = panels(len(contrast.measures), columns, (0.3, 0.3), (3.1, 2.8 * lines / _LINES))
    for axes, measure in zip(grid, contrast.measures, strict=True):
        _slopes(axes, contrast, measure, names, most / lines)
    return figure


def _slopes(
    axes: Axes, contrast: Contrast, measure: Measure, names: Mapping[str, str], apart: float
) -> None:
    """Draw one panel; ``apart`` is the distance of names as a share of the panel's height."""
    runs = list(names)
    ends = [(c["before"], c["after"]) for c in (contrast.change(run, measure) for run in runs)]
    for before, after in ends:
        axes.plot([0, 1], [before, after], color=MARK, linewidth=0.9, marker="o", markersize=3)
    least, most = min(map(min, ends)), max(map(max, ends))
    room = 0.06 * ((most - least) or 1.0)
    axes.set(xlim=(-0.12, 1.85), ylim=(least - room, most + room))
    sets = contrast.sets.before.name, contrast.sets.after.name
    axes.set_xticks([0, 1], [lines_of(name, _BESIDE) for name in sets])
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(str(measure))
    heights = spread([after for _, after in ends], (most - least + 2 * room) * apart, least, most)
    for run, (_, after), height in zip(runs, ends, heights, strict=True):
        axes.plot([1.04, 1.12], [after, height], color=RULE, linewidth=0.5)
        axes.text(1.14, height, names[run], fontsize=7, va="center", linespacing=1)


def spread(
    heights: Sequence[float], apart: float, least: float, most: float = math.inf
) -> list[float]:
    """Move heights so that they are at least ``apart``, in the same order, and near the originals.

    Neighbours that are too close form a block around their mean, not below ``least`` and, if there
    is room, not above ``most``.
    """
    blocks: list[tuple[float, list[int]]] = []
    for at in sorted(range(len(heights)), key=lambda place: (heights[place], -place)):
        centre, members = heights[at], [at]
        while blocks:
            below, others = blocks[-1]
            if centre - below >= apart * (len(members) + len(others)) / 2:
                break
            blocks.pop()
            members = others + members
            centre = sum(heights[place] for place in members) / len(members)
            reach = apart * (len(members) - 1) / 2
            centre = max(min(centre, most - reach), least + reach)
        blocks.append((centre, members))
    moved = [0.0] * len(heights)
    for centre, members in blocks:
        for number, place in enumerate(members):
            moved[place] = centre + apart * (number - (len(members) - 1) / 2)
    return moved


_PARTS = {
    "judgements": ("judgements",),
    "changes": ("changes", "summary"),
    "correlations": ("correlations",),
    "conclusions": ("conclusions",),
}
_MOST_MOVES = 6
_STYLE = ".plots { grid-template-columns: minmax(0, 1fr); }\n"
"""Rows of panels need the full width."""
_HEADINGS = {
    "judgements": "The two sets",
    "changes": "What changes",
    "correlations": "Is the order the same?",
    "conclusions": "Significant differences between runs under both sets",
    "movers": "Queries that change most",
    "ledger": "Notes",
}


def contrast_page(
    contrast: Contrast, command: str, title: str = "", back: tuple[str, str] | None = None
) -> str:
    """Return the page as self-contained HTML."""
    first, second = contrast.sets.before.name, contrast.sets.after.name
    runs = count(len(contrast.before.runs), "run")
    tables = {
        name: [table for part in parts for table in contrast_tables(contrast, part)]
        for name, parts in _PARTS.items()
    }
    moved = largest_moves(contrast.parts["movers"], _MOST_MOVES)
    caption, columns = (
        "The largest changes under each measure",
        (*MOVERS[:-1], replace(MOVERS[-1], head="how")),
    )
    tables["movers"] = [build_table(columns, moved, caption)] if moved else []
    wanted = {name: heading for name, heading in _HEADINGS.items() if tables.get(name, True)}
    pictures = []
    style = {"transparent": True, **_OPTIONS}
    for at, (name, make) in enumerate(_figures(contrast, None, None, full=False)):
        alt_text = f"{name} under {first} and under {second}"
        svg = drawn(make, "svg", **style)[0]
        pictures.append(make_page_figure(svg, f"picture{at}", alt_text, name, name))
    judged = f"{count(len(contrast.sets.query_ids), 'query')} judged in both sets; {runs}."
    notes = [f"{note[:1].upper()}{note[1:]}." for note in contrast.notes()]
    return render(
        "contrast.html.j2", wanted, ("tables.js",), command=command, back=back,
        title=title or f"{first} and {second}: {runs}", libraries=("numpy", "polars", "scipy"),
        more_style=_STYLE, tables=tables, pictures=pictures,
        moved=extremes_lines(contrast), notes=[judged, *notes], first=first, second=second,
    )  # fmt: skip
