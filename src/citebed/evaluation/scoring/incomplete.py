"""Scores from incomplete judgements: limits, stability, and estimates from a stratified sample.

The residual of RBP is the measure ``RBPResidual``, and ``judged_only=True`` scores condensed lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.sets import PAIR, as_checked_qrels, load_grades, sample
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.precision import EPSILON
from citebed.evaluation.options import TREC_EVAL, Resampling, Settings
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.scoring.machine import make_pool, ranges
from citebed.evaluation.statistics.correlations import kendall_tau, tau_ap
from citebed.evaluation.statistics.units import cluster_codes
from citebed.runs.ranking import in_rank_order, prepare
from citebed.runs.reader import as_runs
from citebed.runs.tables import Ints


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
    judged = load_grades(qrels, "qrels").rename({"qrels": "relevance"})
    tops = [in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR) for run in systems]
    unjudged = pl.concat(tops).join(judged, on="query_id", how="semi")
    unjudged = unjudged.with_columns(relevance=pl.lit(0, pl.Int64))
    everything = pl.concat([judged, unjudged]).unique(PAIR, keep="first", maintain_order=True)
    pool = make_pool(judged, everything)
    unknown, highest = pool.human < 0, max(1, int(pool.human.max()))
    free = np.add.reduceat(unknown.astype(np.int64), pool.starts[:-1])
    relevant, query = ranges(np.zeros(len(free), np.int64), free + 1)  # 0 to all unjudged ones
    first, rows = np.flatnonzero(relevant == 0), []
    for run in systems:
        rankings = pool.match(run, settings)
        rank = np.full(len(unknown), np.iinfo(np.int64).max)
        rank[rankings.relevance] = rankings.rank
        order = np.lexsort((rank, ~unknown, pool.rows.query))  # unjudged ones by rank come first
        from_top = np.empty(len(order), np.int64)
        from_top[order] = np.arange(len(order)) - pool.starts[pool.rows.query]
        scores = []
        for place in (from_top, free[pool.rows.query] - 1 - from_top):

            def grades(rows: Ints, state: Ints, place: Ints = place) -> Ints:
                guess = np.where(place[rows] < relevant[state], highest, 0)
                return np.where(unknown[rows], guess, pool.human[rows])

            scores.append(pool.score(rankings, chosen, query, grades))
        worst = np.minimum.reduceat(np.minimum(*scores), first, axis=1)
        best = np.maximum.reduceat(np.maximum(*scores), first, axis=1)
        now = pool.score(rankings, chosen, np.arange(len(free)), pool.human)
        counted = rankings.in_run | settings.complete
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
    rows = []
    for share in shares:
        if not 0 < share < 1:
            raise CitebedError(f"the removed share {share} is not between 0 and 1.")
        for repeat in range(repeats):
            kept = sample(judged, 1 - share, seed=resampling.seed + repeat)
            (fewer,) = evaluate_under([prepare(kept)], systems, chosen, TREC_EVAL)
            for measure in chosen:
                scores = [[run.summaries[measure] for run in of.runs] for of in (full, fewer)]
                rows.append((str(measure), share, kendall_tau(*scores), tau_ap(*scores)))
    taus = pl.DataFrame(rows, ["measure", "removed", "tau", "tau_ap"], orient="row").fill_nan(None)
    tail = (1 - resampling.level) / 2
    return taus.group_by("measure", "removed", maintain_order=True).agg(
        column
        for tau in (pl.col("tau"), pl.col("tau_ap"))
        for column in (
            tau.mean(),
            tau.quantile(tail, "linear").name.suffix("_low"),
            tau.quantile(1 - tail, "linear").name.suffix("_high"),
        )
    )


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
    judgements = as_checked_qrels(sampled.select(*PAIR, "relevance"))
    everything = sampled.select(*PAIR, relevance=pl.lit(0, pl.Int64))
    pool = make_pool(judgements, everything)
    (only,) = as_runs(run)
    rankings = pool.match(only, TREC_EVAL)
    query, row, queries = pool.rows.query, rankings.relevance, rankings.queries
    judged, relevant = pool.human >= 0, pool.human >= rel
    labels = sampled.sort(pl.col(PAIR).cast(pl.String))["stratum"]  # in the order of the pool
    strata = cluster_codes(labels.to_list(), len(query))
    weight, expected = np.zeros(len(query)), np.ones(len(row))  # N/n of each document, k·E(k)
    for stratum in range(strata.max() + 1):
        of = strata == stratum
        size, drawn = (np.bincount(query, which, queries) for which in (of, of & judged))
        weight += of * (size / np.maximum(drawn, 1))[query]
        pooled, seen, good = (
            rankings.so_far(which[row]) - which[row] for which in (of, of & judged, of & relevant)
        )
        expected += pooled * (good + EPSILON) / (seen + 2 * EPSILON)
    gain = weight * relevant
    total = np.bincount(query, gain, queries).astype(np.float64)
    value = ratio(rankings.total(gain[row] * expected / rankings.rank), total)
    return pl.DataFrame({"query_id": rankings.query_ids, "value": value})
