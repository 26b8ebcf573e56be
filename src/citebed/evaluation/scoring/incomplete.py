"""Scores from incomplete judgements: limits, stability, and estimates from a stratified sample.

The residual of RBP is the measure ``RBPResidual``, and ``judged_only=True`` scores condensed lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.sets import PAIR, as_checked_qrels, sample
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import TREC_EVAL, Resampling, Settings
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.scoring.machine import make_pool, ranges
from citebed.evaluation.statistics.correlations import kendall_tau, tau_ap
from citebed.runs.ranking import in_rank_order, prepare
from citebed.runs.reader import as_qrels, as_runs
from citebed.runs.tables import Ints

EPSILON = 1e-5


def score_limits(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    depth: int = 100,
    settings: Settings = TREC_EVAL,
) -> pl.DataFrame:
    """Return ``run, measure, worst, value, best``: means under any judgement of unjudged documents.

    The documents that may be relevant are the first ``depth`` of each run. They are not relevant or
    have the highest grade. For a given number of relevant ones a score is best if they rank highest
    and worst if they rank lowest; the limits are over all numbers. They are exact for measures of
    binary relevance. Each query has its own worst and best case.
    """
    chosen, systems = tuple(parse_measures(measures)), list(as_runs(runs))
    judged = as_checked_qrels(qrels).table.filter(pl.col("relevance") >= 0).select(
        *PAIR, "relevance"
    )  # fmt: skip
    tops = [in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR) for run in systems]
    unknown = pl.concat(tops).unique().join(judged, on=PAIR, how="anti")
    unknown = unknown.join(judged.select("query_id").unique(), on="query_id", how="semi")
    everything = pl.concat([judged, unknown.with_columns(relevance=pl.lit(0, pl.Int64))])
    pool = make_pool(judged, everything)
    highest = max(1, int(pool.human.max()))
    free = np.add.reduceat((pool.human < 0).astype(np.int64), pool.starts[:-1])
    number, query = ranges(np.zeros(len(free), np.int64), free + 1)
    rows = []
    for run in systems:
        rankings = pool.match(run, settings)
        rank = np.full(len(pool.human), np.iinfo(np.int64).max)
        rank[rankings.relevance] = rankings.rank
        order = np.lexsort((rank, pool.human >= 0, pool.rows.query))  # unjudged by rank come first
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - np.repeat(pool.starts[:-1], np.diff(pool.starts))
        scores = []
        for from_top in (True, False):

            def grades(
                rows: Ints, state: Ints, place: Ints = place, from_top: bool = from_top
            ) -> Ints:
                least = 0 if from_top else free[query][state] - number[state]
                relevant = (place[rows] >= least) & (place[rows] < least + number[state])
                guess = np.where(relevant, highest, 0)
                return np.where(pool.human[rows] >= 0, pool.human[rows], guess)

            scores.append(pool.score(rankings, chosen, query, grades))
        starts = np.cumsum(free + 1) - free - 1
        counted = rankings.in_run | settings.complete
        now = pool.score(rankings, chosen, np.arange(len(free)), pool.human)
        worst = np.minimum(*(np.minimum.reduceat(each, starts, axis=1) for each in scores))
        best = np.maximum(*(np.maximum.reduceat(each, starts, axis=1) for each in scores))
        for at, measure in enumerate(chosen):
            means = [measure.summary(each[at][counted]) for each in (worst, now, best)]
            rows.append((run.name, str(measure), *means))
    return pl.DataFrame(rows, ["run", "measure", "worst", "value", "best"], orient="row")


def removal_stability(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    shares: Sequence[float] = (0.1, 0.3, 0.5, 0.7, 0.9),
    *,
    repeats: int = 100,
    resampling: Resampling | None = None,
) -> pl.DataFrame:
    """Return how stable the ranking of systems is when a share of the judgements is removed.

    The columns are ``measure, removed, tau, tau_low, tau_high, tau_ap, tau_ap_low, tau_ap_high``:
    means of the rank correlations with all judgements over random removals, and the limits between
    which ``level`` of the removals lie.
    """
    systems, chosen = list(as_runs(runs)), tuple(parse_measures(measures))
    if len(systems) < 2:
        raise CitebedError("a ranking of systems needs two runs or more.")
    resampling, judged = resampling or Resampling(), as_checked_qrels(qrels)
    (full,) = evaluate_under([prepare(judged)], systems, chosen, TREC_EVAL)
    tail, rows = (1 - resampling.level) / 2, []
    for share in shares:
        if not 0 < share < 1:
            raise CitebedError(f"the removed share {share} is not between 0 and 1.")
        found = np.empty((len(chosen), 2, repeats))
        for repeat in range(repeats):
            kept = sample(judged, 1 - share, seed=resampling.seed + repeat)
            (fewer,) = evaluate_under([prepare(kept)], systems, chosen, TREC_EVAL)
            for at, measure in enumerate(chosen):
                scores = [[run.summaries[measure] for run in of.runs] for of in (full, fewer)]
                found[at, :, repeat] = kendall_tau(*scores), tau_ap(*scores)
        for at, measure in enumerate(chosen):
            figures = [
                figure
                for values in found[at]
                for known in [values[~np.isnan(values)]]
                for figure in (
                    (known.mean(), *np.quantile(known, [tail, 1 - tail]))
                    if len(known)
                    else (None, None, None)
                )
            ]
            rows.append((str(measure), share, *figures))
    names = [f"{tau}{limit}" for tau in ("tau", "tau_ap") for limit in ("", "_low", "_high")]
    return pl.DataFrame(rows, ["measure", "removed", *names], orient="row")


def estimate_ap(sampled: pl.DataFrame, run: Any, rel: int = 1) -> pl.DataFrame:
    """Estimate average precision from a stratified sample (xinfAP): ``query_id, value``.

    ``sampled`` has the documents of the pool: ``query_id, doc_id, stratum, relevance``, with a
    grade below 0 for documents that were not sampled. Documents of a stratum were sampled with the
    same probability. With n of N documents sampled and r relevant in a stratum, R = Σ r·N/n, and

    xinfAP = Σ over strata of (N/n) · Σ E(rank of d) over sampled relevant d, divided by R,
    E(k) = 1/k + Σ over strata of (N_k/k) · (r_k + ε) / (n_k + 2ε),

    where N_k, n_k and r_k count the stratum's pooled, sampled and relevant documents above rank k,
    and ε = 0.00001. With one stratum it is ``infAP``. A query without relevant documents scores 0.

    Yilmaz, Kanoulas & Aslam (2008), A simple and efficient sampling method for estimating AP and
    NDCG.
    """
    names = [*PAIR, "stratum", "relevance"]
    missing = [name for name in names if name not in sampled.columns]
    if missing:
        raise CitebedError(f"the sample has no column '{missing[0]}'; expected {', '.join(names)}.")
    as_checked_qrels(as_qrels(sampled.select(*PAIR, "relevance")))
    (only,) = as_runs(run)
    ranks = in_rank_order(only).select(*PAIR, "rank")
    rows = []
    for (query,), pool in sampled.select(names).sort("query_id").group_by(
        "query_id", maintain_order=True
    ):  # fmt: skip
        joined = pool.join(ranks, on=PAIR, how="left")
        stratum = np.unique(joined["stratum"].to_numpy(), return_inverse=True)[1]
        grade = joined["relevance"].to_numpy()
        judged, relevant = grade >= 0, grade >= rel
        size, drawn = np.bincount(stratum), np.bincount(stratum, judged)
        weight = size / np.maximum(drawn, 1)
        rank = joined["rank"].fill_null(0).to_numpy()
        total = float((weight[stratum] * relevant).sum())
        value = 0.0
        for at in np.flatnonzero(relevant & (rank > 0)):
            above = (rank > 0) & (rank < rank[at])
            pooled, seen, good = (
                np.bincount(stratum[above & which], minlength=len(size))
                for which in (np.ones(len(rank), bool), judged, relevant)
            )
            share = (good + EPSILON) / (seen + 2 * EPSILON)
            value += weight[stratum[at]] * (1 + float(pooled @ share)) / rank[at]
        rows.append((query, value / total if total else 0.0))
    return pl.DataFrame(rows, {"query_id": pl.String, "value": pl.Float64}, orient="row")
