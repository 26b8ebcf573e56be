"""Runs over a stream scored slice by slice: the one call that the command and notebooks share."""

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
from citebed.evaluation.scoring.evaluation import check_queries
from citebed.evaluation.scoring.run_scores import Resampling
from citebed.frames import Shown
from citebed.runs.assessors import OFFICIAL
from citebed.runs.times import parse_time
from citebed.timeline.scoring.slice_measures import DEFAULT_MEASURES, slice_measures
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
from citebed.timeline.streams.timed_qrels import QrelsOptions, judged_table, timed_qrels
from citebed.timeline.streams.times import times_of
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.evaluation.scoring.comparison import Comparisons
    from citebed.timeline.scoring.comparison import StreamComparison
    from citebed.timeline.scoring.trends import Trend


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Shown):
    """Runs with their scores in every slice, under each of ``weights``, and their trends.

    Intervals are at ``level``, from so many ``samples`` drawn with ``seed`` (10,000 unless given,
    of trends 1,000), over ``units``: queries, both queries and slices, or none of scores. A
    p-value below ``alpha`` is significant. ``focus`` is the query to be looked at, if one is.
    ``graded`` says whether grades count; ``teams`` how the runs were chosen, if they were.
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
        """A row a run, measure and weighting: the mean over queries, from ``low`` to ``high``."""
        return self.intervals(self.units)

    def intervals(self, units: str | None = "both") -> pl.DataFrame:
        """The same with intervals over other units: ``queries``, ``both`` or none."""
        how = (units, self._resampling) if units else ()
        return _stacked(scores.systems(self.weights, *how) for scores in self.runs)

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

        ``test`` and ``correction`` are those of `Design`; over the timeline's own ``units``
        unless others are given.
        """
        from citebed.evaluation.scoring.comparison import Design
        from citebed.timeline.scoring.comparison import compare_streams

        design = Design(baseline=baseline, test=test, correction=correction, alpha=self.alpha)
        over = units or self.units or "queries"
        return compare_streams(self.runs, self.weights, design, over, self._resampling)

    def rows(self, *, per_query: bool = False, per_slice: bool = False) -> list[dict[str, Any]]:
        """Flat rows, as ``--json`` prints them; queries and slices if asked for."""
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
        """The same for every query."""
        return _stacked(scores.queries(self.weights) for scores in self.runs)

    @cached_property
    def slices(self) -> pl.DataFrame:
        """A row a run, measure and slice with relevant documents: the mean over its queries."""
        return _stacked(scores.slices() for scores in self.runs)

    @cached_property
    def slice_queries(self) -> pl.DataFrame:
        """A row a run, measure, query and slice: every score there is."""
        return _stacked(scores.slice_queries() for scores in self.runs)

    @cached_property
    def kinds(self) -> pl.DataFrame:
        """A row a query: atemporal, unambiguous or ambiguous in time (`query_kinds`)."""
        from citebed.timeline.scoring.kinds import query_kinds

        return query_kinds(self.pairs)

    @cached_property
    def by_kind(self) -> pl.DataFrame:
        """A row a run, measure, weighting and kind of query: the mean over such queries."""
        from citebed.timeline.scoring.kinds import scores_by_kind

        return scores_by_kind(self.runs, self.weights, self.kinds)

    @cached_property
    def trends_found(self) -> list[tuple[str, str, Trend]]:
        """The trend of each run under each measure, with their names."""
        series = [(scores, measure) for scores in self.runs for measure in scores.measures]
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            return list(pool.map(self._trend, *zip(*series, strict=True)))

    def _trend(self, scores: StreamScores, measure: Measure) -> tuple[str, str, Trend]:
        from citebed.timeline.scoring.trends import trend

        middles, values = scores.pairs.slices.middles, scores.by_slice(measure)
        how: dict[str, Any] = {
            "level": self.level,
            "samples": self.samples or 1000,
            "seed": self.seed,
        }
        return scores.run, str(measure), trend(middles, values, **how)

    @cached_property
    def trends(self) -> pl.DataFrame:
        """A row a run and measure: does it degrade?"""
        rows = [of.row(run, measure, self.alpha) for run, measure, of in self.trends_found]
        return pl.DataFrame(rows, infer_schema_length=None)

    def notes(self) -> list[str]:
        """What a reader has to know of the judgements and slices, in sentences."""
        return [
            *(self.teams.notes() if self.teams else []),
            *relevance_notes(self.pairs.qrels, self.runs[0].measures, self.graded),
            *self.pairs.slices.notes(),
            *judged_notes(self.pairs),
        ]

    def run_notes(self) -> list[str]:
        """What a reader has to know of the runs, each note with their names in front."""
        return run_notes(self.runs)

    def shown(self) -> pl.DataFrame:
        """Runs down, measures and weightings across, each mean with its interval."""
        text = "{:.4f}".format
        means = [
            text(mean) if low is None else f"{text(mean)} [{text(low)}, {text(high)}]"
            for mean, low, high in self.table.select("value", "low", "high").iter_rows()
        ]
        named = self.table.with_columns(
            pl.format("{}, {}", "measure", "weight").alias("of"), pl.Series("mean", means)
        )
        names = [name for name in ("team", "run") if name in named.columns]
        return named.pivot("of", index=names, values="mean")


def _stacked(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """All rows; those of runs that name no team have none where others do."""
    return pl.concat(tables, how="diagonal")


def timeline(  # noqa: PLR0913 (a notebook completes and checks them by name)
    judgements: Any,
    runs: Any,
    *,
    slices: str | None = None,
    weight: str | Sequence[str] = "uniform",
    measures: str | Measure | Sequence[str | Measure] = DEFAULT_MEASURES,
    start: str | None = None,
    end: str | None = None,
    times: Any = None,
    utc: bool = False,
    assessors: str = OFFICIAL,
    rel: int = 1,
    graded: bool | None = None,
    threshold: float | None = None,
    teams: bool | str | Path | Mapping[str, str] = False,
    seed: int = 0,
    level: float = 0.95,
    samples: int | None = None,
    alpha: float = 0.05,
    units: str | None = "queries",
    focus: str | None = None,
) -> Timeline:
    """Score runs over a stream slice by slice: how good are they, and do they stay good?

    Judgements and runs are files (TREC's, KBA's, Parquet), tables, or what ``evaluate`` takes;
    ``runs`` is one run, a list, or a dict by name. ``slices`` is a length such as ``7d`` or another
    slicing (`parse_slicing`) from ``start`` to ``end``; by default citebed chooses a length that
    fits. ``weight`` is uniform, burst or recency:30d, or several of them. Document ids start with
    an epoch second; otherwise pass ``times``: a file, a table of ``doc_id`` and ``time``, or an
    open collection. Documents with grade ``rel`` or higher are relevant. Only measures with gains
    distinguish higher grades; with ``graded=True`` all measures do, with ``False`` none.
    ``teams`` keeps the best run of each team, by the first measure over the whole stream, and
    drops teams whose best run scores 0. Teams are named in KBA runs, or pass a mapping or file
    from run to team; ``slices`` is then ``all`` by default. Intervals and tests resample
    ``units``: ``queries``, ``both`` queries and slices, or None. ``focus`` is a query to show in
    figures. The other parameters are those of ``citebed timeline``.
    """
    known = times_of(times, utc=utc)
    with opened_runs(runs) as opened:
        qrels = timed_qrels(*judged_table(judgements), known, QrelsOptions(assessors, rel))
        ends = (None if text is None else parse_time(text, utc=True) for text in (start, end))
        over = qrels.range(*ends)
        usual = "all" if teams else usual_slicing(over)
        pairs = topic_slices(qrels, parse_slicing(slices or usual, over, seed=seed, utc=utc))
        # What is wrong is better known before a long run is read.
        weights = tuple(dict.fromkeys([weight] if isinstance(weight, str) else weight))
        for each in weights:
            weights_of(each, pairs)
        if focus is not None:
            pairs.query_number(focus)
        if units is not None:
            check_units(units)
        chosen = slice_measures(measures)

        def score(run: RunSource, pairs: TopicSlices, under: Sequence[Measure]) -> StreamScores:
            return score_stream(run.long or run.read(), pairs, under, known, threshold, graded)

        if not teams:
            scored = tuple(score(run, pairs, chosen) for run in opened)
            best = None
        else:
            batch = topic_slices(qrels, parse_slicing("all", over))
            of_run, best = _best_of_teams(opened, teams, lambda run: score(run, batch, chosen[:1]))
            sources = {run.name: run for run in opened}
            scored = tuple(
                replace(score(sources[run], pairs, chosen), team=team)
                for run, team in of_run.items()
            )
    return Timeline(scored, weights, level, samples, seed, alpha, focus, graded, best, units)


# --- the best run of each team, as in the tables of Dietz, Dalton & Balog (2013) ---------------


class TeamSelection(NamedTuple):
    """How runs were chosen: the best of each team ``by`` a measure, of so many ``runs``.

    Teams whose best run is at are in ``teams_at_zero`` left out.
    """

    by: str
    runs: int
    teams: int
    teams_at_zero: tuple[str, ...]

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        best = (
            f"the best run of each team by {self.by} as one batch, best first: "
            f"{count(self.teams, 'team')} of {count(self.runs, 'run')}"
        )
        if not self.teams_at_zero:
            return [best]
        return [
            best,
            f"{count(len(self.teams_at_zero), 'team')} at zero left out: "
            f"{', '.join(self.teams_at_zero)}",
        ]


def _best_of_teams(
    runs: Sequence[RunSource],
    teams: bool | str | Path | Mapping[str, str],
    score: Callable[[RunSource], StreamScores],
) -> tuple[dict[str, str], TeamSelection]:
    """Each team's best run with its team, best first, and how it was chosen; of equal ones the
    first given.

    ``score`` scores a run as one batch, under the measure that decides. Teams are as runs say
    themselves, or by name from a mapping or a file.
    """
    of_run: dict[str, str] = {}
    if not isinstance(teams, bool):
        from citebed.evaluation.contrasts.pool import assign_teams, read_teams

        known = teams if isinstance(teams, Mapping) else read_teams(teams)
        of_run = assign_teams([run.name for run in runs], known)
    batch = [score(run) for run in runs]
    for scores in batch:
        of_run.setdefault(scores.run, scores.team)
        if not of_run[scores.run]:
            raise CitebedError(
                f"the run '{scores.run}' does not say whose it is; KBA's filter runs do, in their "
                "first field. Give lines 'run team' in a file (--teams-file)."
            )
    measure = batch[0].measures[0]
    means = {scores.run: scores.mean(measure, "uniform") for scores in batch}
    best: dict[str, str] = {}
    for run in sorted(means, key=lambda run: -means[run]):
        best.setdefault(of_run[run], run)
    zero = tuple(team for team, run in best.items() if not means[run])
    chosen = {run: team for team, run in best.items() if team not in zero}
    if not chosen:
        raise CitebedError(f"the best run of every team scores 0 {measure}: nothing is left.")
    return chosen, TeamSelection(str(measure), len(runs), len(best), zero)
