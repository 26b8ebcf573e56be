"""Timelines as tables, and trends in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from citebed.report.evaluation.table import about, comparison_notes
from citebed.report.evaluation.table import queries_table as scores_by_query
from citebed.report.tables import (
    DAGGER,
    Cell,
    Column,
    Table,
    build_table,
    interval,
    p_text,
    text_table,
)
from citebed.runs.tables import Floats
from citebed.timeline.scoring.kinds import KINDS
from citebed.timeline.scoring.stream_scores import UNITS_DRAWN, StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.scoring.trends import Stability, Trend, stability
from citebed.timeline.timelines import Timeline
from citebed.wording import count

if TYPE_CHECKING:  # who prints no comparison does without them
    from citebed.timeline.scoring.comparison import StreamComparison

COUNTS = (
    Column("run", "run", left=True),
    Column("documents", lambda of: of.skipped.lines, ",", "lines of the run"),
    Column("measured", "measured", ",", "documents in scored pairs of query and slice"),
    Column("judged", "judged", ",", "how many of these are judged"),
    Column("elsewhere", "elsewhere", ",", "in slices without relevant documents for their query"),
    Column("outside", "outside", ",", "in no slice"),
    Column(
        "no judgements", lambda of: of.skipped.unjudged, ",",
        "documents of queries that nobody judged",
    ),
    Column("untimed", lambda of: of.skipped.untimed, ",", "documents without a time"),
    Column("pairs", "pairs", ",", "of query and slice that are scored"),
    Column("silent", "silent", ",", "such pairs in which the run returned nothing, which score 0"),
)  # fmt: skip
"""What is counted of a run."""


def systems_table(timelines: Sequence[Timeline]) -> Table:
    """Runs down, behind their teams if some have one; measures and weightings across.

    Of one stream cut in several ways the slicings stand side by side, as weeks and days do in
    tables 2 and 3 of Dietz, Dalton & Balog (2013).
    """
    first = timelines[0]
    columns = [
        Column("run", "run", left=True, kind="name"),
        Column("queries", lambda of: _queries(len(of.pairs.queries))),
    ]
    means = [dict(_means(each)) for each in timelines]
    pairs = product(first.runs[0].measures, first.weights)
    for at, (measure, weight) in enumerate(pairs):
        title = f"{about(measure)} Slices weighted: {weight}."
        for each, of_runs in zip(timelines, means, strict=True):
            head, alone = f"{measure}, {weight}", len(each.pairs.slices) == len(each.weights) == 1
            short = str(measure) if alone else head
            if len(timelines) > 1:
                short += f", {each.pairs.slices.kind}"
            columns.append(Column(head, partial(_mean, of_runs, at), "", title, short=short))
    caption = "Means over queries of the weighted means over slices"
    if first.units:
        caption += f", with {first.level:.0%} intervals {UNITS_DRAWN[first.units]}"
    teams = {scores.run: scores.team for scores in first.runs}
    return build_table(with_teams(columns, teams), first.runs, caption)


def _mean(means: Mapping[str, Sequence[Cell]], at: int, of: StreamScores) -> Cell:
    return means[of.run][at]


def _queries(number: int) -> Cell:
    return Cell(f"{number:,}", value=number, line=str(number))


def _means(of: Timeline) -> Iterator[tuple[str, list[Cell]]]:
    """Each run's means, measure by measure and weighting by weighting."""
    for scores in of.runs:
        rows = of.table.filter(run=scores.run).select("value", "low", "high").fill_null(math.nan)
        yield scores.run, [interval(*row) for row in rows.iter_rows()]


def with_teams(columns: Sequence[Column], teams: Mapping[str, str]) -> Sequence[Column]:
    """The columns of a table of runs, with their teams in front if there are any."""
    if not any(teams.values()):
        return columns
    run = columns[0]
    return [Column("team", lambda of: teams[str(run.cell(of))], left=True), *columns]


def _heads(scores: StreamScores, weights: Sequence[str]) -> list[str]:
    """The columns of measures and weightings; in one slice there is nothing to weigh."""
    if len(scores.pairs.slices) == len(weights) == 1:
        return [str(measure) for measure in scores.measures]
    return [f"{measure}, {weight}" for measure in scores.measures for weight in weights]


def queries_table(scores: StreamScores, weights: Sequence[str]) -> Table:
    """A run's scores query by query, measures and weightings across."""
    columns = (scores.by_query(*pair) for pair in product(scores.measures, weights))
    return scores_by_query(scores.run, scores.pairs.query_ids, _heads(scores, weights), columns)


def kinds_table(timeline: Timeline) -> Table:
    """The scores of each kind of query in time, with how many queries are of it."""
    counts = dict(timeline.by_kind.select("kind", "queries").unique().iter_rows())
    kinds = [kind for kind in KINDS if kind in counts]
    head = ["run", "measure", "weight", *(f"{kind} ({counts[kind]})" for kind in kinds)]
    rows: dict[tuple[str, ...], list[str]] = {}
    for run, measure, weight, _, _, value in timeline.by_kind.iter_rows():
        rows.setdefault((run, measure, weight), []).append(f"{value:.4f}")
    return text_table(head, [[*names, *values] for names, values in rows.items()], range(3))


def slices_table(pairs: TopicSlices, scores: Mapping[str, Floats], of: str = "") -> Table:
    """Slices down, with the queries and relevant documents in each; scores across, by name."""
    queries = np.bincount(pairs.slice, minlength=len(pairs.slices))
    relevant = np.bincount(pairs.slice, pairs.relevant, len(pairs.slices)).astype(np.int64)
    columns = [
        Column(
            "slice", lambda at: _slice(pairs, at), "", "its start, UTC", left=True,
            short=f"{of}, slice", kind="number",
        ),
        Column("queries", lambda at: _queries(queries[at]), "", "with relevant documents in it"),
        Column("relevant", lambda at: _queries(relevant[at]), "", "documents"),
        *(Column(name, values.tolist().__getitem__, ".4f") for name, values in scores.items()),
    ]  # fmt: skip
    return build_table(columns, range(len(pairs.slices)))


def _slice(pairs: TopicSlices, at: int) -> Cell:
    label = pairs.slices.labels[at]
    if not pairs.slices.partial[at]:
        return Cell(label)
    return Cell(label, "partial", line=f"{label} (partial)")


def stream_comparison_notes(compared: Sequence[StreamComparison], alpha: float) -> list[str]:
    """How the table of paired tests was made, and what its columns say."""
    notes = comparison_notes(compared, alpha)
    if compared[0].units == "both":
        slices = count(
            compared[0].slices, "slice with relevant documents", "slices with relevant documents"
        )
        notes.append(
            f"intervals and tests are over queries and slices, both drawn: {slices}; d and w/t/l "
            "are over queries"
        )
    return notes


# --- trends ---------------------------------------------------------------------------------

_MOST_DIGITS = 6
_MOST_TIMES = 10
_ONE_WAY = {True: "gains", False: "loses"}


def trend_sentence(run: str, measure: str, trend: Trend, alpha: float) -> str:
    """``lsisRFAI loses 0.011 AP per week (95% interval −0.018 to −0.004), significant …``.

    The same for all where slices are too few. All numbers are of one line, so they go one way;
    where the test and the interval do not agree on whether there is a trend, both are told.
    """
    if math.isnan(trend.slope) or math.isnan(trend.low):
        return f"No trends: only {count(trend.slices, 'slice')} with relevant documents"
    interval = f"({trend.level:.0%} interval {_limits(trend)})"
    size, verdict = f"{abs(trend.slope):.{_digits(trend)}f}", _verdict(trend, alpha)
    if float(size):
        way = _ONE_WAY[trend.slope > 0]
        return f"{run} {way} {size} {measure} per {trend.unit} {interval}, {verdict}{_ends(trend)}"
    if trend.significant(alpha):  # many slices are equal, the others go one way
        way = "up" if trend.test.s > 0 else "down"
        return (
            f"{run} has as a rule no change of {measure} per {trend.unit} {interval}, but where "
            f"there is one it goes {way}, significant {_p_value(trend)}"
        )
    return f"{run} keeps its {measure} {interval}, no significant change {_p_value(trend)}"


def _p_value(trend: Trend) -> str:
    p = trend.test.p
    return f"(Mann-Kendall p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})"


def _verdict(trend: Trend, alpha: float) -> str:
    """Whether there is a trend, by the test; and what the interval says, if it differs."""
    low, high = (round(limit, _digits(trend)) for limit in (trend.low, trend.high))
    significant, one_sided = trend.significant(alpha), low > 0 or high < 0  # as they are written
    verdict = f"{'' if significant else 'not '}significant {_p_value(trend)}"
    if significant == one_sided:
        return verdict
    return f"{verdict}, though the interval {'has no 0 in it' if one_sided else 'has 0 in it'}"


def _digits(trend: Trend) -> int:
    """As many decimals as show two figures of the slope or of its interval's width.

    And more where a limit that is not 0 would be written as 0.
    """
    scale = max(abs(trend.slope), (trend.high - trend.low) / 2)
    digits = min(max(2, 1 - math.floor(math.log10(scale))), _MOST_DIGITS) if scale else 2
    limits = [limit for limit in (trend.low, trend.high) if limit]
    while digits < _MOST_DIGITS and not all(round(limit, digits) for limit in limits):
        digits += 1
    return digits


def _limits(trend: Trend) -> str:
    """The interval of the slope, with the signs that the table has."""
    digits = _digits(trend)
    return f"{_plain(trend.low, digits)} to {_plain(trend.high, digits)}"


def _plain(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _ends(trend: Trend) -> str:
    """Where the line starts and ends, if that differs as it is written."""
    first, last = f"{trend.first:.3f}", f"{trend.last:.3f}"
    if first == last:
        return ""
    said = f"; along that line from {_plain(trend.first, 3)} to {_plain(trend.last, 3)}"
    if abs(trend.first) < 0.0005 or not 0.005 < abs(trend.drop) < _MOST_TIMES:
        return said  # a share of next to nothing, or next to no share
    return f"{said}, {'down' if trend.drop > 0 else 'up'} {abs(trend.drop):.0%}"


def trends_table(of: Timeline) -> Table:
    """All trends, a row each."""
    unit = of.trends_found[0][2].unit
    columns = [
        Column("run", lambda each: each[0], left=True),
        Column("measure", lambda each: each[1], left=True, kind="name"),
        Column(
            f"change per {unit}", lambda each: _slope(each[2], of.alpha),
            title="Theil-Sen slope of the slice scores, with its interval",
        ),
        Column(
            "p", lambda each: each[2].test.p, p_text,
            "Mann-Kendall test, corrected for neighbouring slices being alike",
        ),
        Column(
            "at first", lambda each: each[2].first, ".3f", "where the line of that slope starts"
        ),
        Column("at last", lambda each: each[2].last, ".3f", "where it ends"),
        Column(
            "change", lambda each: -each[2].drop, "+.0%",
            "from the one to the other, as a share of the first",
        ),
    ]  # fmt: skip
    caption = f"Trends of the slice scores; {DAGGER} marks those with p below {of.alpha:g}"
    return build_table(columns, of.trends_found, caption)


def _slope(trend: Trend, alpha: float) -> Cell:
    mark = DAGGER if trend.significant(alpha) else " "
    return interval(trend.slope, trend.low, trend.high, "+.4f", mark)


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


def stability_sentence(measure: str, stable: Stability) -> str:
    """How alike systems are ranked from slice to slice."""
    if math.isnan(stable.with_overall):
        return f"{measure}: no slice tells the systems apart"
    following = f", with that of the next slice at τ = {stable.with_next:.2f}"
    return (
        f"{measure}: the ranking of systems in a slice agrees with the overall one at τ = "
        f"{stable.with_overall:.2f}{'' if math.isnan(stable.with_next) else following} "
        f"(means over {count(stable.slices, 'slice')})"
    )


# --- official scores ------------------------------------------------------------------------


def _scores(**heads: str) -> list[Column]:
    """Columns of scores by their fields, to four places, which they are sorted by too."""
    return [Column(head, partial(_rounded, name), ".4f") for name, head in heads.items()]


def _rounded(name: str, row: Mapping[str, float]) -> float:
    return round(row[name], 4)


OFFICIAL = (
    Column("run", "run", left=True),
    Column("positives", "positives", left=True),
    Column("entities", "entities", left=True),
    Column("average", "average", left=True),
    Column("cutoff", "cutoff"),
    *_scores(
        precision="P", recall="R", f1_of_means="F1 of means", mean_f1="mean F1", su="SU",
        su_of_nothing="SU of nothing",
    ),
)  # fmt: skip
ENTITIES = (
    *OFFICIAL[:2],
    Column("entity", "query_id", left=True),
    Column("cutoff", "cutoff"),
    *_scores(precision="P", recall="R", f1="F1", su="SU"),
)
"""Official scores entity by entity."""


def official_table(
    scores: pl.DataFrame,
    teams: Mapping[str, str],
    columns: Sequence[Column] = OFFICIAL,
    caption: str = "",
) -> Table:
    """Official scores, a row each."""
    return build_table(with_teams(columns, teams), scores.iter_rows(named=True), caption)
