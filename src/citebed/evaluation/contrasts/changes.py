"""Changes from one judgement set to another: means, correlations, significance, queries.

Each function returns a table; its docstring explains the columns. Unknown values are null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any, Literal

import numpy as np
import polars as pl

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import Design, Resampling
from citebed.evaluation.scoring.comparison import Comparison, compare_scores
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.statistics.correlations import kendall_tau, pearson, spearman, tau_ap
from citebed.runs.tables import Floats, Qrels

SYSTEMS = "systems"
Outcome = Literal["survives", "vanishes", "appears", "turns round", "none"]
OUTCOMES: tuple[Outcome, ...] = ("survives", "vanishes", "appears", "turns round", "none")
NEGLIGIBLE = 1e-12
_FEW = 100


def to_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return flat rows as a table; nan becomes null."""
    return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)


def score_changes(before: Evaluation, after: Evaluation) -> pl.DataFrame:
    """Return each run's summary under both sets, one row per run and measure.

    ``rose``, ``same`` and ``fell`` count its queries by their change.
    """
    rows = []
    for x, y in zip(before.runs, after.runs, strict=True):
        for at, measure in enumerate(before.measures):
            moved = y.values[at] - x.values[at]
            rose, fell = int((moved > NEGLIGIBLE).sum()), int((moved < -NEGLIGIBLE).sum())
            first, second = measure.summary(x.values[at]), measure.summary(y.values[at])
            rows.append(
                {
                    "run": x.run, "measure": str(measure), "queries": len(moved),
                    "before": first, "after": second, "change": second - first,
                    "rose": rose, "same": len(moved) - rose - fell, "fell": fell,
                }
            )  # fmt: skip
    return to_table(rows)


def is_by_query(measure: Measure) -> bool:
    """Return True if a measure has its own scores per query.

    Geometric means lack them: the scores of GMAP equal AP's, except for their floor.
    """
    return measure.SUMMARY == "mean"


def agreements(before: Evaluation, after: Evaluation) -> pl.DataFrame:
    """Return the correlations of ``n`` scores under both sets.

    ``of`` is "systems" (the runs' means; ``run`` is "all") or "queries" (the scores of one
    ``run``). ``tau_ap`` is asymmetric and treats the second set as the truth. Correlations are null
    for fewer than two scores, or if all scores are equal.
    """
    rows = []
    for at, measure in enumerate(before.measures):
        means = [
            [measure.summary(scores.values[at]) for scores in side.runs] for side in (before, after)
        ]
        rows.append(_agreement(measure, SYSTEMS, "all", *means))
        if is_by_query(measure):
            rows += [
                _agreement(measure, "queries", x.run, x.values[at], y.values[at])
                for x, y in zip(before.runs, after.runs, strict=True)
            ]
    return to_table(rows)


def _agreement(
    measure: Measure,
    of: str,
    run: str,
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
) -> dict[str, Any]:
    return {
        "measure": str(measure), "of": of, "run": run, "n": len(before),
        "kendall": kendall_tau(before, after), "tau_ap": tau_ap(after, before),
        "spearman": spearman(before, after), "pearson": pearson(before, after),
    }  # fmt: skip


def significance_changes(
    before: Evaluation, after: Evaluation, design: Design, resampling: Resampling
) -> pl.DataFrame:
    """Test every pair of runs under both sets; the table is empty for a single run.

    Differences are ``run`` minus ``base`` on the measure's scale (geometric means are tested on
    logarithms, though); p-values are corrected. The ``fate`` of a significant difference under the
    first set is ``survives`` if it is significant in the same direction under the second,
    ``turns round`` if in the other direction, otherwise ``vanishes``. It is ``appears`` if only the
    second set has a significant difference, and ``none`` if neither has.

    ``shift`` is the increase of the difference from the first to the second set. Its p-value, from
    the same test on the increases per query, shows whether one set favours one run.
    """
    if len(before.runs) < 2:
        return pl.DataFrame()
    frugal = without_intervals(design, resampling)
    gains = []
    for x, y in zip(before.runs, after.runs, strict=True):
        scores = zip(x.measures, x.values, y.values, strict=True)
        # Differences per query, or ratios for geometric means.
        rows = [b / a if m.SUMMARY == "geometric mean" else b - a for m, a, b in scores]
        gains.append(replace(y, values=np.stack(rows)))
    sides = (compare_scores(runs, design, frugal) for runs in (before.runs, after.runs, gains))
    return to_table(
        [
            {
                "measure": x.measure, "base": x.base, "run": x.run,
                "before_difference": x.value - x.base_value, "before_p": x.p_adjusted,
                "after_difference": y.value - y.base_value, "after_p": y.p_adjusted,
                "fate": _classify(x, y),
                "shift": (y.value - y.base_value) - (x.value - x.base_value),
                "shift_p": gain.p_adjusted,
            }
            for x, y, gain in zip(*sides, strict=True)
        ]
    )  # fmt: skip


def without_intervals(design: Design, resampling: Resampling) -> Resampling:
    """Reduce the number of samples if only intervals need them, which are not shown."""
    if design.test != "t" or design.correction == "tukey":
        return resampling
    return replace(resampling, samples=_FEW)


def _classify(before: Comparison, after: Comparison) -> Outcome:
    """Classify how a difference changes from the first set to the second."""
    if before.significant and after.significant:
        same = (before.difference > 0) == (after.difference > 0)
        return "survives" if same else "turns round"
    if before.significant:
        return "vanishes"
    return "appears" if after.significant else "none"


def count_outcomes(conclusions: pl.DataFrame) -> dict[str, Counter[str]]:
    """Count the differences of each outcome, per measure."""
    counted: dict[str, Counter[str]] = {}
    for row in conclusions.iter_rows(named=True):
        counted.setdefault(row["measure"], Counter())[row["fate"]] += 1
    return counted


def relevant_counts(qrels: Qrels, rel: int) -> dict[str, int]:
    """Count the relevant documents of each query that has any."""
    counts = qrels.table.filter(pl.col("relevance") >= rel).group_by("query_id").len()
    return dict(counts.iter_rows())


def scores_by_query(before: Evaluation, after: Evaluation) -> pl.DataFrame:
    """Return each query's scores under both sets, for measures that have scores per query."""
    names = [str(measure) for measure in before.measures if is_by_query(measure)]
    scores = before.table().rename({"value": "before"})
    both = scores.with_columns(after=after.table()["value"])
    return both.filter(pl.col("measure").is_in(names))


def query_changes(
    queries: pl.DataFrame,
    measures: Sequence[Measure],
    sets: tuple[Qrels, Qrels],
    largest: int,
) -> pl.DataFrame:
    """Return all queries that fell from the best value or rose from 0, and the largest others.

    ``queries`` is the result of `scores_by_query`. ``move`` is "from best" if the score fell from
    the measure's highest value (usually 1), "from 0" if it rose from 0, otherwise "fell" or "rose";
    ``largest`` limits these two. ``before_relevant`` and ``after_relevant`` count the query's
    relevant documents: most queries that fell from 1 had a single one. The largest change of a run
    comes first.
    """
    named = {str(measure): measure for measure in measures}
    order = {name: at for at, name in enumerate(named)}
    best = {name: measure.RANGE[1] - NEGLIGIBLE for name, measure in named.items()}
    was, change, move = pl.col("before"), pl.col("change"), pl.col("move")
    fell = pl.when(was >= pl.col("measure").replace_strict(best)).then(pl.lit("from best"))
    rose = pl.when(was.abs() <= NEGLIGIBLE).then(pl.lit("from 0"))
    moved = queries.with_columns(change=pl.col("after") - was).filter(change.abs() > NEGLIGIBLE)
    kind = pl.when(change < 0).then(fell.otherwise(pl.lit("fell")))
    runs = pl.col("run").rle_id()  # in the order of the evaluation
    movers = (
        moved.with_columns(
            move=kind.otherwise(rose.otherwise(pl.lit("rose"))),
            run_at=runs,
            measure_at=pl.col("measure").replace_strict(order, return_dtype=pl.Int64),
        )
        .sort("measure_at", "run_at", -change.abs(), "query_id")
        .filter(
            move.is_in(["from best", "from 0"])
            | (move.cum_count().over("measure", "run", "move") <= largest)
        )
        .select("measure", "run", "query_id", "before", "after", "change", "move")
    )
    for name, qrels in zip(("before_relevant", "after_relevant"), sets, strict=True):
        counts = {measure: relevant_counts(qrels, max(1, of.rel)) for measure, of in named.items()}
        pairs = movers.select("measure", "query_id").iter_rows()
        numbers = [counts[measure].get(query, 0) for measure, query in pairs]
        movers = movers.with_columns(pl.Series(name, numbers, pl.Int64))
    return movers


def summarise_contrast(
    changes: pl.DataFrame,
    agreements: pl.DataFrame,
    conclusions: pl.DataFrame,
    movers: pl.DataFrame,
) -> pl.DataFrame:
    """Return the changes of each measure under the second set, over all runs.

    ``change`` is the mean change of the runs; ``rose`` and ``fell`` count runs. ``queries_rose``
    and ``queries_fell`` are shares of the queries of all runs. ``from_best`` and ``from_0`` count
    queries that fell from the best value, or rose from 0, in any run. ``systems_kendall`` is
    Kendall's τ of the runs' order, ``queries_kendall`` the median over runs of the τ of their
    queries. The last four columns count significant differences between runs, by outcome.
    """
    counted = count_outcomes(conclusions)
    rows = []
    for measure in changes["measure"].unique(maintain_order=True):
        runs = changes.filter(measure=measure)
        correlated = agreements.filter(measure=measure)
        by_query = correlated.filter(pl.col("of") != SYSTEMS)["kendall"]
        known = by_query.drop_nulls().to_list()
        moves = set(movers.filter(measure=measure).select("query_id", "move").iter_rows())
        outcomes = counted.get(measure, Counter())
        queries = sum(runs["queries"]) if len(by_query) else 0
        rows.append(
            {
                "measure": measure,
                "runs": runs.height,
                "change": fmean(runs["change"]),
                "rose": int((runs["change"] > NEGLIGIBLE).sum()),
                "fell": int((runs["change"] < -NEGLIGIBLE).sum()),
                "queries_rose": sum(runs["rose"]) / queries if queries else None,
                "queries_fell": sum(runs["fell"]) / queries if queries else None,
                "from_best": sum(move == "from best" for _, move in moves),
                "from_0": sum(move == "from 0" for _, move in moves),
                "systems_kendall": correlated.filter(of=SYSTEMS)["kendall"].item(),
                "queries_kendall": median(known) if known else None,
                "survive": outcomes["survives"],
                "vanish": outcomes["vanishes"],
                "appear": outcomes["appears"],
                "turn_round": outcomes["turns round"],
            }
        )
    return to_table(rows)
