"""Changes from one judgement set to another: means, correlations, significance, queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal

import numpy as np

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import Design, Resampling
from citebed.evaluation.scoring.comparison import Comparison, compare_scores
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.scoring.run_scores import RunScores
from citebed.evaluation.statistics import kendall_tau, pearson, spearman, tau_ap
from citebed.frames import FlatRow
from citebed.runs.tables import Floats

SYSTEMS = "systems"
QUERIES = "queries"
Outcome = Literal["survives", "vanishes", "appears", "turns round", "none"]
OUTCOMES: tuple[Outcome, ...] = ("survives", "vanishes", "appears", "turns round", "none")
Move = Literal["from best", "from 0", "fell", "rose"]
NEGLIGIBLE = 1e-12
_FEW = 100


# --- means ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change(FlatRow):
    """A run's summary under both sets, with the numbers of queries that rose, stayed and fell."""

    run: str
    measure: str
    queries: int
    before: float
    after: float
    change: float
    rose: int
    same: int
    fell: int


def score_changes(before: Evaluation, after: Evaluation) -> list[Change]:
    """Return the change of every run under every measure."""
    rows = []
    for x, y in zip(before.runs, after.runs, strict=True):
        for at, measure in enumerate(before.measures):
            moved = y.values[at] - x.values[at]
            rose, fell = int((moved > NEGLIGIBLE).sum()), int((moved < -NEGLIGIBLE).sum())
            ends = measure.summary(x.values[at]), measure.summary(y.values[at])
            rows.append(
                Change(
                    x.run, str(measure), len(moved), *ends, ends[1] - ends[0],
                    rose, len(moved) - rose - fell, fell,
                )
            )  # fmt: skip
    return rows


# --- correlations ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement(FlatRow):
    """Correlations of ``n`` scores under two judgement sets.

    ``of`` is "systems" (the runs' means; ``run`` is "all") or "queries" (the scores of one
    ``run``). ``tau_ap`` is asymmetric and treats the second set as the truth. Correlations are nan
    for fewer than two scores, or if all scores are equal.
    """

    measure: str
    of: str
    run: str
    n: int
    kendall: float
    tau_ap: float
    spearman: float
    pearson: float


def is_by_query(measure: Measure) -> bool:
    """Return True if a measure has its own scores per query.

    Geometric means lack them: the scores of GMAP equal AP's, except for their floor.
    """
    return measure.SUMMARY == "mean"


def agreements(before: Evaluation, after: Evaluation) -> list[Agreement]:
    """Return, per measure, the correlation of the systems and of the queries of every run."""
    rows = []
    for at, measure in enumerate(before.measures):
        means = [
            [measure.summary(scores.values[at]) for scores in side.runs] for side in (before, after)
        ]
        rows.append(agreement(str(measure), SYSTEMS, "all", *means))
        if is_by_query(measure):
            rows += [
                agreement(str(measure), QUERIES, x.run, x.values[at], y.values[at])
                for x, y in zip(before.runs, after.runs, strict=True)
            ]
    return rows


def agreement(
    measure: str,
    of: str,
    run: str,
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
) -> Agreement:
    """Compute the four correlations of two lists of scores."""
    return Agreement(
        measure=measure,
        of=of,
        run=run,
        n=len(before),
        kendall=kendall_tau(before, after),
        tau_ap=tau_ap(after, before),
        spearman=spearman(before, after),
        pearson=pearson(before, after),
    )


# --- significant differences ----------------------------------------------------------------


@dataclass(frozen=True)
class SignificanceChange(FlatRow):
    """A pair of runs under one measure, tested under both judgement sets.

    Differences are ``run`` minus ``base`` on the measure's scale (geometric means are tested on
    logarithms, though); p-values are corrected. The ``fate`` of a significant difference under the
    first set is ``survives`` if it is significant in the same direction under the second,
    ``turns round`` if in the other direction, otherwise ``vanishes``. It is ``appears`` if only the
    second set has a significant difference, and ``none`` if neither has.

    ``shift`` is the increase of the difference from the first to the second set. Its p-value, from
    the same test on the increases per query, shows whether one set favours one run.
    """

    measure: str
    base: str
    run: str
    before_difference: float
    before_p: float
    after_difference: float
    after_p: float
    fate: Outcome
    shift: float = math.nan
    shift_p: float = math.nan


def significance_changes(
    before: Evaluation, after: Evaluation, design: Design, resampling: Resampling
) -> list[SignificanceChange]:
    """Test every pair of runs under both sets; return nothing for a single run."""
    if len(before.runs) < 2:
        return []
    frugal = without_intervals(design, resampling)
    gains = []
    for x, y in zip(before.runs, after.runs, strict=True):
        scores = zip(x.measures, x.values, y.values, strict=True)
        # Differences per query, or ratios for geometric means.
        rows = [b / a if m.SUMMARY == "geometric mean" else b - a for m, a, b in scores]
        gains.append(replace(y, values=np.stack(rows)))
    sides = (compare_scores(runs, design, frugal) for runs in (before.runs, after.runs, gains))
    return [
        SignificanceChange(
            measure=x.measure, base=x.base, run=x.run,
            before_difference=x.value - x.base_value, before_p=x.p_adjusted,
            after_difference=y.value - y.base_value, after_p=y.p_adjusted,
            fate=classify_change(x, y),
            shift=(y.value - y.base_value) - (x.value - x.base_value), shift_p=gain.p_adjusted,
        )
        for x, y, gain in zip(*sides, strict=True)
    ]  # fmt: skip


def without_intervals(design: Design, resampling: Resampling) -> Resampling:
    """Reduce the number of samples if only intervals need them, which are not shown."""
    if design.test != "t" or design.correction == "tukey":
        return resampling
    return replace(resampling, samples=_FEW)


def classify_change(before: Comparison, after: Comparison) -> Outcome:
    """Classify how a difference changes from the first set to the second."""
    if before.significant and after.significant:
        same = (before.difference > 0) == (after.difference > 0)
        return "survives" if same else "turns round"
    if before.significant:
        return "vanishes"
    return "appears" if after.significant else "none"


def count_outcomes(conclusions: Sequence[SignificanceChange]) -> dict[str, Counter[Outcome]]:
    """Count the differences of each outcome, per measure."""
    counted: dict[str, Counter[Outcome]] = {}
    for conclusion in conclusions:
        counted.setdefault(conclusion.measure, Counter())[conclusion.fate] += 1
    return counted


# --- queries that move ----------------------------------------------------------------------


@dataclass(frozen=True)
class QueryChange(FlatRow):
    """A query whose score changes under the second set.

    ``move`` is "from best" if the score fell from the measure's highest value (usually 1), "from 0"
    if it rose from 0, otherwise "fell" or "rose". ``before_relevant`` and ``after_relevant`` count
    the query's relevant documents: most queries that fell from 1 had a single one.
    """

    measure: str
    run: str
    query_id: str
    before: float
    after: float
    change: float
    move: Move
    before_relevant: int
    after_relevant: int


def query_changes(
    measure: Measure,
    before: RunScores,
    after: RunScores,
    relevant: tuple[Mapping[str, int], Mapping[str, int]],
    largest: int,
) -> list[QueryChange]:
    """Return all queries that fell from the best value or rose from 0, and the largest others.

    ``largest`` limits the others in each direction. The largest change comes first.
    """
    at = before.measures.index(measure)
    scores = (side.values[at].tolist() for side in (before, after))
    rows = [
        QueryChange(
            measure=str(measure), run=before.run, query_id=query,
            before=x, after=y, change=y - x, move=_move(measure, x, y),
            before_relevant=relevant[0].get(query, 0), after_relevant=relevant[1].get(query, 0),
        )
        for query, x, y in zip(before.query_ids.to_list(), *scores, strict=True)
        if abs(y - x) > NEGLIGIBLE
    ]  # fmt: skip
    rows.sort(key=lambda mover: (-abs(mover.change), mover.query_id))
    chosen = {id(mover) for mover in rows if mover.move in ("from best", "from 0")}
    for move in ("fell", "rose"):
        chosen |= {id(mover) for mover in [m for m in rows if m.move == move][:largest]}
    return [mover for mover in rows if id(mover) in chosen]


def _move(measure: Measure, before: float, after: float) -> Move:
    if after < before:
        return "from best" if before >= measure.RANGE[1] - NEGLIGIBLE else "fell"
    return "from 0" if abs(before) <= NEGLIGIBLE else "rose"


# --- summary over all runs ------------------------------------------------------------------


@dataclass(frozen=True)
class ContrastSummary(FlatRow):
    """The changes of one measure under the second set, over all runs.

    ``change`` is the mean change of the runs; ``rose`` and ``fell`` count runs. ``queries_rose``
    and ``queries_fell`` are shares of the queries of all runs. ``from_best`` and ``from_0`` count
    queries that fell from the best value, or rose from 0, in any run. ``systems_kendall`` is
    Kendall's τ of the runs' order, ``queries_kendall`` the median over runs of the τ of their
    queries. The last four fields count significant differences between runs, by outcome.
    """

    measure: str
    runs: int
    change: float
    rose: int
    fell: int
    queries_rose: float
    queries_fell: float
    from_best: int
    from_0: int
    systems_kendall: float
    queries_kendall: float
    survive: int
    vanish: int
    appear: int
    turn_round: int


def summarise_contrast(
    changes: Sequence[Change],
    agreements: Sequence[Agreement],
    conclusions: Sequence[SignificanceChange],
    movers: Sequence[QueryChange],
) -> list[ContrastSummary]:
    """Return one summary per measure."""
    counted = count_outcomes(conclusions)
    summaries = []
    for measure in dict.fromkeys(of.measure for of in changes):
        runs = [of for of in changes if of.measure == measure]
        correlated = [of for of in agreements if of.measure == measure]
        moves = {(of.query_id, of.move) for of in movers if of.measure == measure}
        fate = counted.get(measure, Counter())
        by_query = [of.kendall for of in correlated if of.of != SYSTEMS]
        queries = sum(of.queries for of in runs)
        known = [tau for tau in by_query if not math.isnan(tau)]
        summaries.append(
            ContrastSummary(
                measure=measure,
                runs=len(runs),
                change=fmean(of.change for of in runs),
                rose=sum(of.change > NEGLIGIBLE for of in runs),
                fell=sum(of.change < -NEGLIGIBLE for of in runs),
                queries_rose=sum(of.rose for of in runs) / queries if by_query else math.nan,
                queries_fell=sum(of.fell for of in runs) / queries if by_query else math.nan,
                from_best=sum(move == "from best" for _, move in moves),
                from_0=sum(move == "from 0" for _, move in moves),
                systems_kendall=next(of.kendall for of in correlated if of.of == SYSTEMS),
                queries_kendall=median(known) if known else math.nan,
                survive=fate["survives"],
                vanish=fate["vanishes"],
                appear=fate["appears"],
                turn_round=fate["turns round"],
            )
        )
    return summaries
