"""What a second judgement set changes: means, correlations, significant differences, queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal

import numpy as np

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparison import Comparison, Design, compare_scores
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.scoring.run_scores import Resampling, RunScores
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
    """A run's summary under both sets, and how many queries rose, stayed and fell."""

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
    """Every run under every measure."""
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
    """Correlations of the same ``n`` things under two judgement sets.

    ``of`` is "systems" (by their means; ``run`` is "all") or "queries" (the scores of one
    ``run``). ``tau_ap`` takes the second set for the truth and is not symmetric; the others
    are. nan where there are fewer than two things or they all score alike.
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
    """Whether a measure has scores of its own query by query.

    A geometric mean has not: GMAP's are AP's, but for their floor.
    """
    return measure.SUMMARY == "mean"


def agreements(before: Evaluation, after: Evaluation) -> list[Agreement]:
    """Per measure: of the systems, then of the queries of every run."""
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
    """The four correlations of two lists of scores."""
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

    The differences are ``run`` less ``base`` on the measure's own scale (of geometric means too,
    which are tested on logarithms), the p-values after the correction. A significant
    difference of the first set ``survives`` when it is significant in the same direction under
    the second, ``turns round`` when in the other, and else ``vanishes``; one that only the
    second set shows ``appears``; ``none`` is no significant difference under either.

    ``shift`` is by how much the difference is larger under the second set, with the p-value of
    the same test on what each query's difference gained: whether one set favours one run.
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
    """The fate of every difference between the runs; empty for a single run."""
    if len(before.runs) < 2:
        return []
    frugal = without_intervals(design, resampling)
    gains = [_gained(x, y) for x, y in zip(before.runs, after.runs, strict=True)]
    sides = (compare_scores(runs, design, frugal) for runs in (before.runs, after.runs, gains))
    return [
        SignificanceChange(
            measure=x.measure, base=x.base, run=x.run,
            before_difference=summary_difference(x), before_p=x.p_adjusted,
            after_difference=summary_difference(y), after_p=y.p_adjusted,
            fate=classify_change(x, y),
            shift=summary_difference(y) - summary_difference(x), shift_p=gain.p_adjusted,
        )
        for x, y, gain in zip(*sides, strict=True)
    ]  # fmt: skip


def _gained(before: RunScores, after: RunScores) -> RunScores:
    """The gains of a run: differences, and quotients where logarithms are averaged."""
    sides = zip(before.measures, before.values, after.values, strict=True)
    gains = [y / x if measure.SUMMARY == "geometric mean" else y - x for measure, x, y in sides]
    return replace(after, values=np.stack(gains))


def summary_difference(of: Comparison) -> float:
    """The run's summary less its base's, on the measure's own scale."""
    return of.value - of.base_value


def without_intervals(design: Design, resampling: Resampling) -> Resampling:
    """The same with few draws, where only intervals, which are not shown, would be drawn."""
    if design.test != "t" or design.correction == "tukey":
        return resampling
    return replace(resampling, samples=_FEW)


def classify_change(before: Comparison, after: Comparison) -> Outcome:
    """What becomes of a difference."""
    if before.significant and after.significant:
        same = (before.difference > 0) == (after.difference > 0)
        return "survives" if same else "turns round"
    if before.significant:
        return "vanishes"
    return "appears" if after.significant else "none"


def count_outcomes(conclusions: Sequence[SignificanceChange]) -> dict[str, Counter[Outcome]]:
    """For each measure, how many differences had which fate."""
    counted: dict[str, Counter[Outcome]] = {}
    for conclusion in conclusions:
        counted.setdefault(conclusion.measure, Counter())[conclusion.fate] += 1
    return counted


# --- queries that move ----------------------------------------------------------------------


@dataclass(frozen=True)
class QueryChange(FlatRow):
    """A query that a run scores otherwise under the second set.

    ``move`` is "from best" where it fell from the measure's highest value (1 for nearly all),
    "from 0" where it rose from 0, else "fell" or "rose". ``before_relevant`` and
    ``after_relevant`` count its relevant documents: one that fell from 1 had mostly a single
    one, and that was found.
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
    """All queries that fell from the best value or rose from 0, and the largest other moves.

    ``largest`` limits the latter, in each direction. Largest move first; of equal ones by id.
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


# --- a row a measure: what a second judgement set does to all runs together -----------------


@dataclass(frozen=True)
class ContrastSummary(FlatRow):
    """What becomes of one measure under the second set.

    ``change`` is the mean over runs of their changes, ``rose`` and ``fell`` count the runs.
    ``queries_rose`` and ``queries_fell`` are shares of the queries of all runs; ``from_best`` and
    ``from_0`` count queries that fell from the best value, or rose from 0, in some run.
    ``systems_kendall`` is Kendall's τ of the runs' order, ``queries_kendall`` the median over the
    runs of that of their queries. The last four count significant differences between runs.
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
    """A row for each measure."""
    counted = count_outcomes(conclusions)
    return [
        _digest(
            [of for of in changes if of.measure == measure],
            [of for of in agreements if of.measure == measure],
            counted.get(measure, Counter()),
            [of for of in movers if of.measure == measure],
        )
        for measure in dict.fromkeys(of.measure for of in changes)
    ]


def _digest(
    changes: Sequence[Change],
    agreements: Sequence[Agreement],
    fate: Counter[Outcome],
    movers: Sequence[QueryChange],
) -> ContrastSummary:
    by_query = [of.kendall for of in agreements if of.of != SYSTEMS]
    queries = sum(of.queries for of in changes)
    known = [tau for tau in by_query if not math.isnan(tau)]
    return ContrastSummary(
        measure=changes[0].measure,
        runs=len(changes),
        change=fmean(of.change for of in changes),
        rose=sum(of.change > NEGLIGIBLE for of in changes),
        fell=sum(of.change < -NEGLIGIBLE for of in changes),
        queries_rose=sum(of.rose for of in changes) / queries if by_query else math.nan,
        queries_fell=sum(of.fell for of in changes) / queries if by_query else math.nan,
        from_best=len({of.query_id for of in movers if of.move == "from best"}),
        from_0=len({of.query_id for of in movers if of.move == "from 0"}),
        systems_kendall=next(of.kendall for of in agreements if of.of == SYSTEMS),
        queries_kendall=median(known) if known else math.nan,
        survive=fate["survives"],
        vanish=fate["vanishes"],
        appear=fate["appears"],
        turn_round=fate["turns round"],
    )
