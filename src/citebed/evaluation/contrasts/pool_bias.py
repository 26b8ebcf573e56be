"""Pool bias: by how much a run falls when what it alone brought to the judges is left out.

A run that took part in the pooling had its top documents judged; a later one has not. Leaving
out, one after the other, what each run (or each team, whose runs resemble one another) alone
contributed shows what a newcomer of the same kind would lose.

Zobel (1998), How reliable are the results of large-scale information retrieval experiments?;
Buckley, Dimmick, Soboroff & Voorhees (2007), Bias and the limits of pooling for large
collections.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import without_intervals
from citebed.evaluation.contrasts.pool import (
    PoolBiasOptions,
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
from citebed.evaluation.scoring.comparison import compare
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.statistics import kendall_tau, tau_ap
from citebed.frames import FlatRow, Parts
from citebed.runs.ranking import Ranked, prepare, rank
from citebed.runs.reader import as_qrels, as_runs, check_names
from citebed.runs.tables import Flags, Floats, Qrels
from citebed.runs.trec_files import QRELS

MEASURES = ("AP", "P@10", "Bpref")


@dataclass(frozen=True)
class ScoreDrop(FlatRow):
    """A run's score with all judgements and without those that only its team contributed.

    ``unique`` and ``unique_relevant`` count the latter. Ranks are among all runs, the best
    being 1, all of them scored under the same judgements; runs of equal score share the better
    rank. ``share`` is the change as a share of the score before.
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
    """How alike the order of all runs is with and without a team's own judgements."""

    team: str
    measure: str
    kendall: float
    tau_ap: float


@dataclass(frozen=True)
class UnjudgedShare(FlatRow):
    """The share of unjudged documents among a run's first ``cutoff``, with and without."""

    team: str
    run: str
    cutoff: int
    looked_at: int
    before: float
    after: float


@dataclass(frozen=True, eq=False, repr=False)
class PoolBias(Parts):
    """What is known of the bias of a pool.

    ``unclaimed`` judgements are of documents that no run has within the depth. ``undecided``
    counts pairs of runs, over all measures, that do not differ significantly: no conclusion,
    so nothing to rest on unjudged documents.
    """

    PARTS = ("falls", "orders", "unjudged", "conclusions")
    SHOWN = "falls"

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
        """One of the ``PARTS`` as flat rows."""
        parts: Mapping[str, Sequence[FlatRow]] = {
            "falls": self.falls, "orders": self.orders,
            "unjudged": self.shares, "conclusions": self.bounds,
        }  # fmt: skip
        return [row.row() for row in parts[part]]


def pool_bias(
    qrels: Any,
    runs: Any,
    measures: Iterable[str | Measure] = MEASURES,
    options: PoolBiasOptions | None = None,
) -> PoolBias:
    """Leave one run, or one team, out of the pool after the other.

    ``qrels`` and ``runs`` are what `citebed.runs.reader` takes; all runs are held at once.
    """
    options = options or PoolBiasOptions()
    chosen = _checked(parse_measures(measures), options)
    judgements = as_qrels(qrels)
    known = Qrels(judgements.table.select(QRELS.columns), judgements.name, judgements.source)
    tables = list(as_runs(runs))
    check_names([run.name for run in tables])
    if len(tables) < 2:
        raise CitebedError("found one run; it takes two or more to leave one out.")
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


def _checked(measures: Sequence[Measure], options: PoolBiasOptions) -> tuple[Measure, ...]:
    if options.depth < 1:
        raise CitebedError(f"the depth is {options.depth}; expected a rank, 1 or more.")
    if not all(1 <= cutoff < 1 << 63 for cutoff in options.cutoffs):
        raise CitebedError("a cut-off is a rank, 1 or more.")
    counts = [str(measure) for measure in measures if measure.SUMMARY == "sum"]
    if counts:
        raise CitebedError(f"{', '.join(counts)}: counts are not compared; name AP, for example.")
    return tuple(measures)


class _Study:
    """All runs under all judgements, against which each team's absence is held."""

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
        """What each team alone contributed."""
        return unique_judgements(self._qrels, self._runs, self._teams, self._options.depth)

    def leave_out(
        self, unique: UniqueJudgements
    ) -> tuple[list[ScoreDrop], list[RankingAgreement], list[UnjudgedShare]]:
        """All that changes without what one team alone contributed."""
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
        """One row a run, one column a measure."""
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
    """Documents within the cut-off, and how many of them have no judgement."""
    looked_at = int(np.minimum(rankings.retrieved, cutoff).sum())
    known = int(((rankings.relevance >= 0) & (rankings.rank <= cutoff)).sum())
    return looked_at, looked_at - known
