"""Tables of timelines, and sentences on trends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from citebed.evaluation.statistics.correlations import kendall_tau
from citebed.report.evaluation_tables import about, comparison_notes
from citebed.report.evaluation_tables import queries_table as scores_by_query
from citebed.report.tables import (
    DAGGER,
    Cell,
    Column,
    Table,
    build_table,
    frame_table,
    interval,
    p_text,
    text_table,
)
from citebed.runs.tables import Floats
from citebed.timeline.scoring.comparison import KINDS
from citebed.timeline.scoring.stream_scores import UNITS_DRAWN, StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.scoring.trends import Stability, Trend, stability
from citebed.timeline.timelines import Timeline
from citebed.wording import count

if TYPE_CHECKING:  # loaded only for comparisons
    from citebed.timeline.scoring.comparison import StreamComparison
    from citebed.timeline.snapshots import SnapshotScores

COUNTS = (
    Column("run", "run", left=True),
    Column("documents", lambda of: of.skipped.lines, ",", "lines of the run"),
    Column("measured", "measured", ",", "documents in scored pairs of query and slice"),
    Column("judged", "judged", ",", "how many of these are judged"),
    Column("elsewhere", "elsewhere", ",", "in slices without relevant documents for their query"),
    Column("outside", "outside", ",", "in no slice"),
    Column(
        "no judgements", lambda of: of.skipped.unjudged, ",",
        "documents for queries without judgements",
    ),
    Column("untimed", lambda of: of.skipped.untimed, ",", "documents without a time"),
    Column("pairs", "pairs", ",", "of query and slice that are scored"),
    Column("silent", "silent", ",", "such pairs in which the run returned nothing, which score 0"),
)  # fmt: skip
"""Counts of a run."""


def systems_table(timelines: Sequence[Timeline]) -> Table:
    """Make a table of runs (with teams, if known) by measures and weightings.

    Several slicings of one stream are side by side, like weeks and days in tables 2 and 3 of Dietz,
    Dalton & Balog (2013).
    """
    first = timelines[0]
    columns = [
        Column("run", "run", left=True, kind="name"),
        Column("queries", lambda of: _queries(len(of.pairs.queries))),
    ]
    means: list[dict[str, list[Cell]]] = [{} for _ in timelines]
    for each, of_runs in zip(timelines, means, strict=True):
        table = each.table.select("run", "value", "low", "high").fill_null(math.nan)
        for run, *numbers in table.iter_rows():
            of_runs.setdefault(run, []).append(interval(*numbers))
    pairs = product(first.runs[0].measures, first.weights)
    for at, (measure, weight) in enumerate(pairs):
        title = f"{about(measure)} Slices weighted: {weight}."
        for each, of_runs in zip(timelines, means, strict=True):
            head, alone = f"{measure}, {weight}", len(each.pairs.slices) == len(each.weights) == 1
            short = str(measure) if alone else head
            if len(timelines) > 1:
                short += f", {each.pairs.slices.kind}"
            columns.append(
                Column(
                    head,
                    partial(lambda by, at, of: by[of.run][at], of_runs, at),
                    "",
                    title,
                    short=short,
                )
            )
    caption = "Means over queries of the weighted means over slices"
    if first.units:
        caption += f", with {first.level:.0%} intervals {UNITS_DRAWN[first.units]}"
    teams = {scores.run: scores.team for scores in first.runs}
    return build_table(with_teams(columns, teams), first.runs, caption)


def _queries(number: int) -> Cell:
    return Cell(f"{number:,}", value=number, line=str(number))


def with_teams(columns: Sequence[Column], teams: Mapping[str, str]) -> Sequence[Column]:
    """Add a column of teams in front, if there are any."""
    if not any(teams.values()):
        return columns
    run = columns[0]
    return [Column("team", lambda of: teams[str(run.cell(of))], left=True), *columns]


def _heads(scores: StreamScores, weights: Sequence[str]) -> list[str]:
    """Return heads of measures and weightings; with a single slice, of measures only."""
    if len(scores.pairs.slices) == len(weights) == 1:
        return [str(measure) for measure in scores.measures]
    return [f"{measure}, {weight}" for measure in scores.measures for weight in weights]


def queries_table(scores: StreamScores, weights: Sequence[str]) -> Table:
    """Make a table of a run's scores, queries by measures and weightings."""
    columns = (scores.by_query(*pair) for pair in product(scores.measures, weights))
    return scores_by_query(scores.run, scores.pairs.query_ids, _heads(scores, weights), columns)


def kinds_table(timeline: Timeline) -> Table:
    """Make a table of scores by kind of query, with the number of queries of each kind."""
    counts = dict(timeline.by_kind.select("kind", "queries").unique().iter_rows())
    kinds = [kind for kind in KINDS if kind in counts]
    head = ["run", "measure", "weight", *(f"{kind} ({counts[kind]})" for kind in kinds)]
    rows: dict[tuple[str, ...], list[str]] = {}
    for run, measure, weight, _, _, value in timeline.by_kind.iter_rows():
        rows.setdefault((run, measure, weight), []).append(f"{value:.4f}")
    return text_table(head, [[*names, *values] for names, values in rows.items()], range(3))


def slices_table(pairs: TopicSlices, scores: Mapping[str, Floats], of: str = "") -> Table:
    """Make a table of slices with their queries, relevant documents, and scores by name."""
    slices = pairs.slices

    def start(at: int) -> Cell:
        label = slices.labels[at]
        return (
            Cell(label, "partial", line=f"{label} (partial)") if slices.partial[at] else Cell(label)
        )

    queries = np.bincount(pairs.slice, minlength=len(slices))
    relevant = np.bincount(pairs.slice, pairs.relevant, len(pairs.slices)).astype(np.int64)
    columns = [
        Column(
            "slice", start, "", "its start, UTC", left=True,
            short=f"{of}, slice", kind="number",
        ),
        Column("queries", lambda at: _queries(queries[at]), "", "with relevant documents in it"),
        Column("relevant", lambda at: _queries(relevant[at]), "", "documents"),
        *(Column(name, values.tolist().__getitem__, ".4f") for name, values in scores.items()),
    ]  # fmt: skip
    return build_table(columns, range(len(pairs.slices)))


def stream_comparison_notes(compared: Sequence[StreamComparison], alpha: float) -> list[str]:
    """Return notes on the paired tests and the columns of their table."""
    notes = comparison_notes(compared, alpha)
    if compared[0].units == "both":
        slices = count(
            compared[0].slices, "slice with relevant documents", "slices with relevant documents"
        )
        notes.append(
            f"intervals and tests resample both queries and slices: {slices}; d and w/t/l are "
            "over queries"
        )
    return notes


# --- trends ---------------------------------------------------------------------------------

_MOST_DIGITS = 6
_MOST_TIMES = 10
_ONE_WAY = {True: "gains", False: "loses"}


def trend_sentence(run: str, measure: str, trend: Trend, alpha: float) -> str:
    """Describe a trend: ``lsisRFAI loses 0.011 AP per week (95% interval −0.018 to −0.004), …``.

    With too few slices, the sentence is the same for all runs. If the test and the interval
    disagree on the trend, the sentence says so.
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
            f"{run} has a median change of 0 {measure} per {trend.unit} {interval}, but the other "
            f"changes go {way}, significant {_p_value(trend)}"
        )
    return f"{run} keeps its {measure} {interval}, no significant change {_p_value(trend)}"


def _p_value(trend: Trend) -> str:
    p = trend.test.p
    return f"(Mann-Kendall p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})"


def _verdict(trend: Trend, alpha: float) -> str:
    """Return the test's verdict, and the interval's if it differs."""
    low, high = (round(limit, _digits(trend)) for limit in (trend.low, trend.high))
    significant, one_sided = trend.significant(alpha), low > 0 or high < 0  # as they are written
    verdict = f"{'' if significant else 'not '}significant {_p_value(trend)}"
    if significant == one_sided:
        return verdict
    return f"{verdict}, though the interval {'has no 0 in it' if one_sided else 'has 0 in it'}"


def _digits(trend: Trend) -> int:
    """Return the number of decimals that shows two digits of the slope or the interval's width.

    More are used if a limit would otherwise round to 0.
    """
    scale = max(abs(trend.slope), (trend.high - trend.low) / 2)
    digits = min(max(2, 1 - math.floor(math.log10(scale))), _MOST_DIGITS) if scale else 2
    limits = [limit for limit in (trend.low, trend.high) if limit]
    while digits < _MOST_DIGITS and not all(round(limit, digits) for limit in limits):
        digits += 1
    return digits


def _limits(trend: Trend) -> str:
    """Format the interval of the slope, with minus signs as in the table."""
    digits = _digits(trend)
    return f"{_plain(trend.low, digits)} to {_plain(trend.high, digits)}"


def _plain(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _ends(trend: Trend) -> str:
    """Describe the start and end of the trend line, if they differ after rounding."""
    first, last = f"{trend.first:.3f}", f"{trend.last:.3f}"
    if first == last:
        return ""
    said = f"; along that line from {_plain(trend.first, 3)} to {_plain(trend.last, 3)}"
    if abs(trend.first) < 0.0005 or not 0.005 < abs(trend.drop) < _MOST_TIMES:
        return said  # a relative change would be meaningless
    return f"{said}, {'down' if trend.drop > 0 else 'up'} {abs(trend.drop):.0%}"


def trends_table(of: Timeline) -> Table:
    """Make a table with one row per trend."""
    unit = of.trends_found[0][2].unit

    def slope(each: tuple[str, str, Trend]) -> Cell:
        trend = each[2]
        mark = DAGGER if trend.significant(of.alpha) else " "
        return interval(trend.slope, trend.low, trend.high, "+.4f", mark)

    columns = [
        Column("run", lambda each: each[0], left=True),
        Column("measure", lambda each: each[1], left=True, kind="name"),
        Column(
            f"change per {unit}", slope,
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


def stability_sentences(runs: Sequence[StreamScores]) -> list[str]:
    """Describe, per measure, how stable the ranking of systems is across slices.

    Return nothing for fewer than three systems or for a single slice.
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
    """Describe how stable the ranking of systems is across slices."""
    if math.isnan(stable.with_overall):
        return f"{measure}: all systems score the same in every slice"
    following = f", with the next slice's at τ = {stable.with_next:.2f}"
    return (
        f"{measure}: the ranking of systems in a slice agrees with the overall one at τ = "
        f"{stable.with_overall:.2f}{'' if math.isnan(stable.with_next) else following} "
        f"(means over {count(stable.slices, 'slice')})"
    )


# --- snapshots ------------------------------------------------------------------------------


def overlap_table(scores: SnapshotScores) -> Table:
    """Make a table of the queries and documents of snapshots, and of what the first one shares."""
    names = scores.overlap.rename(lambda name: name.replace("_", " "))
    return frame_table(names, lambda cell: cell if isinstance(cell, str) else f"{cell:,}")


def snapshots_table(scores: SnapshotScores) -> Table:
    """Make a table with a row per run, measure and snapshot."""

    def cell(name: str, how: str, row: Mapping[str, Any]) -> Cell:
        limits = ("low", "high") if name == "value" else (f"{name}_low", f"{name}_high")
        value, low, high = (math.nan if row[key] is None else row[key] for key in (name, *limits))
        if name == "effect_ratio" and math.isnan(low):
            return Cell("–")  # it may be anything
        return interval(value, low, high, how)

    rows = scores.rows
    heads = [
        ("value", "score", ".4f"), ("change", "change", "+.4f"), ("drop", "relative drop", ".1%"),
        ("effect_ratio", "effect ratio", ".2f"), ("delta_ri", "ΔRI", "+.3f"),
    ]  # fmt: skip
    columns = [
        Column("run", "run", left=True),
        Column("measure", "measure", left=True),
        Column("snapshot", "snapshot", left=True),
        Column("queries", "queries", ","),
        *(Column(head, partial(cell, name, how)) for name, head, how in heads
          if any(row["effect_ratio_low" if name == "effect_ratio" else name] is not None
                 for row in rows)),
    ]  # fmt: skip
    return build_table(columns, rows)


def snapshot_sentences(scores: SnapshotScores) -> list[str]:
    """Say which system degrades from the first to the last snapshot, and what the pivot does."""
    sentences = []
    names, pivot = list(scores.evaluations), scores.options.pivot
    span = f"from {names[0]} to {names[-1]}"

    def with_limits(row: Mapping[str, Any], name: str, digits: int) -> str:
        value, low, high = (_plain(row[f"{name}{end}"], digits) for end in ("", "_low", "_high"))
        return f"{value} ({scores.options.resampling.level:.0%} interval {low} to {high})"

    for row in scores.rows:
        if row["snapshot"] != names[-1] or row["change"] is None:
            continue
        of, low, high = f"{row['run']}: {row['measure']}", row["change_low"], row["change_high"]
        if low is None:
            sentences.append(f"{of}: no interval of the change, because the queries are too few "
                             "or do not differ")  # fmt: skip
            continue
        change = with_limits(row, "change", 4)
        if low <= 0 <= high:
            sentences.append(f"{of} does not change significantly {span}: {change}")
        else:
            way = "degrades" if high < 0 else "improves"
            share = "" if row["drop"] is None else f", {abs(row['drop']):.0%} of its first score"
            sentences.append(f"{of} {way} {span}: {change}{share}")
        if row["delta_ri_low"] is None:
            continue
        way = "no significant change against"
        if row["delta_ri_low"] > 0 or row["delta_ri_high"] < 0:
            way = "loses ground to" if row["delta_ri"] > 0 else "gains on"
        sentences.append(f"{of}: {way} {pivot} {span}: ΔRI {with_limits(row, 'delta_ri', 3)}")
    if len(scores.runs) > 2:
        sentences += _ranking_sentences(scores, names)
    return sentences


def _ranking_sentences(scores: SnapshotScores, names: Sequence[str]) -> Iterator[str]:
    """Compare the ranking of the systems in each snapshot with the first."""
    columns = {name: str(at) for at, name in enumerate(names)}
    table = scores.table.with_columns(pl.col("snapshot").replace(columns))
    wide = table.pivot("snapshot", index=["measure", "run"], values="value")
    for (measure,), of in wide.group_by("measure", maintain_order=True):
        for name in names[1:]:
            both = of.drop_nulls(["0", columns[name]])
            tau = kendall_tau(both["0"], both[columns[name]]) if both.height > 2 else math.nan
            if not math.isnan(tau):
                yield (
                    f"{measure}: the ranking of {count(both.height, 'run')} in {name} agrees with "
                    f"{names[0]} at Kendall τ = {_plain(tau, 2)}"
                )


# --- official scores ------------------------------------------------------------------------


def _scores(**heads: str) -> list[Column]:
    """Make columns of scores, rounded to four decimals for display and sorting."""
    return [
        Column(head, partial(lambda name, row: round(row[name], 4), name), ".4f")
        for name, head in heads.items()
    ]


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
"""Official scores per entity."""


def official_table(
    scores: pl.DataFrame,
    teams: Mapping[str, str],
    columns: Sequence[Column] = OFFICIAL,
    caption: str = "",
) -> Table:
    """Make a table of official scores."""
    return build_table(with_teams(columns, teams), scores.iter_rows(named=True), caption)
