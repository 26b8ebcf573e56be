"""The human judgements that narrow the interval of a corrected score most.

A plan says which documents people should judge, for `citebed.evaluation.scoring.machine`:

1. **Queries** are drawn at random, all with the same probability.
2. **Documents** of a query are ordered by their influence: how far the scores of the runs move if
   the machine's grade is wrong. Each has a probability p proportional to its influence (Neyman's
   allocation: with a cost per judgement, the variance is least if probabilities are proportional
   to standard deviations), at least a tenth, so that no judgement weighs more than ten others. The
   most important document of a query has probability 1.
3. A number u between 0 and 1 is drawn for each query, and people judge the documents with p ≥ u.
   The numbers are spread evenly (a sequence of low discrepancy), which keeps the number of
   judgements near its expectation.

Once people have judged, `rank_judgements_to_make` continues: queries not drawn yet, with influences
multiplied by how often the machine was wrong about a grade. Neyman (1934), On the two different
aspects of the representative method.
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
_MARGIN = 2.0  # standard deviations between the expected and the largest number of judgements


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
    machine: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = ("nDCG@10",),
    options: PlanOptions | None = None,
    *,
    human: Any = None,
    done: Any = None,
) -> Run:
    """Plan the human judgements that narrow the intervals of corrected scores most.

    The plan is a run: its documents are those to judge, and their scores the probabilities. Write
    it with `write_run`. ``done`` is a plan that people have judged, and ``human`` what they said;
    then the new plan has only further queries, and `join_plans` puts both together.
    """
    options = options or PlanOptions()
    if (done is None) != (human is None):
        raise CitebedError("to continue a plan, give both the plan and its human judgements.")
    pool = make_pool(human if human is not None else _no_judgements(), machine, done)
    influence = measure_influence(pool, as_runs(runs), parse_measures(measures), options.settings)
    if done is not None:
        influence = influence * np.sqrt(error_rates(pool))[pool.machine]
    free = np.flatnonzero(~np.isin(np.arange(len(pool.drawn)), pool.rows.query[pool.planned]))
    if not len(free):
        raise CitebedError("every query is in the plan already.")
    probability = allocate_probabilities(pool, influence, options)
    chosen, cut = draw_queries(pool, probability, free, options)
    rows, of = ranges(pool.starts[chosen], pool.starts[chosen + 1])
    kept = (probability[rows] >= cut[of]) & (pool.machine[rows] >= 0)
    rows = rows[kept]
    table = pl.DataFrame(
        {
            "query_id": pool.rows.query_ids.gather(pool.rows.query[rows]),
            "doc_id": pool.rows.doc_ids.gather(rows),
            "score": probability[rows],
            "influence": influence[rows],
        }
    )
    table = table.sort("query_id", "score", "doc_id", descending=[False, True, True])
    facts = {
        "queries": len(pool.drawn), "drawn": len(chosen), "judgements": table.height,
        "seed": options.seed, "measures": [str(each) for each in parse_measures(measures)],
    }  # fmt: skip
    return Run(table, "plan", facts=facts)


def join_plans(*plans: Any) -> Run:
    """Join plans of different queries, such as a plan and its continuation."""
    tables = [as_run(plan).table.select(*PAIR, "score") for plan in plans]
    joined = pl.concat(tables)
    planned = sum(table["query_id"].n_unique() for table in tables)
    if joined["query_id"].n_unique() < planned:
        raise CitebedError("a query is in two of the plans. Join a plan with its continuation.")
    return Run(joined, "plan")


def _no_judgements() -> pl.DataFrame:
    return pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64})


def measure_influence(
    pool: Pool, runs: Iterable[Run], measures: Sequence[Measure], settings: Settings
) -> Floats:
    """Return, per document, how far scores move if the machine's grade is wrong.

    A relevant document becomes not relevant, and any other one relevant. Moves are quadratic means
    over runs and measures, as shares of each measure's quadratic mean.
    """
    pairs = np.flatnonzero(pool.machine >= 0)
    query = pool.rows.query[pairs]
    total, number = np.zeros(len(pool.machine)), 0
    for run in runs:
        rankings = pool.match(run, settings)
        now = pool.score(rankings, measures, np.arange(rankings.queries), pool.machine)
        for at, measure in enumerate(measures):
            turned = np.where(pool.machine >= max(measure.rel, 1), 0, max(measure.rel, 1))

            def grades(rows: Ints, state: Ints, turned: Ints = turned) -> Ints:
                return np.where(rows == pairs[state], turned[rows], pool.machine[rows])

            moved = pool.score(rankings, [measure], query, grades)[0] - now[at][query]
            size = float(np.mean(moved**2))
            total[pairs] += moved**2 / size if size else 0.0
            number += 1
    if not number:
        raise CitebedError("a plan needs at least one run.")
    return np.sqrt(total / number)


def error_rates(pool: Pool) -> Floats:
    """Return how often people changed each grade of the machine, from 0 on: (k + 1) / (n + 2)."""
    judged = pool.planned & (pool.human >= 0) & (pool.machine >= 0)
    grades, size = pool.machine[judged], int(pool.machine.max()) + 1
    wrong = np.bincount(grades, pool.human[judged] != grades, size)
    return np.asarray((wrong + 1.0) / (np.bincount(grades, minlength=size) + 2.0))


def allocate_probabilities(pool: Pool, influence: Floats, options: PlanOptions) -> Floats:
    """Return the probability that people judge each document if its query is drawn."""
    usable = pool.machine >= 0
    influence = np.where(usable, influence, 0.0)
    order = np.lexsort((-influence, pool.rows.query))
    first = order[pool.starts[:-1]]  # the most important document of each query
    wanted = min(options.per_query, float(usable.sum() / len(first)))

    def at(scale: float) -> Floats:
        probability = np.where(usable, np.clip(scale * influence, options.least, 1.0), 0.0)
        probability[first] = 1.0
        return probability

    low, high = 0.0, 1.0 / max(float(influence[influence > 0].min(initial=1.0)), 1e-9)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle).sum() > wanted * len(first) else (middle, high)
    return at(low)


def draw_queries(
    pool: Pool, probability: Floats, free: Ints, options: PlanOptions
) -> tuple[Ints, Floats]:
    """Draw queries, and for each the number that its documents' probabilities must reach."""
    rng = np.random.default_rng(options.seed)
    shuffled = rng.permutation(free)
    cut = (rng.random() + _GOLDEN * np.arange(1, len(shuffled) + 1)) % 1.0
    cut = 1.0 - cut  # above 0, so that a document of probability 0 is never judged
    sums = np.add.reduceat(probability, pool.starts[:-1])[free]
    squares = np.add.reduceat(probability * (1 - probability), pool.starts[:-1])[free]
    mean, deviation = float(sums.mean()), float(np.sqrt(np.var(sums) + squares.mean()))
    number = np.arange(1, len(free) + 1)
    fits = number * mean + _MARGIN * deviation * np.sqrt(number) <= options.budget
    chosen = shuffled[: max(2, int(fits.sum()))]
    costs = [
        int((probability[pool.starts[q] : pool.starts[q + 1]] >= u).sum())
        for q, u in zip(chosen, cut, strict=False)
    ]
    within = int((np.cumsum(costs) <= options.budget).sum())  # rarely all do not fit
    if within < 2:
        raise CitebedError(
            f"{options.budget} judgements are too few: a query takes {mean:.1f} on average, and an "
            "interval needs two queries. Raise the budget, or lower per_query."
        )
    return np.asarray(chosen[:within], np.int64), np.asarray(cut[:within], np.float64)
