"""The human judgements that narrow the interval of a corrected score most.

A plan says which documents people should judge, for `citebed.evaluation.scoring.machine`:

1. **Queries** are drawn at random, all with the same probability.
2. **Documents** of a query are ordered by their influence times the square root of the doubt about
   the machine's grade. Influence is how far the scores of the runs move if the grade is wrong; the
   doubt is its probability of being wrong. Each document has a probability p proportional to this
   product (Neyman 1934 for standard deviations), but not below ``least``, so that no judgement
   weighs more than seven others. The most important document of a query has probability 1.
3. A number u between 0 and 1 is drawn for each query, and people judge the documents with p ≥ u.
   The numbers are spread evenly: of n, one is in each n-th of the range.
4. Such numbers are drawn a thousand times. One draw within the budget becomes the plan, and the
   probability of a document is its share in all draws within the budget (Fattorini 2006, Applying
   the Horvitz-Thompson criterion in complex designs).
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

_CELLS = 1 << 27  # judgements of trial draws


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How many judgements to plan.

    ``budget`` is the largest number of judgements, ``per_query`` the mean number for one query, and
    ``least`` the lowest probability of a document in a drawn query. Fewer judgements per query mean
    more queries, and wider intervals where the machine is wrong about documents deep in the pool.
    Deep pools get more judgements per query than that, so that every document has its probability.
    """

    budget: int = 100
    per_query: float = 6.5
    least: float = 0.15
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
    # How often people changed each grade of the machine; at first what `Pool.doubt` assumes.
    judged, size = pool.used & (pool.machine >= 0), int(pool.machine.max()) + 1
    grades = pool.machine[judged]
    wrong = np.bincount(grades, pool.human[judged] != grades, size)[pool.machine]
    doubt = (wrong + pool.doubt) / (np.bincount(grades, minlength=size)[pool.machine] + 2)
    influence = measure_influence(pool, as_runs(runs), chosen, options.settings) * np.sqrt(doubt)
    free = np.flatnonzero(~pool.drawn)
    if not len(free):
        raise CitebedError("every query is in the plan already.")
    if len(pool.drawn) < 2:
        raise CitebedError("the machine judged one query, and an interval needs two.")
    rows, probability = draw_documents(pool, influence, free, options)
    table = pl.DataFrame(
        {
            "query_id": pool.rows.query_ids.gather(pool.rows.query[rows]),
            "doc_id": pool.rows.doc_ids.gather(rows),
            "score": probability,
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

    Moves are quadratic means over runs and measures, as shares of each measure's quadratic mean.
    """
    pairs, influence = np.flatnonzero(pool.machine >= 0), np.zeros(len(pool.machine))
    matched = [pool.match(run, settings) for run in runs]
    if not matched:
        raise CitebedError("a plan needs at least one run.")
    moves = [pool.flips(each, measure, pairs) ** 2 for each in matched for measure in measures]
    influence[pairs] = np.sqrt(np.mean([moved / (moved.mean() or 1.0) for moved in moves], axis=0))
    return influence


def draw_documents(
    pool: Pool, influence: Floats, free: Ints, options: PlanOptions
) -> tuple[Ints, Floats]:
    """Draw queries and their documents: return rows of the pool, and their probabilities."""
    rng = np.random.default_rng(options.seed)
    sizes = np.add.reduceat((pool.machine >= 0).astype(np.int64), pool.starts[:-1])[free]
    # The least cost of a query may take three quarters of the budget; its most is its documents.
    cost = max(options.per_query, float(np.mean(1 + options.least * (sizes - 1))) / 0.75)
    cost = min(cost, float(sizes.mean()))
    queries = rng.permutation(free)
    fewest = 1 if pool.drawn.any() else 2
    for number in range(min(int(options.budget / cost), len(free)), fewest - 1, -1):
        rows, of = ranges(pool.starts[queries[:number]], pool.starts[queries[:number] + 1])
        rows, of = (values[pool.machine[rows] >= 0] for values in (rows, of))
        probability = allocate_probabilities(influence[rows], of, options)
        trials = min(1000, max(200, _CELLS // len(rows)))
        places = np.argsort(rng.random((trials, number)), axis=1).T
        numbers = (places + 1.0 - rng.random(trials)) / number  # above 0, up to 1
        judged = probability[:, None] >= numbers[of]
        judged = judged[:, judged.sum(axis=0) <= options.budget]
        if judged.shape[1] >= trials / 10:  # else these queries do not fit into the budget
            chosen = judged[:, 0]
            return rows[chosen], judged.mean(axis=1)[chosen]
    raise CitebedError(
        f"{options.budget} judgements are too few: a query takes {cost:.1f} on average, and an "
        "interval needs two queries. Raise the budget, or lower per_query."
    )


def allocate_probabilities(influence: Floats, query: Ints, options: PlanOptions) -> Floats:
    """Scale influences to probabilities whose sum is the budget."""
    first = np.lexsort((-influence, query))[np.flatnonzero(np.diff(query, prepend=-1))]
    low, high = 0.0, 1.0 / max(float(influence[influence > 0].min(initial=1.0)), 1e-9)
    probability = np.ones(len(influence))
    for _ in range(40 if len(influence) > options.budget else 0):  # each halves the scale's range
        middle = (low + high) / 2
        probability = np.clip(middle * influence, options.least, 1.0)
        probability[first] = 1.0  # the most important document of each query
        low, high = (low, middle) if probability.sum() > options.budget else (middle, high)
    return probability
