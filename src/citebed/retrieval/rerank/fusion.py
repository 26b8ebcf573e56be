"""Several runs into one: sums of scores and of reciprocal ranks.

A run is a table with the columns ``query_id``, ``doc_id`` and ``score``; so is the result, which
holds every document of every run, each query's documents in rank order (score descending, then
``doc_id`` descending, as trec_eval has it) and the queries in ascending order.

A document that a run did not retrieve counts there as that run's worst: with 0, or with the
query's lowest normalised score where that is below 0. It can therefore never gain on a document
that the run did retrieve. With ``reciprocal_rank`` it counts with 0. A query that a run has not at
all counts there with 0 for every document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
import polars as pl

from citebed.errors import CitebedError

RUN = ("query_id", "doc_id", "score")
_PAIR = ["query_id", "doc_id"]
_MIN, _MAX = pl.col("score").min(), pl.col("score").max()


def _of_best() -> pl.Expr:
    size = pl.when(_MAX != 0).then(_MAX.abs()).otherwise(_MIN.abs())
    return pl.when(size > 0).then(pl.col("score") / size).otherwise(0.0)


def _min_max() -> pl.Expr:
    spread = _MAX - _MIN
    return pl.when(spread > 0).then((pl.col("score") - _MIN) / spread).otherwise(1.0)


def _z_score() -> pl.Expr:
    # Sorted first: a sum of floats depends on its order, and a run's rows may come in any.
    ascending = pl.col("score").sort()
    centred, spread = pl.col("score") - ascending.mean(), ascending.std(ddof=0)
    return pl.when(spread > 0).then(centred / spread).otherwise(0.0)


NORMALISATIONS = {
    "max": _of_best(),
    "minmax": _min_max(),
    "zscore": _z_score(),
    "none": pl.col("score"),
}


def sum_scores(runs: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The mean of the runs' scores, each divided by the best score of its query.

    This is how ACM-CR's ``BM25 + SciBERT`` was made (Boudin 2021): of a query's 20 documents each
    BM25 score is divided by the highest of them, each cosine likewise, and the halves of both are
    added. The paper does not say so; the code that it points to does. A best score below 0 (log
    probabilities), which would turn the order round, counts with its size; where it is 0, the
    lowest score's size takes its place.
    """
    share = 1.0 / max(len(runs), 1)
    return interpolate(runs, [share] * len(runs), normalise="max")


def interpolate(
    runs: Sequence[pl.DataFrame], weights: Sequence[float], normalise: str = "minmax"
) -> pl.DataFrame:
    """The weighted sum of the runs' scores, normalised query by query.

    ``minmax`` brings a query's scores to 0 to 1 (to 1 where all are equal), ``zscore`` to mean 0
    and (population) standard deviation 1 (to 0 where all are equal), ``max`` divides by the best
    score as ``sum_scores`` does, ``none`` adds the scores as they are (CombSUM, Fox and Shaw
    1994, where all weights are 1).
    """
    if normalise not in NORMALISATIONS:
        known = ", ".join(NORMALISATIONS)
        raise CitebedError(f"unknown normalisation '{normalise}'. Known: {known}")
    if len(weights) != len(runs):
        raise CitebedError(f"{len(runs)} runs need as many weights; there are {len(weights)}")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise CitebedError(f"weights are finite and not negative, not {list(weights)}")
    normal = NORMALISATIONS[normalise].over("query_id")
    parts = [
        _checked(run, number).select(*_PAIR, (normal * weight).alias("score"))
        for number, (run, weight) in enumerate(zip(runs, weights, strict=True), start=1)
    ]
    return _summed(parts)


def reciprocal_rank(runs: Sequence[pl.DataFrame], k: float = 60) -> pl.DataFrame:
    """The sum over the runs of ``1 / (k + rank)``, ranks from 1 (Cormack, Clarke, Büttcher 2009).

    Only the order of a run counts, not its scores; equal scores are ranked by ``doc_id``.
    """
    if not (math.isfinite(k) and k >= 0):
        raise CitebedError(f"k is a number not below 0 (60 in the paper), not {k}")
    rank = pl.int_range(1, pl.len() + 1).over("query_id")
    parts = [
        in_rank_order(_checked(run, number)).select(*_PAIR, (1.0 / (k + rank)).alias("score"))
        for number, run in enumerate(runs, start=1)
    ]
    return _summed(parts)


def in_rank_order(run: pl.DataFrame) -> pl.DataFrame:
    """A run with its queries ascending, and each one's documents by score, then ``doc_id``,
    both descending."""
    return run.sort("query_id", "score", "doc_id", descending=[False, True, True])


def _checked(run: pl.DataFrame, number: int) -> pl.DataFrame:
    """A run's three columns, every score a number, every document once per query."""
    missing = [name for name in RUN if name not in run.columns]
    if missing:
        raise CitebedError(f"run {number} lacks the column {', '.join(missing)}: {run.columns}")
    run = run.select(pl.col(_PAIR).cast(pl.String), pl.col("score").cast(pl.Float64))
    bad = run.filter(~pl.col("score").is_finite() | pl.any_horizontal(pl.all().is_null()))
    if not bad.is_empty():
        query_id, doc_id, score = bad.row(0)
        raise CitebedError(
            f"run {number} has no number as score of '{doc_id}' for query '{query_id}': {score}"
        )
    twice = run.filter(run.select(_PAIR).is_duplicated())
    if not twice.is_empty():
        query_id, doc_id, _ = twice.row(0)
        raise CitebedError(f"run {number} has '{doc_id}' twice for query '{query_id}'")
    return run


def _summed(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The parts' scores added per document, what is missing counted as the module says."""
    if not parts:
        raise CitebedError("there is no run to fuse")
    names = [f"score_{number}" for number in range(len(parts))]
    renamed = [part.rename({"score": name}) for part, name in zip(parts, names, strict=True)]
    joined = reduce(lambda a, b: a.join(b, on=_PAIR, how="full", coalesce=True), renamed)
    worst = [pl.col(name).min().over("query_id").clip(upper_bound=0.0) for name in names]
    filled = joined.select(
        pl.col(name).fill_null(low).fill_null(0.0) for name, low in zip(names, worst, strict=True)
    )
    # Added from small to large: the sum must not depend on the order of the runs, or documents
    # that share a score would be ranked by the last digit of a rounding error.
    total = np.sort(filled.to_numpy(), axis=1).sum(axis=1)
    return in_rank_order(joined.select(*_PAIR, pl.Series("score", total)))
