"""Timelines as tables, and trends in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from citebed.report.grid import Grid
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.trends import Stability, Trend, stability
from citebed.wording import count


def systems_grid(runs: Sequence[StreamScores], weights: Sequence[str]) -> Grid:
    """Runs down, measures and weightings across: the means over queries."""
    heads = [f"{measure}, {weight}" for measure in runs[0].measures for weight in weights]
    rows = [
        [scores.run, str(len(scores.cells.queries)), *map(_score, scores.systems(weights)["value"])]
        for scores in runs
    ]
    return Grid(["run", "queries", *heads], rows)


def queries_grid(scores: StreamScores, weights: Sequence[str]) -> Grid:
    """A run's scores query by query, measures and weightings across."""
    pairs = [(measure, weight) for measure in scores.measures for weight in weights]
    columns = [map(_score, scores.by_query(measure, weight)) for measure, weight in pairs]
    heads = [f"{measure}, {weight}" for measure, weight in pairs]
    rows = [list(row) for row in zip(scores.cells.query_ids, *columns, strict=True)]
    return Grid([f"{scores.run}, query", *heads], rows)


def _score(value: float) -> str:
    return f"{value:.4f}"


def slices_grid(scores: StreamScores) -> Grid:
    """A run's scores slice by slice, with the queries and relevant documents in it."""
    cells = scores.cells
    head = [f"{scores.run}, slice", "queries", "relevant", *map(str, scores.measures)]
    columns = [scores.by_slice(measure) for measure in scores.measures]
    rows = []
    for at, label in enumerate(cells.slices.labels):
        inside = cells.slice == at
        values = [f"{column[at]:.4f}" if inside.any() else "–" for column in columns]
        rows.append([label, str(inside.sum()), str(cells.relevant[inside].sum()), *values])
    return Grid(head, rows)


# --- trends ---------------------------------------------------------------------------------

_ONE_WAY = {True: "gains", False: "loses"}


def trend_sentence(run: str, measure: str, found: Trend, alpha: float) -> str:
    """``lsisRFAI loses 0.011 AP per week (95% interval 0.004 to 0.018), significant …``.

    The same for all where slices are too few.
    """
    if math.isnan(found.slope) or math.isnan(found.low):
        return f"No trends: only {count(found.slices, 'slice')} with relevant documents"
    interval = f"({found.level:.0%} interval {_limits(found)})"
    p = found.test.p
    p_value = f"(Mann-Kendall p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})"
    significant = found.significant(alpha)
    size = f"{abs(found.slope):.{_digits(found)}f}"
    if float(size):
        said = f"{_ONE_WAY[found.slope > 0]} {size} {measure} per {found.unit} {interval}, "
        said += f"{'' if significant else 'not '}significant {p_value}"
    elif significant:  # many slices are equal, the others go one way
        way = "up" if found.test.s > 0 else "down"
        said = f"has as a rule no change of {measure} per {found.unit} {interval}, but where there "
        said += f"is one it goes {way}, significant {p_value}"
    else:
        said = f"keeps its {measure} {interval}, no significant change {p_value}"
    return f"{run} {said}{_thirds(found)}"


def _digits(found: Trend) -> int:
    """As many decimals as show two figures of the slope or of its interval's width."""
    scale = max(abs(found.slope), (found.high - found.low) / 2)
    return min(max(2, 1 - math.floor(math.log10(scale))), 5) if scale else 2


def _limits(found: Trend) -> str:
    """The interval in the direction of the sentence: a loss is told as a positive number."""
    sign = -1 if found.slope < 0 else 1
    low, high = sorted((sign * found.low, sign * found.high))
    digits = _digits(found)
    return f"{_plain(low, digits)} to {_plain(high, digits)}"


def _plain(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _thirds(found: Trend) -> str:
    if math.isnan(found.drop) or abs(found.first) < 0.0005:  # a share of next to nothing
        return ""
    way = "down" if found.drop > 0 else "up"
    share = f"{abs(found.drop):.0%}"
    return (
        f"; from {found.first:.3f} in the first third of the slices to {found.last:.3f} in the "
        f"last, {'unchanged' if share == '0%' else f'{way} {share}'}"
    )


def stability_sentences(runs: Sequence[StreamScores]) -> list[str]:
    """For each measure how alike systems are ranked from slice to slice; two are no ranking."""
    if len(runs) < 3:
        return []
    return [
        stability_sentence(
            str(each), stability({scores.run: scores.by_slice(each) for scores in runs})
        )
        for each in runs[0].measures
    ]


def stability_sentence(measure: str, found: Stability) -> str:
    """How alike systems are ranked from slice to slice."""
    if math.isnan(found.with_overall):
        return f"{measure}: no slice tells the systems apart"
    return (
        f"{measure}: the ranking of systems in a slice agrees with the overall one at τ = "
        f"{found.with_overall:.2f}, with that of the next slice at τ = {found.with_next:.2f} "
        f"(means over {count(found.slices, 'slice')})"
    )


# --- official scores ------------------------------------------------------------------------

_OFFICIAL = {
    "precision": "P",
    "recall": "R",
    "f1_of_means": "F1 of means",
    "mean_f1": "mean F1",
    "su": "SU",
    "su_of_nothing": "SU of nothing",
}


def official_grid(scores: pl.DataFrame) -> Grid:
    """Official scores, a row each."""
    kinds = ["run", "positives", "entities", "average", "cutoff"]
    head = [*kinds, *_OFFICIAL.values()]
    rows = [
        [
            *(str(row[name]) for name in kinds),
            *(f"{row[name]:.4f}" for name in _OFFICIAL),
        ]
        for row in scores.iter_rows(named=True)
    ]
    return Grid(head, rows, frozenset({0, 1, 2, 3}))
