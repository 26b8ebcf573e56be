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
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import to_table, without_intervals
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.options import POOLED, PoolBiasOptions
from citebed.evaluation.scoring.comparison import Comparison, compare
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.statistics.corrections import adjust
from citebed.evaluation.statistics.correlations import kendall_tau, tau_ap
from citebed.evaluation.statistics.paired import paired_test
from citebed.frames import MultiTableResult
from citebed.runs.query_files import read_groups
from citebed.runs.ranking import Ranked, SortedQrels, prepare, rank
from citebed.runs.reader import as_qrels, as_runs, check_names
from citebed.runs.tables import Floats, Qrels
from citebed.runs.trec_files import QRELS


@dataclass(frozen=True, eq=False, repr=False)
class PoolBias(MultiTableResult):
    """The bias of a pool.

    ``unclaimed`` counts judgements of documents that no run has within the depth. ``undecided``
    counts pairs of runs, over all measures, without a significant difference. ``parts`` are tables:

    - ``falls``: a run's score with all judgements, and without the ones that only its team
      contributed (``unique``, ``unique_relevant``). Ranks (1 is best) are among all runs under the
      same judgements; runs with equal scores share the better rank. ``share`` is the change as a
      share of the score before.
    - ``orders``: correlations of the order of all runs with and without a team's own judgements.
    - ``unjudged``: the share of unjudged documents up to ``cutoff``, with and without a team's
      judgements.
    - ``conclusions``: the result of `worst_cases`.
    """

    PARTS = ("falls", "orders", "unjudged", "conclusions")
    MAIN = "falls"

    qrels: str
    depth: int
    judged: int
    unclaimed: int
    undecided: int
    parts: Mapping[str, pl.DataFrame]

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        return self.parts[part].to_dicts()


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
    compared = compare(
        evaluation, options.design, without_intervals(options.design, options.resampling)
    )
    pool = pool_documents(ranked, teams, options.depth)
    unique = unique_judgements(known, pool)
    return PoolBias(
        qrels=known.name,
        depth=options.depth,
        judged=int((judged.relevance >= 0).sum()),
        unclaimed=count_unpooled(known, pool),
        undecided=sum(not comparison.significant for comparison in compared),
        parts={
            **leave_out_each(judged, ranked, teams, unique, chosen, options),
            "conclusions": worst_cases(known, ranked, options, chosen, compared),
        },
    )


def leave_out_each(
    qrels: SortedQrels,
    runs: Mapping[str, Ranked],
    teams: Mapping[str, str],
    unique: Sequence[UniqueJudgements],
    measures: Sequence[Measure],
    options: PoolBiasOptions,
) -> dict[str, pl.DataFrame]:
    """Score all runs without the judgements that one team alone contributed, team by team."""

    def summaries(matched: Sequence[Rankings]) -> Floats:
        """Return a row per measure, a column per run."""
        counted = [slice(None) if options.settings.complete else of.in_run for of in matched]
        pairs = list(zip(matched, counted, strict=True))
        return np.array([[m.summary(m.values(of)[which]) for of, which in pairs] for m in measures])

    everything = [match(qrels, ranked) for ranked in runs.values()]
    full, falls, orders, shares = summaries(everything), [], [], []
    for of in unique:
        judged, grades = prepare(of.rest), of.judged["relevance"]
        matched = [match(judged, ranked) for ranked in runs.values()]
        own = [(at, name) for at, name in enumerate(runs) if teams[name] == of.team]
        for measure, every, rest in zip(measures, full, summaries(matched), strict=True):
            orders.append(
                {
                    "team": of.team, "measure": str(measure),
                    "kendall": kendall_tau(every, rest), "tau_ap": tau_ap(every, rest),
                }
            )  # fmt: skip
            for at, name in own:
                before, after = float(every[at]), float(rest[at])
                falls.append(
                    {
                        "team": of.team, "run": name, "measure": str(measure),
                        "unique": of.judged.height,
                        "unique_relevant": int((grades >= max(1, measure.rel)).sum()),
                        "before": before, "after": after, "change": after - before,
                        "share": (after - before) / before if before else math.nan,
                        "before_rank": 1 + int((every > before).sum()),
                        "after_rank": 1 + int((rest > after).sum()),
                    }
                )  # fmt: skip
        for (at, name), cutoff in product(own, options.cutoffs):
            looked_at = int(np.minimum(everything[at].retrieved, cutoff).sum())
            known = [
                int(((seen.relevance >= 0) & (seen.rank <= cutoff)).sum())
                for seen in (everything[at], matched[at])
            ]
            before, after = ((looked_at - number) / looked_at for number in known)
            shares.append(
                {
                    "team": of.team, "run": name, "cutoff": cutoff, "looked_at": looked_at,
                    "before": before, "after": after,
                }
            )  # fmt: skip
    parts = {"falls": falls, "orders": orders, "unjudged": shares}
    return {part: to_table(rows) for part, rows in parts.items()}


# --- the judging pool: what each team contributed -------------------------------------------

Verdict = Literal["stands", "cannot be told", "may turn round"]
VERDICTS: tuple[Verdict, ...] = ("stands", "cannot be told", "may turn round")
_PAIR = ("query_id", "doc_id")


class UniqueJudgements(NamedTuple):
    """The judgements that one team alone contributed, and all others."""

    team: str
    judged: pl.DataFrame
    rest: Qrels


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


def pool_documents(
    runs: Mapping[str, Ranked], teams: Mapping[str, str], depth: int
) -> pl.DataFrame:
    """Return what the teams retrieved within ``depth``, by the order of their first runs."""
    tops = (top_documents(ranked, depth).with_columns(team=pl.lit(teams[name]))
            for name, ranked in runs.items())  # fmt: skip
    return pl.concat(list(tops)).unique(maintain_order=True)


def unique_judgements(qrels: Qrels, pool: pl.DataFrame) -> list[UniqueJudgements]:
    """Return, for each team, the judgements of documents that it alone contributed to the pool.

    Judged documents that are not in the pool belong to no team.
    """
    alone = pool.group_by(_PAIR).agg(pl.col("team").first(), pl.len()).filter(pl.col("len") == 1)
    known = qrels.table.filter(pl.col("relevance") >= 0)
    own = known.join(alone.select(*_PAIR, "team"), on=_PAIR)
    return [
        UniqueJudgements(team, judged, remove_judgements(qrels, judged))
        for team in pool["team"].unique(maintain_order=True)
        for judged in [own.filter(pl.col("team") == team).sort(_PAIR)]
    ]


def count_unpooled(qrels: Qrels, pool: pl.DataFrame) -> int:
    """Count the judgements of documents that are not in the pool."""
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


def worst_cases(
    qrels: Qrels,
    runs: Mapping[str, Ranked],
    options: PoolBiasOptions,
    measures: Sequence[Measure],
    compared: Sequence[Comparison],
) -> pl.DataFrame:
    """Return the significant differences between two runs, as judged and in their worst case.

    ``cutoff`` is the measure's, or else the pool depth; ``winner_unjudged`` and ``loser_unjudged``
    count unjudged documents within it. ``difference`` is the winner's lead as judged. ``worst`` is
    its lead if all its unjudged documents were not relevant, and all that only the loser has were
    relevant with the highest grade. ``p`` and ``worst_p`` are corrected. Both runs are scored under
    the same hypothetical judgements, so that a lost lead is one that assessors could have caused.
    """
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
            {
                "measure": str(measure),
                "winner": winner,
                "loser": loser,
                "cutoff": cutoff,
                "winner_unjudged": unjudged[0].height,
                "loser_unjudged": unjudged[1].height,
                "difference": abs(comparison.value - comparison.base_value),
                "p": comparison.p_adjusted,
                "worst": worst,
                "worst_p": worst_p,
                "verdict": verdict,
            }
        )
    return to_table(rows)


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
