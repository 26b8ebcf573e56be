"""Figures of an evaluation: each measure's means with intervals, and differences per query.

Both are readable in black and white, and reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparison import shared_queries
from citebed.evaluation.scoring.run_scores import RunScores, Summary
from citebed.report.figure_style import INK, LIGHT, MARK, RULE, FileNames, label, lines_of, svg
from citebed.runs.tables import Floats
from citebed.wording import count

_WIDTH = 5.6
_NAMED_BARS = 40
"""The largest number of queries with names under their bars."""

_SINGLE_BARS = 100
"""The largest number of single bars; more become an outline."""


@dataclass(frozen=True)
class Mean:
    """A run's mean under one measure with the limits of its interval (nan if it has none)."""

    run: str
    value: float
    low: float
    high: float


def interval_svg(measure: str, means: Sequence[Mean], baseline: str | None = None) -> bytes:
    """Plot each run as a dot in its interval, with the numbers beside; the baseline's is hollow.

    A dotted line at the baseline shows which intervals include it. Runs with overlapping intervals
    may still differ: the intervals are for means, not for paired differences.
    """
    return svg(lambda: _interval_figure(measure, means, baseline))


def _interval_figure(measure: str, means: Sequence[Mean], baseline: str | None) -> Figure:
    names = [lines_of(mean.run, 32) for mean in means]
    row = 0.12 * (1 + max(name.count("\n") + 1 for name in names))
    figure = Figure(figsize=(_WIDTH, 0.75 + row * len(means)), layout="constrained")
    axes = figure.subplots()
    for place, mean in enumerate(means):
        base = mean.run == baseline
        if not math.isnan(mean.low):
            axes.plot([mean.low, mean.high], [place, place], color=INK, linewidth=1.1, zorder=2)
            for end in (mean.low, mean.high):
                axes.plot([end, end], [place - 0.14, place + 0.14], color=INK, linewidth=1.1)
        fill = "white" if base else MARK
        axes.plot(mean.value, place, "o", markersize=5, color=MARK, markerfacecolor=fill, zorder=3)
        if base:
            axes.axvline(mean.value, color=RULE, linewidth=0.8, linestyle=":", zorder=1)
    axes.set_ylim(len(means) - 0.4, -0.6)
    axes.set_yticks(range(len(means)), names)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(measure)
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(means)), [numbers(mean) for mean in means])
    beside.tick_params(axis="y", length=0)
    beside.spines["right"].set_visible(False)
    return figure


def numbers(mean: Mean) -> str:
    """Format a mean with its interval: ``0.295 [0.257, 0.334]``."""
    if math.isnan(mean.low):
        return f"{mean.value:.3f}"
    return f"{mean.value:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def differences_svg(
    measure: str, base: str, run: str, query_ids: Sequence[str], differences: Floats
) -> bytes:
    """Plot one bar per query, the largest gain first; gains are above the line."""
    order = np.argsort(-differences, kind="stable")
    ids = [query_ids[at] for at in order]
    return svg(lambda: _differences_figure(measure, base, run, ids, differences[order]))


def _differences_figure(
    measure: str, base: str, run: str, ids: Sequence[str], sorted_differences: Floats
) -> Figure:
    figure = Figure(figsize=(_WIDTH, 2.6), layout="constrained")
    axes = figure.subplots()
    # Gains are dark and losses light; many bars become an outline.
    for part, fill in (
        (np.maximum(sorted_differences, 0), MARK),
        (np.minimum(sorted_differences, 0), LIGHT),
    ):
        if len(ids) <= _SINGLE_BARS:
            axes.bar(range(len(ids)), part, 0.8, color=fill, edgecolor=MARK, linewidth=0.5)
        else:
            edges = np.arange(len(ids) + 1) - 0.5
            axes.stairs(part, edges, fill=True, color=fill, linewidth=0)
    axes.set_xlim(-0.8, len(ids) - 0.2)
    axes.axhline(0, color=INK, linewidth=0.6)
    mean = float(sorted_differences.mean())
    axes.axhline(mean, color=INK, linewidth=0.8, linestyle="--")
    won, lost = int((sorted_differences > 0).sum()), int((sorted_differences < 0).sum())
    axes.set_xlabel(
        f"{count(len(ids), 'query')}: {won} better, {len(ids) - won - lost} equal, {lost} worse; "
        f"mean {mean:+.4f} (dashed)"
    )
    axes.set_ylabel(f"difference in {measure}")
    axes.set_title(lines_of(f"{run} less {base}", 70))
    axes.tick_params(axis="x", length=0)
    if len(ids) <= _NAMED_BARS:
        names, size = [label(x, 20) for x in ids], 7 if len(ids) <= 25 else 6
        axes.set_xticks(range(len(ids)), names, rotation=90, fontsize=size)
    else:
        axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    return figure


def measure_means(
    runs: Sequence[str], summaries: Sequence[Sequence[Summary]]
) -> dict[Measure, list[Mean]]:
    """Return the runs' means per measure, without counts."""
    means: dict[Measure, list[Mean]] = {}
    for run, row in zip(runs, summaries, strict=True):
        for summary in row:
            if summary.measure.SUMMARY != "sum" and not math.isnan(summary.value):
                mean = Mean(run, summary.value, summary.low, summary.high)
                means.setdefault(summary.measure, []).append(mean)
    return means


def by_query(measures: Sequence[Measure]) -> list[int]:
    """Return the positions of measures with their own scores per query: means, not counts."""
    return [at for at, measure in enumerate(measures) if measure.SUMMARY == "mean"]


def evaluation_figures(
    runs: Sequence[RunScores],
    summaries: Sequence[Sequence[Summary]],
    baseline: str | None = None,
) -> dict[str, bytes]:
    """Draw all figures of an evaluation, by file name.

    There is ``intervals_MEASURE.svg`` for each measure, and ``differences_MEASURE_RUN-BASE.svg``
    for each measure with scores per query and each run except the baseline (by default the first).
    """
    names = FileNames()
    files = {}
    for measure, means in measure_means([scores.run for scores in runs], summaries).items():
        files[f"{names('intervals', str(measure))}.svg"] = interval_svg(
            str(measure), means, baseline
        )
    base = next((scores for scores in runs if scores.run == baseline), runs[0])
    for scores in runs:
        if scores is base:
            continue
        ids, (before, after) = shared_queries(base, scores)
        for at in by_query(scores.measures):
            measure_name = str(scores.measures[at])
            name = names("differences", measure_name, f"{scores.run}-{base.run}")
            files[f"{name}.svg"] = differences_svg(
                measure_name, base.run, scores.run, ids, after[at] - before[at]
            )
    return files
