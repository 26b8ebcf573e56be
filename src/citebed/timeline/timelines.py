"""Score runs over a stream slice by slice, for the command and for notebooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import Design, Resampling
from citebed.evaluation.scoring.evaluation import check_queries
from citebed.frames import TableResult
from citebed.options import takes_options
from citebed.runs.times import parse_time
from citebed.timeline.options import TimelineOptions
from citebed.timeline.scoring.slice_measures import slice_measures
from citebed.timeline.scoring.stream_scores import (
    StreamScores,
    check_units,
    judged_notes,
    relevance_notes,
    run_notes,
    score_stream,
)
from citebed.timeline.scoring.topic_slices import TopicSlices, topic_slices, weights_of
from citebed.timeline.slices import parse_slicing, usual_slicing
from citebed.timeline.streams.run_sources import RunSource, opened_runs
from citebed.timeline.streams.timed_qrels import judged_table, timed_qrels, times_of
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.evaluation.scoring.comparison import Comparisons
    from citebed.timeline.scoring.comparison import StreamComparison
    from citebed.timeline.scoring.trends import Trend


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(TableResult):
    """Runs with their scores in every slice, under each of ``weights``, and their trends.

    Intervals are at ``level``, from ``samples`` resamples (by default 10,000; 1,000 for trends)
    with ``seed``. Scores are resampled over ``units``: queries, both queries and slices, or not at
    all. A p-value below ``alpha`` is significant. ``focus`` is a query to show in figures.
    ``graded`` says whether grades count. ``teams`` describes the selection of runs by team.
    """

    runs: tuple[StreamScores, ...]
    weights: tuple[str, ...]
    level: float = 0.95
    samples: int | None = None
    seed: int = 0
    alpha: float = 0.05
    focus: str | None = None
    graded: bool | None = None
    teams: TeamSelection | None = None
    units: str | None = "queries"

    @property
    def pairs(self) -> TopicSlices:
        """The pairs of query and slice that are scored."""
        return self.runs[0].pairs

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per run, measure and weighting: the mean over queries with its interval."""
        return self.intervals(self.units)

    def intervals(self, units: str | None = "both") -> pl.DataFrame:
        """Return `table` with intervals over other units: ``queries``, ``both`` or ``None``."""
        arguments = (units, self._resampling) if units else ()
        return _stacked(scores.systems(self.weights, *arguments) for scores in self.runs)

    @property
    def _resampling(self) -> Resampling:
        return Resampling(samples=self.samples, seed=self.seed, level=self.level)

    def compare(
        self,
        baseline: str | None = None,
        *,
        test: str = "t",
        correction: str = "none",
        units: str | None = None,
    ) -> Comparisons[StreamComparison]:
        """Compare the runs with a baseline, or all pairs, by paired tests under each weighting.

        ``test`` and ``correction`` are fields of `Design`. ``units`` defaults to the timeline's.
        """
        from citebed.timeline.scoring.comparison import compare_streams

        design = Design(baseline=baseline, test=test, correction=correction, alpha=self.alpha)
        resampled = units or self.units or "queries"
        return compare_streams(self.runs, self.weights, design, resampled, self._resampling)

    def rows(self, *, per_query: bool = False, per_slice: bool = False) -> list[dict[str, Any]]:
        """Return flat rows as ``--json`` prints them, optionally per query and per slice."""
        rows: list[dict[str, Any]] = []
        for scores in self.runs:
            if per_query and per_slice:
                rows += scores.slice_queries().to_dicts()
            if per_query:
                rows += check_queries(scores.queries(self.weights).to_dicts())
            if per_slice:
                rows += scores.slices().to_dicts()
            rows += self.table.filter(run=scores.run).to_dicts()
        return rows

    @cached_property
    def queries(self) -> pl.DataFrame:
        """One row per run, measure, weighting and query."""
        return _stacked(scores.queries(self.weights) for scores in self.runs)

    @cached_property
    def slices(self) -> pl.DataFrame:
        """One row per run, measure and slice with relevant documents: the mean over queries."""
        return _stacked(scores.slices() for scores in self.runs)

    @cached_property
    def slice_queries(self) -> pl.DataFrame:
        """One row per run, measure, query and slice."""
        return _stacked(scores.slice_queries() for scores in self.runs)

    @cached_property
    def kinds(self) -> pl.DataFrame:
        """One row per query with its kind, by its number of bursts (`query_kinds`)."""
        from citebed.timeline.scoring.comparison import query_kinds

        return query_kinds(self.pairs)

    @cached_property
    def by_kind(self) -> pl.DataFrame:
        """One row per run, measure, weighting and kind of query: the mean over such queries."""
        from citebed.timeline.scoring.comparison import scores_by_kind

        return scores_by_kind(self.runs, self.weights, self.kinds)

    @cached_property
    def trends_found(self) -> list[tuple[str, str, Trend]]:
        """The name, measure and trend of each run under each measure."""
        series = [(scores, measure) for scores in self.runs for measure in scores.measures]
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            return list(pool.map(self._trend, *zip(*series, strict=True)))

    def _trend(self, scores: StreamScores, measure: Measure) -> tuple[str, str, Trend]:
        from citebed.timeline.scoring.trends import trend

        middles, values = scores.pairs.slices.middles, scores.by_slice(measure)
        samples = self.samples or 1000
        found = trend(middles, values, level=self.level, samples=samples, seed=self.seed)
        return scores.run, str(measure), found

    @cached_property
    def trends(self) -> pl.DataFrame:
        """One row per run and measure, with the trend of its slice scores."""
        rows = [trend.row(run, measure, self.alpha) for run, measure, trend in self.trends_found]
        return pl.DataFrame(rows, infer_schema_length=None)

    def notes(self) -> list[str]:
        """Return notes about teams, relevance, slices and judgements."""
        return [
            *(self.teams.notes() if self.teams else []),
            *relevance_notes(self.pairs.qrels, self.runs[0].measures, self.graded),
            *self.pairs.slices.notes(),
            *judged_notes(self.pairs),
        ]

    def run_notes(self) -> list[str]:
        """Return notes about the runs, each with the run's name in front."""
        return run_notes(self.runs)

    def main_table(self) -> pl.DataFrame:
        """Return a table with a row per run and a column per measure and weighting."""
        text = "{:.4f}".format
        means = [
            text(mean) if low is None else f"{text(mean)} [{text(low)}, {text(high)}]"
            for mean, low, high in self.table.select("value", "low", "high").iter_rows()
        ]
        named = self.table.with_columns(
            pl.format("{}, {}", "measure", "weight").alias("column"), pl.Series("mean", means)
        )
        names = [name for name in ("team", "run") if name in named.columns]
        return named.pivot("column", index=names, values="mean")


def _stacked(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate tables; runs without a team have null in the column ``team``."""
    return pl.concat(tables, how="diagonal")


@takes_options(TimelineOptions)
def timeline(
    judgements: Any, runs: Any, *, options: TimelineOptions | None = None, **changes: Any
) -> Timeline:
    """Score runs over a stream slice by slice: how good are they, and do they stay good?

    Judgements and runs are files (TREC's, KBA's, Parquet), tables, or what ``evaluate`` takes;
    ``runs`` is one run, a list, or a dict by name. Options are given as `TimelineOptions`, or one
    by one by their names.
    """
    options = replace(options or TimelineOptions(), **changes)
    utc = options.utc
    times = times_of(options.times, utc=utc)
    with opened_runs(runs) as opened:
        qrels = timed_qrels(*judged_table(judgements), times, options.assessors, options.rel)
        texts = (options.start, options.end)
        ends = (None if text is None else parse_time(text, utc=True) for text in texts)
        time_range = qrels.range(*ends)
        usual = "all" if options.teams else usual_slicing(time_range)
        slices = parse_slicing(options.slices or usual, time_range, seed=options.seed, utc=utc)
        pairs = topic_slices(qrels, slices)
        # Check all arguments before a long run is read.
        weight = options.weight
        weights = tuple(dict.fromkeys([weight] if isinstance(weight, str) else weight))
        for each in weights:
            weights_of(each, pairs)
        if options.focus is not None:
            pairs.query_number(options.focus)
        if options.units is not None:
            check_units(options.units)
        chosen = slice_measures(options.measures)

        def score(run: RunSource, pairs: TopicSlices, measures: Sequence[Measure]) -> StreamScores:
            read = run.long or run.read()
            return score_stream(read, pairs, measures, times, options.threshold, options.graded)

        if not options.teams:
            scored = tuple(score(run, pairs, chosen) for run in opened)
            selection = None
        else:
            whole_stream = topic_slices(qrels, parse_slicing("all", time_range))
            team_of_run, selection = _best_of_teams(
                opened, options.teams, lambda run: score(run, whole_stream, chosen[:1])
            )
            sources = {run.name: run for run in opened}
            scored = tuple(
                replace(score(sources[run], pairs, chosen), team=team)
                for run, team in team_of_run.items()
            )
    return Timeline(
        scored, weights, options.level, options.samples, options.seed, options.alpha, options.focus,
        options.graded, selection, options.units,
    )  # fmt: skip


# --- the best run of each team, as in the tables of Dietz, Dalton & Balog (2013) ---------------


class TeamSelection(NamedTuple):
    """How runs were selected: the best run of each team, ``by`` a measure.

    ``runs`` and ``teams`` count all of them. Teams in ``teams_at_zero`` were left out, because
    their best run scores 0.
    """

    by: str
    runs: int
    teams: int
    teams_at_zero: tuple[str, ...]

    def notes(self) -> list[str]:
        """Describe the selection in sentences."""
        best = (
            f"the best run of each team by {self.by} over the whole stream, best first "
            f"({count(self.runs, 'run')}, {count(self.teams, 'team')})"
        )
        if not self.teams_at_zero:
            return [best]
        return [
            best,
            f"left out {count(len(self.teams_at_zero), 'team')} whose best run scores 0: "
            f"{', '.join(self.teams_at_zero)}",
        ]


def _best_of_teams(
    runs: Sequence[RunSource],
    teams: bool | str | Path | Mapping[str, str],
    score: Callable[[RunSource], StreamScores],
) -> tuple[dict[str, str], TeamSelection]:
    """Select each team's best run; return a dict from run to team, best first, and a summary.

    Of equally good runs the first one is taken. ``score`` scores a run over the whole stream under
    the deciding measure. Teams are named in the runs, or in a mapping or a file.
    """
    team_of_run: dict[str, str] = {}
    if not isinstance(teams, bool):
        from citebed.evaluation.contrasts.pool_bias import assign_teams

        team_of_run = assign_teams([run.name for run in runs], teams)
    scores_of_runs = [score(run) for run in runs]
    for scores in scores_of_runs:
        team_of_run.setdefault(scores.run, scores.team)
        if not team_of_run[scores.run]:
            raise CitebedError(
                f"the run '{scores.run}' does not name its team; KBA filter runs do, in their "
                "first field. List the teams in a file with lines 'run team' (--teams-file)."
            )
    measure = scores_of_runs[0].measures[0]
    means = {scores.run: scores.mean(measure, "uniform") for scores in scores_of_runs}
    best_run_of: dict[str, str] = {}
    for run in sorted(means, key=lambda run: -means[run]):
        best_run_of.setdefault(team_of_run[run], run)
    at_zero = tuple(team for team, run in best_run_of.items() if not means[run])
    chosen = {run: team for team, run in best_run_of.items() if team not in at_zero}
    if not chosen:
        raise CitebedError(f"the best run of every team scores 0 {measure}: nothing is left.")
    return chosen, TeamSelection(str(measure), len(runs), len(best_run_of), at_zero)
