"""The human judgements that narrow the interval of a corrected score most.

A plan says which documents people should judge, for `citebed.evaluation.scoring.machine`:

1. **Queries** are drawn at random, all with the same probability.
2. **Documents** of a query are ordered by their influence: how far the scores of the runs move if
   the machine's grade is wrong. Each has a probability p proportional to its influence (Neyman 1934
   for standard deviations), at least a tenth, so that no judgement weighs more than ten others. The
   most important document of a query has probability 1.
3. A number u between 0 and 1 is drawn for each query, and people judge the documents with p ≥ u.
   The numbers are spread evenly (a sequence of low discrepancy), which keeps the number of
   judgements near its expectation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.sets import PAIR
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import TREC_EVAL, Settings
from citebed.evaluation.scoring.machine import Pool, make_pool, ranges
from citebed.runs.reader import as_run, as_runs
from citebed.runs.tables import Floats, Ints, Run

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How many judgements to plan.

    ``budget`` is the largest number of judgements, ``per_query`` the mean number for one query, and
    ``least`` the lowest probability of a document in a drawn query. Fewer judgements per query mean
    more queries, and wider intervals where the machine is wrong about documents deep in the pool.
    """

    budget: int = 100
    per_query: float = 6.5
    least: float = 0.1
    seed: int = 0
    settings: Settings = TREC_EVAL

    def __post_init__(self) -> None:
        if self.budget < 2:
            raise CitebedError(f"a plan of {self.budget} judgements: expected 2 or more.")
        if self.per_query < 1:
            raise CitebedError(f"{self.per_query:g} judgements per query: expected 1 or more.")
        if not 0 < self.least <= 1:
            raise CitebedError(f"the lowest probability is {self.least}; expected 0 to 1.")


def rank_judgements_to_make(
    machine: Any, runs: Any, measures: str | Measure | Iterable[str | Measure] = ("nDCG@10",),
    options: PlanOptions | None = None, *, human: Any = None, done: Any = None,
) -> Run:  # fmt: skip
    """Plan the human judgements that narrow the intervals of corrected scores most.

    The plan is a run: its documents are those to judge, and their scores the probabilities. Write
    it with `write_run`. ``done`` is a plan that people have judged, and ``human`` what they said;
    then the new plan has only further queries, and influences are multiplied by how often the
    machine was wrong about a grade. `join_plans` puts both together.
    """
    options, chosen = options or PlanOptions(), parse_measures(measures)
    if (done is None) != (human is None):
        raise CitebedError("to continue a plan, give both the plan and its human judgements.")
    pool = make_pool({} if human is None else human, machine, done)
    influence = measure_influence(pool, as_runs(runs), chosen, options.settings)
    if done is not None:
        # How often people changed each grade of the machine, from 0 on: (k + 1) / (n + 2).
        judged = pool.used & (pool.machine >= 0)
        grades, size = pool.machine[judged], int(pool.machine.max()) + 1
        wrong = np.bincount(grades, pool.human[judged] != grades, size)
        rates = (wrong + 1.0) / (np.bincount(grades, minlength=size) + 2.0)
        influence = influence * np.sqrt(rates)[pool.machine]
    free = np.flatnonzero(~pool.drawn)
    if not len(free):
        raise CitebedError("every query is in the plan already.")
    probability = allocate_probabilities(pool, influence, options)
    queries, cut = draw_queries(pool, probability, free, options)
    rows, of = ranges(pool.starts[queries], pool.starts[queries + 1])
    rows = rows[probability[rows] >= cut[of]]
    table = pl.DataFrame(
        {
            "query_id": pool.rows.query_ids.gather(pool.rows.query[rows]),
            "doc_id": pool.rows.doc_ids.gather(rows),
            "score": probability[rows],
        }
    ).sort("query_id", "score", "doc_id", descending=[False, True, True])
    return Run(table, "plan")


def join_plans(*plans: Any) -> Run:
    """Join plans of different queries, such as a plan and its continuation."""
    tables = [as_run(plan).table.select(*PAIR, "score") for plan in plans]
    joined = pl.concat(tables)
    planned = sum(table["query_id"].n_unique() for table in tables)
    if joined["query_id"].n_unique() < planned:
        raise CitebedError("a query is in two of the plans. Join a plan with its continuation.")
    return Run(joined, "plan")


def measure_influence(
    pool: Pool, runs: Iterable[Run], measures: Sequence[Measure], settings: Settings
) -> Floats:
    """Return, per document, how far scores move if the machine's grade is wrong.

    A relevant document becomes not relevant, and any other one relevant. Moves are quadratic means
    over runs and measures, as shares of each measure's quadratic mean.
    """
    pairs = np.flatnonzero(pool.machine >= 0)
    query = pool.rows.query[pairs]
    moves = []
    for run in runs:
        rankings = pool.match(run, settings)
        for measure in measures:
            rel = max(measure.rel, 1)
            turned = np.where(pool.machine >= rel, 0, rel)

            def grades(rows: Ints, state: Ints, turned: Ints = turned) -> Ints:
                return np.where(rows == pairs[state], turned[rows], pool.machine[rows])

            queries = np.arange(rankings.queries)
            (now,) = pool.score(rankings, [measure], queries, pool.machine)
            (then,) = pool.score(rankings, [measure], query, grades)
            moved = (then - now[query]) ** 2
            moves.append(moved / (moved.mean() or 1.0))
    if not moves:
        raise CitebedError("a plan needs at least one run.")
    influence = np.zeros(len(pool.machine))
    influence[pairs] = np.sqrt(np.mean(moves, axis=0))
    return influence


def allocate_probabilities(pool: Pool, influence: Floats, options: PlanOptions) -> Floats:
    """Return the probability that people judge each document if its query is drawn."""
    usable = pool.machine >= 0
    first = np.lexsort((-influence, ~usable, pool.rows.query))[pool.starts[:-1]]  # most important
    wanted = min(options.per_query * len(first), float(usable.sum()))

    def at(scale: float) -> Floats:
        probability = np.where(usable, np.clip(scale * influence, options.least, 1.0), 0.0)
        probability[first] = 1.0
        return probability

    low, high = 0.0, 1.0 / max(float(influence[influence > 0].min(initial=1.0)), 1e-9)
    for _ in range(60):  # each halves the range of the scale
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle).sum() > wanted else (middle, high)
    return at(low)


def draw_queries(
    pool: Pool, probability: Floats, free: Ints, options: PlanOptions
) -> tuple[Ints, Floats]:
    """Draw queries, and for each the number that its documents' probabilities must reach.

    Queries that exceed the budget are dropped. A query with many judgements is dropped more easily,
    which biases the sample; therefore the expected number of judgements stays below the budget by
    two standard deviations.
    """
    rng = np.random.default_rng(options.seed)
    queries, number = rng.permutation(free), np.arange(1, len(free) + 1)
    cut = 1.0 - (rng.random() + _GOLDEN * number) % 1.0  # above 0: probability 0 is never judged
    sums, squares = (
        np.add.reduceat(values, pool.starts[:-1])[free]
        for values in (probability, probability * (1 - probability))
    )
    mean, deviation = float(sums.mean()), float(np.sqrt(np.var(sums) + squares.mean()))
    fits = int((number * mean + 2 * deviation * np.sqrt(number) <= options.budget).sum())
    queries, cut = queries[: max(2, fits)], cut[: max(2, fits)]
    rows, of = ranges(pool.starts[queries], pool.starts[queries + 1])
    costs = np.bincount(of, probability[rows] >= cut[of], len(queries))
    within = int((np.cumsum(costs) <= options.budget).sum())
    if within < 2:
        raise CitebedError(
            f"{options.budget} judgements are too few: a query takes {mean:.1f} on average, and an "
            "interval needs two queries. Raise the budget, or lower per_query."
        )
    return np.asarray(queries[:within], np.int64), np.asarray(cut[:within], np.float64)
