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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import without_intervals
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.options import POOLED, PoolBiasOptions
from citebed.evaluation.scoring.comparison import Comparison, compare
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.statistics import adjust, kendall_tau, paired_test, tau_ap
from citebed.frames import FlatRow, MultiTableResult
from citebed.runs.query_files import read_groups
from citebed.runs.ranking import Ranked, SortedQrels, prepare, rank
from citebed.runs.reader import as_qrels, as_runs, check_names
from citebed.runs.tables import Floats, Qrels
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
    chosen = tuple(parse_measures(measures))
    if counts := [str(measure) for measure in chosen if measure.SUMMARY == "sum"]:
        raise CitebedError(f"{', '.join(counts)}: counts are not compared; name AP, for example.")
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
    teams = assign_teams(list(ranked), options.teams)
    study = _Study(judged, ranked, teams, chosen, options)
    left_out = [
        study.leave_out(unique) for unique in unique_judgements(known, ranked, teams, options.depth)
    ]
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


class _Study:
    """All runs with all judgements, and what changes without each team."""

    def __init__(
        self,
        qrels: SortedQrels,
        runs: Mapping[str, Ranked],
        teams: Mapping[str, str],
        measures: tuple[Measure, ...],
        options: PoolBiasOptions,
    ) -> None:
        self._runs, self._teams = runs, teams
        self._measures, self._options = measures, options
        self._full, self._scores = self._score(qrels)

    def leave_out(
        self, unique: UniqueJudgements
    ) -> tuple[list[ScoreDrop], list[RankingAgreement], list[UnjudgedShare]]:
        """Score all runs without the judgements that one team alone contributed."""
        seen, scores = self._score(prepare(unique.rest))
        team, names = unique.team, list(self._runs)
        own = [at for at, name in enumerate(names) if self._teams[name] == team]
        falls, orders, shares = [], [], []
        for measure, full, rest in zip(self._measures, self._scores.T, scores.T, strict=True):
            orders.append(
                RankingAgreement(team, str(measure), kendall_tau(full, rest), tau_ap(full, rest))
            )
            for at in own:
                before, after = float(full[at]), float(rest[at])
                falls.append(
                    ScoreDrop(
                        team=team,
                        run=names[at],
                        measure=str(measure),
                        unique=unique.judged.height,
                        unique_relevant=unique.relevant(max(1, measure.rel)),
                        before=before,
                        after=after,
                        change=after - before,
                        share=(after - before) / before if before else math.nan,
                        before_rank=1 + int((full > before).sum()),
                        after_rank=1 + int((rest > after).sum()),
                    )
                )
        for at in own:
            for cutoff in self._options.cutoffs:
                looked_at = int(np.minimum(self._full[at].retrieved, cutoff).sum())
                known = [
                    int(((of.relevance >= 0) & (of.rank <= cutoff)).sum())
                    for of in (self._full[at], seen[at])
                ]
                before, after = ((looked_at - number) / looked_at for number in known)
                shares.append(UnjudgedShare(team, names[at], cutoff, looked_at, before, after))
        return falls, orders, shares

    def _score(self, qrels: SortedQrels) -> tuple[list[Rankings], Floats]:
        """Return the runs' rankings and summaries, one row per run, one column per measure."""
        seen = [match(qrels, ranked) for ranked in self._runs.values()]
        rows = []
        for of in seen:
            counted = np.ones_like(of.in_run) if self._options.settings.complete else of.in_run
            rows.append([each.summary(each.values(of)[counted]) for each in self._measures])
        return seen, np.array(rows)


# --- the judging pool: what each team contributed -------------------------------------------

Verdict = Literal["stands", "cannot be told", "may turn round"]
VERDICTS: tuple[Verdict, ...] = ("stands", "cannot be told", "may turn round")
_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True, eq=False)
class UniqueJudgements:
    """The judgements that one team alone contributed, and all others."""

    team: str
    judged: pl.DataFrame
    rest: Qrels

    def relevant(self, rel: int = 1) -> int:
        """Count the relevant documents among the team's own judgements."""
        return self.judged.filter(pl.col("relevance") >= rel).height


def assign_teams(
    names: Sequence[str], teams: Mapping[str, str] | str | Path | None
) -> dict[str, str]:
    """Return the team of each run, by a mapping or a file; without one, each run is a team."""
    if teams is None:
        return {name: name for name in names}
    if not isinstance(teams, Mapping):
        teams = read_groups(Path(teams), "run", "team")
    missing = [name for name in names if name not in teams]
    if missing:
        raise CitebedError(
            f"the run '{missing[0]}' has no team. Every run needs a line 'run team'; "
            f"found teams for {', '.join(sorted(teams)) or 'none'}."
        )
    return {name: teams[name] for name in names}


def top_documents(ranked: Ranked, depth: int) -> pl.DataFrame:
    """Return the first ``depth`` documents of every query: ``query_id, doc_id``."""
    place = np.arange(len(ranked.doc_ids)) - np.repeat(ranked.starts[:-1], ranked.lengths)
    rows = np.flatnonzero(place < depth)
    group = np.repeat(np.arange(len(ranked.query_ids)), ranked.lengths)[rows]
    return pl.DataFrame(
        {"query_id": ranked.query_ids.gather(group), "doc_id": ranked.doc_ids.gather(rows)}
    )


def unique_judgements(
    qrels: Qrels, runs: Mapping[str, Ranked], teams: Mapping[str, str], depth: int
) -> list[UniqueJudgements]:
    """Return, for each team, the judgements of documents that it alone retrieved within ``depth``.

    Judged documents that no run retrieved within ``depth`` belong to no team. Teams are in the
    order of their first run.
    """
    pool = pl.concat(
        [
            top_documents(ranked, depth).with_columns(pl.lit(teams[name]).alias("team"))
            for name, ranked in runs.items()
        ]
    ).unique()
    alone = pool.group_by(_PAIR).agg(pl.col("team").first(), pl.len()).filter(pl.col("len") == 1)
    known = qrels.table.filter(pl.col("relevance") >= 0)
    own = known.join(alone.select(*_PAIR, "team"), on=_PAIR)
    return [
        UniqueJudgements(team, judged, remove_judgements(qrels, judged))
        for team in dict.fromkeys(teams[name] for name in runs)
        for judged in [own.filter(pl.col("team") == team).sort(_PAIR)]
    ]


def count_unpooled(qrels: Qrels, runs: Iterable[Ranked], depth: int) -> int:
    """Count the judgements of documents that no run has within ``depth``."""
    pool = pl.concat([top_documents(ranked, depth) for ranked in runs]).unique()
    known = qrels.table.filter(pl.col("relevance") >= 0)
    return known.join(pool, on=_PAIR, how="anti").height


def remove_judgements(qrels: Qrels, judged: pl.DataFrame) -> Qrels:
    """Remove judgements, but keep every query, so that means are over the same queries.

    A query that loses all judgements keeps one document as pooled but not judged (grade -1).
    """
    rest = qrels.table.join(judged.select(_PAIR), on=_PAIR, how="anti", maintain_order="left")
    bare = judged.join(rest, on="query_id", how="anti").unique("query_id", keep="first")
    pooled = bare.select(*_PAIR, pl.lit(-1).cast(qrels.table["relevance"].dtype).alias("relevance"))
    return Qrels(pl.concat([rest.select(qrels.table.columns), pooled]), qrels.name)


# --- worst cases of unjudged documents ------------------------------------------------------


@dataclass(frozen=True)
class WorstCase(FlatRow):
    """A significant difference between two runs, as judged and in its worst case.

    ``cutoff`` is the measure's, or else the pool depth; ``winner_unjudged`` and ``loser_unjudged``
    count unjudged documents within it. ``difference`` is the winner's lead as judged. ``worst`` is
    its lead if all its unjudged documents were not relevant, and all that only the loser has were
    relevant with the highest grade. ``p`` and ``worst_p`` are corrected. Both runs are scored under
    the same hypothetical judgements, so that a lost lead is one that assessors could have caused.
    """

    measure: str
    winner: str
    loser: str
    cutoff: int
    winner_unjudged: int
    loser_unjudged: int
    difference: float
    p: float
    worst: float
    worst_p: float
    verdict: Verdict

    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        lead = f"{self.winner} beats {self.loser} in {self.measure}"
        if not self.winner_unjudged and not self.loser_unjudged:
            return f"{lead}; every document that counts was judged."
        if self.verdict == "stands":
            return (
                f"{lead}, even if all unjudged documents of {self.loser} were relevant and none "
                f"of {self.winner}'s."
            )
        then = (
            "the difference would not be significant"
            if self.verdict == "cannot be told"
            else f"{self.loser} would be significantly better"
        )
        return (
            f"{lead} as judged; were the unjudged documents that only {self.loser} has relevant, "
            f"{then}."
        )


def worst_cases(
    qrels: Qrels,
    runs: Mapping[str, Ranked],
    options: PoolBiasOptions,
    measures: Sequence[Measure],
    compared: Sequence[Comparison],
) -> list[WorstCase]:
    """Return the worst case of each significant comparison."""
    if options.design.correction == "tukey":
        raise CitebedError(
            "Tukey's test has no p-value for a single pair, which worst cases need. Correct "
            "with holm."
        )
    named = {str(measure): measure for measure in measures}
    rows = []
    for comparison in filter(lambda of: of.significant, compared):
        measure = named[comparison.measure]
        winner, loser = comparison.run, comparison.base
        if comparison.difference <= 0:
            winner, loser = loser, winner
        both = runs[winner], runs[loser]
        cutoff = measure.cutoff if isinstance(measure.cutoff, int) else options.depth
        unjudged = [_unjudged(qrels, ranked, cutoff) for ranked in both]
        worst, worst_p = _tested(options, measure, worst_case_qrels(qrels, *unjudged), both)
        if not math.isnan(worst_p):  # corrected with the unchanged p-values of the other pairs
            of_measure = [of for of in compared if of.measure == comparison.measure]
            others = [of.p for of in of_measure if of is not comparison and not math.isnan(of.p)]
            worst_p = float(adjust([worst_p, *others], options.design.correction)[0])
        verdict: Verdict = "cannot be told"
        if worst_p < options.design.alpha:
            verdict = "stands" if worst > 0 else "may turn round"
        rows.append(
            WorstCase(
                measure=str(measure),
                winner=winner,
                loser=loser,
                cutoff=cutoff,
                winner_unjudged=unjudged[0].height,
                loser_unjudged=unjudged[1].height,
                difference=abs(comparison.value - comparison.base_value),
                p=comparison.p_adjusted,
                worst=worst,
                worst_p=worst_p,
                verdict=verdict,
            )
        )
    return rows


def _unjudged(qrels: Qrels, ranked: Ranked, cutoff: int) -> pl.DataFrame:
    """Return the unjudged documents of judged queries within the cut-off."""
    known = qrels.table.filter(pl.col("relevance") >= 0)
    seen = top_documents(ranked, cutoff).join(
        qrels.table.select("query_id").unique(), on="query_id"
    )
    return seen.join(known, on=_PAIR, how="anti")


def worst_case_qrels(qrels: Qrels, winners: pl.DataFrame, losers: pl.DataFrame) -> Qrels:
    """Add hypothetical judgements, as bad as possible for the winner.

    The winner's unjudged documents become not relevant. Those that only the loser has become
    relevant, with the highest grade of the judgements (at least 1).
    """
    grade = max(1, int(qrels.table.select(pl.col("relevance").max()).item() or 0))
    kind = qrels.table["relevance"].dtype
    added = [
        winners.with_columns(pl.lit(0).cast(kind).alias("relevance")),
        losers.join(winners, on=_PAIR, how="anti").with_columns(
            pl.lit(grade).cast(kind).alias("relevance")
        ),
    ]
    columns = qrels.table.columns
    extended = pl.concat([part.select(columns) for part in added])
    # These replace entries for documents that were pooled but not judged (-1).
    rest = qrels.table.join(extended, on=_PAIR, how="anti", maintain_order="left")
    return Qrels(pl.concat([rest, extended]), qrels.name)


def _tested(
    options: PoolBiasOptions, measure: Measure, qrels: Qrels, both: tuple[Ranked, Ranked]
) -> tuple[float, float]:
    """Return the winner's lead under these judgements and its uncorrected p-value."""
    judged = prepare(qrels)
    seen = [match(judged, ranked) for ranked in both]
    counted = seen[0].in_run & seen[1].in_run
    if options.settings.complete:
        counted = np.ones_like(counted)
    values = [measure.values(rankings)[counted] for rankings in seen]
    differences = measure.scaled(values[0]) - measure.scaled(values[1])
    ids = judged.query_ids.filter(pl.Series(counted)).to_list()
    tested = paired_test(
        options.design.test,
        differences,
        clusters=options.resampling.labels(ids),
        samples=options.resampling.samples or 10_000,
        seed=options.resampling.seed,
    )
    return measure.summary(values[0]) - measure.summary(values[1]), tested.p_value
