"""Timelines as tables, and trends in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from citebed.report.grid import Grid
from citebed.timeline.scoring.kinds import KINDS
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.trends import Stability, Trend, stability
from citebed.timeline.scoring.uncertainty import mean_texts
from citebed.timeline.timelines import Timeline
from citebed.wording import count


def systems_grid(timelines: Sequence[Timeline]) -> Grid:
    """Runs down, behind their teams if some have one; measures and weightings across.

    Of one stream cut in several ways the slicings stand side by side, as weeks and days do in
    tables 2 and 3 of Dietz, Dalton & Balog (2013).
    """
    first = timelines[0]
    heads = _beside([_heads(each.runs[0], each.weights) for each in timelines])
    if len(timelines) > 1:
        kinds = [each.pairs.slices.kind for each in timelines] * (len(heads) // len(timelines))
        heads = [f"{head}, {kind}" for head, kind in zip(heads, kinds, strict=True)]
    rows = [
        [
            scores.run,
            str(len(scores.pairs.queries)),
            *_beside([mean_texts(each.table.filter(run=scores.run)) for each in timelines]),
        ]
        for scores in first.runs
    ]
    teams = {scores.run: scores.team for scores in first.runs}
    return with_teams(Grid(["run", "queries", *heads], rows), teams)


def _beside(columns: Sequence[Sequence[str]]) -> list[str]:
    """The first of each, then the second of each, and so on."""
    return [text for texts in zip(*columns, strict=True) for text in texts]


def with_teams(grid: Grid, teams: Mapping[str, str]) -> Grid:
    """A table whose first column is runs, with their teams in front if there are any."""
    if not any(teams.values()):
        return grid
    rows = [[teams[row[0]], *row] for row in grid.rows]
    return Grid(["team", *grid.head], rows, frozenset({0, *(at + 1 for at in grid.left)}))


def _heads(scores: StreamScores, weights: Sequence[str]) -> list[str]:
    """The columns of measures and weightings; in one slice there is nothing to weigh."""
    if len(scores.pairs.slices) == len(weights) == 1:
        return [str(measure) for measure in scores.measures]
    return [f"{measure}, {weight}" for measure in scores.measures for weight in weights]


def queries_grid(scores: StreamScores, weights: Sequence[str]) -> Grid:
    """A run's scores query by query, measures and weightings across."""
    pairs = [(measure, weight) for measure in scores.measures for weight in weights]
    columns = [map(_score, scores.by_query(measure, weight)) for measure, weight in pairs]
    rows = [list(row) for row in zip(scores.pairs.query_ids, *columns, strict=True)]
    return Grid([f"{scores.run}, query", *_heads(scores, weights)], rows)


def _score(value: float) -> str:
    return f"{value:.4f}"


def kinds_grid(timeline: Timeline) -> Grid:
    """The scores of each kind of query in time, with how many queries are of it."""
    counts = dict(timeline.by_kind.select("kind", "queries").unique().iter_rows())
    kinds = [kind for kind in KINDS if kind in counts]
    head = ["run", "measure", "weight", *(f"{kind} ({counts[kind]})" for kind in kinds)]
    rows: dict[tuple[str, ...], list[str]] = {}
    for run, measure, weight, _, _, value in timeline.by_kind.iter_rows():
        rows.setdefault((run, measure, weight), []).append(_score(value))
    return Grid(head, [[*names, *values] for names, values in rows.items()], frozenset((0, 1, 2)))


def slices_grid(scores: StreamScores) -> Grid:
    """A run's scores slice by slice, with the queries and relevant documents in it."""
    pairs = scores.pairs
    head = [f"{scores.run}, slice", "queries", "relevant", *map(str, scores.measures)]
    columns = [scores.by_slice(measure) for measure in scores.measures]
    rows = []
    for at, label in enumerate(pairs.slices.labels):
        inside = pairs.slice == at
        named = f"{label} (partial)" if pairs.slices.partial[at] else label
        values = [f"{column[at]:.4f}" if inside.any() else "–" for column in columns]
        rows.append([named, str(inside.sum()), str(pairs.relevant[inside].sum()), *values])
    return Grid(head, rows)


# --- trends ---------------------------------------------------------------------------------

_MOST_DIGITS = 6
_MOST_TIMES = 10
_ONE_WAY = {True: "gains", False: "loses"}


def trend_sentence(run: str, measure: str, found: Trend, alpha: float) -> str:
    """``lsisRFAI loses 0.011 AP per week (95% interval 0.004 to 0.018), significant …``.

    The same for all where slices are too few. All numbers are of one line, so they go one way;
    where the test and the interval do not agree on whether there is a trend, both are told.
    """
    if math.isnan(found.slope) or math.isnan(found.low):
        return f"No trends: only {count(found.slices, 'slice')} with relevant documents"
    interval = f"({found.level:.0%} interval {_limits(found)})"
    size, verdict = f"{abs(found.slope):.{_digits(found)}f}", _verdict(found, alpha)
    if float(size):
        way = _ONE_WAY[found.slope > 0]
        return f"{run} {way} {size} {measure} per {found.unit} {interval}, {verdict}{_ends(found)}"
    if found.significant(alpha):  # many slices are equal, the others go one way
        way = "up" if found.test.s > 0 else "down"
        return (
            f"{run} has as a rule no change of {measure} per {found.unit} {interval}, but where "
            f"there is one it goes {way}, significant {_p_value(found)}"
        )
    return f"{run} keeps its {measure} {interval}, no significant change {_p_value(found)}"


def _p_value(found: Trend) -> str:
    p = found.test.p
    return f"(Mann-Kendall p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})"


def _verdict(found: Trend, alpha: float) -> str:
    """Whether there is a trend, by the test; and what the interval says, if it differs."""
    low, high = (round(limit, _digits(found)) for limit in (found.low, found.high))
    significant, one_sided = found.significant(alpha), low > 0 or high < 0  # as they are written
    verdict = f"{'' if significant else 'not '}significant {_p_value(found)}"
    if significant == one_sided:
        return verdict
    return f"{verdict}, though the interval {'has no 0 in it' if one_sided else 'has 0 in it'}"


def _digits(found: Trend) -> int:
    """As many decimals as show two figures of the slope or of its interval's width.

    And more where a limit that is not 0 would be written as 0.
    """
    scale = max(abs(found.slope), (found.high - found.low) / 2)
    digits = min(max(2, 1 - math.floor(math.log10(scale))), _MOST_DIGITS) if scale else 2
    limits = [limit for limit in (found.low, found.high) if limit]
    while digits < _MOST_DIGITS and not all(round(limit, digits) for limit in limits):
        digits += 1
    return digits


def _limits(found: Trend) -> str:
    """The interval in the direction of the sentence: a loss is told as a positive number."""
    sign = -1 if found.slope < 0 else 1
    low, high = sorted((sign * found.low, sign * found.high))
    digits = _digits(found)
    return f"{_plain(low, digits)} to {_plain(high, digits)}"


def _plain(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _ends(found: Trend) -> str:
    """Where the line starts and ends, if that differs as it is written."""
    first, last = f"{found.first:.3f}", f"{found.last:.3f}"
    if first == last:
        return ""
    said = f"; along that line from {_plain(found.first, 3)} to {_plain(found.last, 3)}"
    if abs(found.first) < 0.0005 or not 0.005 < abs(found.drop) < _MOST_TIMES:
        return said  # a share of next to nothing, or next to no share
    return f"{said}, {'down' if found.drop > 0 else 'up'} {abs(found.drop):.0%}"


def stability_sentences(runs: Sequence[StreamScores]) -> list[str]:
    """For each measure how alike systems are ranked from slice to slice; two are no ranking.

    Nothing is to say of one slice.
    """
    if len(runs) < 3 or len(runs[0].pairs.slices) == 1:
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
    following = f", with that of the next slice at τ = {found.with_next:.2f}"
    return (
        f"{measure}: the ranking of systems in a slice agrees with the overall one at τ = "
        f"{found.with_overall:.2f}{'' if math.isnan(found.with_next) else following} "
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


def entities_grid(scores: pl.DataFrame) -> Grid:
    """Official scores entity by entity, a row each."""
    kinds = ["run", "positives", "query_id", "cutoff"]
    numbers = {"precision": "P", "recall": "R", "f1": "F1", "su": "SU"}
    rows = [
        [*(str(row[name]) for name in kinds), *(_score(row[name]) for name in numbers)]
        for row in scores.iter_rows(named=True)
    ]
    head = ["run", "positives", "entity", "cutoff", *numbers.values()]
    return Grid(head, rows, frozenset({0, 1, 2}))
