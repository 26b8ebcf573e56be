"""Pool bias: the score that a run loses without the judgements that it alone contributed.

The top documents of a run in the pool were judged, but not those of a later run. Removing the
judgements that each run (or each team, whose runs are similar) alone contributed shows what a new
run of the same kind would lose.

Zobel (1998), How reliable are the results of large-scale information retrieval experiments?;
Buckley, Dimmick, Soboroff & Voorhees (2007), Bias and the limits of pooling for large
collections.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import without_intervals
from citebed.evaluation.contrasts.pool import (
    UniqueJudgements,
    WorstCase,
    assign_teams,
    count_unpooled,
    unique_judgements,
    worst_cases,
)
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.options import POOLED, PoolBiasOptions
from citebed.evaluation.scoring.comparison import compare
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.statistics import kendall_tau, tau_ap
from citebed.frames import FlatRow, MultiTableResult
from citebed.runs.ranking import Ranked, prepare, rank
from citebed.runs.reader import as_qrels, as_runs, check_names
from citebed.runs.tables import Flags, Floats, Qrels
from citebed.runs.trec_files import QRELS


@dataclass(frozen=True)
class ScoreDrop(FlatRow):
    """A run's score with all judgements, and without the ones that only its team contributed.

    ``unique`` and ``unique_relevant`` count the latter. Ranks (1 is best) are among all runs under
    the same judgements; runs with equal scores share the better rank. ``share`` is the change as a
    share of the score before.
    """

    team: str
    run: str
    measure: str
    unique: int
    unique_relevant: int
    before: float
    after: float
    change: float
    share: float
    before_rank: int
    after_rank: int


@dataclass(frozen=True)
class RankingAgreement(FlatRow):
    """Correlations of the order of all runs with and without a team's own judgements."""

    team: str
    measure: str
    kendall: float
    tau_ap: float


@dataclass(frozen=True)
class UnjudgedShare(FlatRow):
    """The share of unjudged documents up to ``cutoff``, with and without a team's judgements."""

    team: str
    run: str
    cutoff: int
    looked_at: int
    before: float
    after: float


@dataclass(frozen=True, eq=False, repr=False)
class PoolBias(MultiTableResult):
    """The bias of a pool.

    ``unclaimed`` counts judgements of documents that no run has within the depth. ``undecided``
    counts pairs of runs, over all measures, without a significant difference.
    """

    PARTS = ("falls", "orders", "unjudged", "conclusions")
    MAIN = "falls"

    qrels: str
    depth: int
    judged: int
    unclaimed: int
    falls: tuple[ScoreDrop, ...]
    orders: tuple[RankingAgreement, ...]
    shares: tuple[UnjudgedShare, ...]
    bounds: tuple[WorstCase, ...]
    undecided: int

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        parts: Mapping[str, Sequence[FlatRow]] = {
            "falls": self.falls, "orders": self.orders,
            "unjudged": self.shares, "conclusions": self.bounds,
        }  # fmt: skip
        return [row.row() for row in parts[part]]


def pool_bias(
    qrels: Any,
    runs: Any,
    measures: Iterable[str | Measure] = POOLED,
    options: PoolBiasOptions | None = None,
) -> PoolBias:
    """Leave each run, or each team, out of the pool in turn.

    ``qrels`` and ``runs`` are anything that `citebed.runs.reader` accepts. All runs are kept in
    memory.
    """
    options = options or PoolBiasOptions()
    chosen = _checked(parse_measures(measures))
    judgements = as_qrels(qrels)
    resampling = options.resampling.with_clusters(judgements.source)
    options = replace(options, resampling=resampling)
    known = Qrels(judgements.table.select(QRELS.columns), judgements.name, judgements.source)
    tables = list(as_runs(runs))
    check_names([run.name for run in tables])
    if len(tables) < 2:
        raise CitebedError("found one run, but pool bias needs two or more.")
    judged = prepare(known)
    (evaluation,) = evaluate_under([judged], tables, chosen, options.settings)
    ranked = {run.name: rank(run, options.settings.score_type) for run in tables}
    study = _Study(known, ranked, assign_teams(list(ranked), options.teams), chosen, options)
    left_out = [study.leave_out(unique) for unique in study.uniques()]
    compared = compare(
        evaluation, options.design, without_intervals(options.design, options.resampling)
    )
    return PoolBias(
        qrels=known.name,
        depth=options.depth,
        judged=int((judged.relevance >= 0).sum()),
        unclaimed=count_unpooled(known, ranked.values(), options.depth),
        falls=tuple(fall for falls, _, _ in left_out for fall in falls),
        orders=tuple(order for _, orders, _ in left_out for order in orders),
        shares=tuple(share for _, _, shares in left_out for share in shares),
        bounds=tuple(worst_cases(known, ranked, options, chosen, compared)),
        undecided=sum(not comparison.significant for comparison in compared),
    )


def _checked(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    counts = [str(measure) for measure in measures if measure.SUMMARY == "sum"]
    if counts:
        raise CitebedError(f"{', '.join(counts)}: counts are not compared; name AP, for example.")
    return tuple(measures)


class _Study:
    """All runs with all judgements, and what changes without each team."""

    def __init__(
        self,
        qrels: Qrels,
        runs: Mapping[str, Ranked],
        teams: Mapping[str, str],
        measures: tuple[Measure, ...],
        options: PoolBiasOptions,
    ) -> None:
        self._qrels, self._runs, self._teams = qrels, runs, teams
        self._measures, self._options = measures, options
        self._full = self._seen(qrels)
        self._scores = self._summaries(self._full)

    def uniques(self) -> list[UniqueJudgements]:
        """Return the judgements that each team alone contributed."""
        return unique_judgements(self._qrels, self._runs, self._teams, self._options.depth)

    def leave_out(
        self, unique: UniqueJudgements
    ) -> tuple[list[ScoreDrop], list[RankingAgreement], list[UnjudgedShare]]:
        """Score all runs without the judgements that one team alone contributed."""
        seen = self._seen(unique.rest)
        scores = self._summaries(seen)
        own = [at for at, name in enumerate(self._runs) if self._teams[name] == unique.team]
        falls = [
            self._fall(unique, scores, at, of) for of in range(len(self._measures)) for at in own
        ]
        orders = [
            RankingAgreement(
                unique.team, str(measure), kendall_tau(before, after), tau_ap(before, after)
            )
            for measure, before, after in zip(self._measures, self._scores.T, scores.T, strict=True)
        ]
        return falls, orders, [share for at in own for share in self._shares(unique, seen, at)]

    def _seen(self, qrels: Qrels) -> list[Rankings]:
        judged = prepare(qrels)
        return [match(judged, ranked) for ranked in self._runs.values()]

    def _summaries(self, seen: Sequence[Rankings]) -> Floats:
        """Return the runs' summaries, one row per run, one column per measure."""
        return np.array(
            [
                [measure.summary(measure.values(x)[self._counted(x)]) for measure in self._measures]
                for x in seen
            ]
        )

    def _counted(self, rankings: Rankings) -> Flags:
        return np.ones_like(rankings.in_run) if self._options.settings.complete else rankings.in_run

    def _fall(self, unique: UniqueJudgements, scores: Floats, at: int, of: int) -> ScoreDrop:
        before, after = float(self._scores[at, of]), float(scores[at, of])
        measure = self._measures[of]
        return ScoreDrop(
            team=unique.team,
            run=list(self._runs)[at],
            measure=str(measure),
            unique=unique.judged.height,
            unique_relevant=unique.relevant(max(1, measure.rel)),
            before=before,
            after=after,
            change=after - before,
            share=(after - before) / before if before else math.nan,
            before_rank=1 + int((self._scores[:, of] > before).sum()),
            after_rank=1 + int((scores[:, of] > after).sum()),
        )

    def _shares(
        self, unique: UniqueJudgements, seen: Sequence[Rankings], at: int
    ) -> Iterator[UnjudgedShare]:
        for cutoff in self._options.cutoffs:
            looked_at, before = _unjudged(self._full[at], cutoff)
            _, after = _unjudged(seen[at], cutoff)
            yield UnjudgedShare(
                unique.team, list(self._runs)[at], cutoff, looked_at,
                before / looked_at, after / looked_at,
            )  # fmt: skip


def _unjudged(rankings: Rankings, cutoff: int) -> tuple[int, int]:
    """Count the documents within the cut-off, and the unjudged ones among them."""
    looked_at = int(np.minimum(rankings.retrieved, cutoff).sum())
    known = int(((rankings.relevance >= 0) & (rankings.rank <= cutoff)).sum())
    return looked_at, looked_at - known
