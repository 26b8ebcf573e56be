"""Scores from a few human judgements and a machine's judgements of the whole pool.

The score to estimate is the one with human judgements of every document that the machine judged.
People judged either every document of some queries, drawn at random, whose scores then enter
`powered_mean` as they are; or documents by a **plan**, which has the probability p_j that they get
as far as the j-th document of a drawn query (`citebed.evaluation.scoring.judgement_plan`). If the
human grade of the j-th document, after those before it, changes the query's score by δ_j, then

    machine's score + Σ δ_j / p_j over the judged documents

has the expectation of the query's complete human score, for every measure and every judge.
Beginning with no grades instead of the machine's gives the human-only estimate from the same
judgements. docs/machine-judges.md explains it at length, with its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.sets import PAIR, load_grades
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings
from citebed.evaluation.options import DEFAULT_MEASURES, TREC_EVAL, Resampling, Settings
from citebed.evaluation.scoring.run_scores import match_checked
from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.prediction_powered import Sample, powered_mean
from citebed.frames import FlatRow, TableResult, rows_to_frame
from citebed.runs.ranking import SortedQrels, prepare, query_blocks, rank
from citebed.runs.reader import as_run, as_runs, check_names
from citebed.runs.tables import Flags, Floats, Ints, Qrels, Run
from citebed.wording import count

_CELLS = 1 << 21  # judgements in memory at a time

Grades = Ints | Callable[[Ints, Ints], Ints]
"""The grades of all documents, or a function from rows of the pool and the numbers of their states
to grades."""


def ranges(starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """Return the numbers from each start up to each stop in a row, and which range each is of."""
    sizes = stops - starts
    which = np.repeat(np.arange(len(starts)), sizes)
    within = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return starts[which] + within, which


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents that the machine or people judged, by query.

    ``rows`` numbers them in place of grades. ``machine`` and ``human`` are their grades, below 0 if
    unjudged. ``probability`` is the chance that people judge a document if its query is drawn: 1
    without a plan. ``used`` marks the human judgements that count: those of the plan, or of queries
    that people judged wholly.
    """

    rows: SortedQrels
    machine: Ints
    human: Ints
    probability: Floats
    used: Flags

    @property
    def starts(self) -> Ints:
        """The first row of each query, and the end."""
        return self.rows.starts

    @cached_property
    def drawn(self) -> Flags:
        """Which queries people judged, wholly or as planned."""
        return np.asarray(np.logical_or.reduceat(self.used, self.starts[:-1]))

    def match(self, run: Run, settings: Settings) -> Rankings:
        """Match a run with the pool; the relevance in these rankings is the row of the pool."""
        rankings = match_checked(self.rows, rank(run, settings.score_type))
        if not rankings.in_run.any():
            raise CitebedError(
                f"the run '{run.name}' has no query that the machine judged. "
                "Do they belong together?"
            )
        return rankings

    def score(
        self, rankings: Rankings, measures: Sequence[Measure], query: Ints, grades: Grades
    ) -> Floats:
        """Score a run under other judgements; return one row per measure, one column per state.

        A state is a query with grades for its documents, and ``query`` has the query of each state.
        """
        first = np.searchsorted(rankings.query, np.arange(rankings.queries + 1))
        values = [np.empty((len(measures), 0))]
        for begin, end in query_blocks(np.diff(self.starts)[query], _CELLS):
            some = query[begin:end]
            pairs, state = ranges(self.starts[some], self.starts[some + 1])
            labels = grades(pairs, state + begin) if callable(grades) else grades[pairs]
            row, of = ranges(first[some], first[some + 1])
            before = np.searchsorted(state, np.arange(len(some))) - self.starts[some]
            states = replace(
                rankings.rows(row),
                query_ids=rankings.query_ids.gather(some),
                in_run=rankings.in_run[some],
                retrieved=rankings.retrieved[some],
                query=of,
                relevance=labels[before[of] + rankings.relevance[row]],
                judged_query=state,
                judged_relevance=labels[np.lexsort((-labels, state))],
                highest=int(max(1, self.machine.max(), self.human.max())),
                counts={},
            )
            values.append(np.stack([measure.values(states) for measure in measures]))
        return np.hstack(values)

    def steps(
        self, rankings: Rankings, measures: Sequence[Measure], queries: Ints, base: Ints
    ) -> tuple[Ints, Floats, Floats]:
        """Replace the grades ``base`` by those of people, the most probable documents first.

        Return, per step, the place of its query in ``queries``, its probability, and the changes of
        the scores. A query begins with a step of probability 1 to its scores under ``base``. One
        step replaces all documents with the same probability.
        """
        rows, of = ranges(self.starts[queries], self.starts[queries + 1])
        steps = np.stack([of, -self.probability[rows]], axis=1)[self.used[rows]]
        begins = np.stack([np.arange(len(queries)), np.full(len(queries), -np.inf)], axis=1)
        number, reached = np.unique(np.vstack([begins, steps]), axis=0).T

        def grades(pairs: Ints, state: Ints) -> Ints:
            replaced = self.used[pairs] & (self.probability[pairs] >= -reached[state])
            return np.where(replaced, self.human[pairs], base[pairs])

        number = number.astype(np.int64)
        scores, first = self.score(rankings, measures, queries[number], grades), np.isinf(reached)
        changes = np.where(first, scores, np.diff(scores, axis=1, prepend=0.0))
        return number, np.where(first, 1.0, -reached), changes

    def estimates(
        self, rankings: Rankings, measures: Sequence[Measure], queries: Ints, base: Ints
    ) -> Floats:
        """Estimate the human scores of drawn queries, beginning with the grades ``base``."""
        number, probability, changes = self.steps(rankings, measures, queries, base)
        first = np.searchsorted(number, np.arange(len(queries)))
        return np.asarray(np.add.reduceat(changes / probability, first, axis=1))

    def flips(self, rankings: Rankings, measure: Measure, rows: Ints) -> Floats:
        """Return how far the query's score moves if the machine's grade of a document is wrong.

        A relevant document becomes not relevant, and any other one relevant.
        """
        rel = max(measure.rel, 1)
        turned = np.where(self.machine >= rel, 0, rel)

        def grades(pairs: Ints, state: Ints) -> Ints:
            return np.where(pairs == rows[state], turned[pairs], self.machine[pairs])

        (now,) = self.score(rankings, [measure], np.arange(rankings.queries), self.machine)
        (then,) = self.score(rankings, [measure], self.rows.query[rows], grades)
        return np.asarray(then - now[self.rows.query[rows]])

    @cached_property
    def doubt(self) -> Floats:
        """How likely the machine's grades are wrong, relative to those of accepted documents.

        It assumes that the machine rejects as many relevant documents as it accepts others.
        """
        accepted = self.machine >= 1
        share = (accepted.sum() + 1) / (len(accepted) + 2)
        return np.where(accepted, 1.0, min(1.0, share / (1 - share)))

    def error_size(self, flips: Floats, rows: Ints) -> float:
        """Return the mean square of what an error, found among ``rows``, adds to an estimate."""
        return float(np.average((flips / self.probability[rows]) ** 2, weights=self.doubt[rows]))


def make_pool(human: Any, machine: Any, plan: Any = None) -> Pool:
    """Join human and machine judgements, and the plan of the human ones, into a pool."""
    judged = load_grades(machine, "machine")
    if not judged.height:
        raise CitebedError("the machine judged no document.")
    pool = judged.join(load_grades(human, "human"), on=PAIR, how="full", coalesce=True)
    pool = pool.join(judged, on="query_id", how="semi")
    if plan is None:
        done = pl.col("human").is_not_null()
        whole = (done | pl.col("machine").is_null()).all().over("query_id")
        pool = pool.with_columns(probability=pl.lit(1.0), used=done & whole)
    else:
        pool = _join_plan(pool, as_run(plan, "plan"))
    pool = pool.sort(PAIR).with_columns(pl.col("machine", "human").fill_null(-1))
    numbered = pool.select(*PAIR, relevance=pl.lit(0, pl.Int64))
    rows = prepare(Qrels(numbered, "plan"))  # in the same order; only a plan may repeat a document
    columns = {name: pool[name].to_numpy() for name in pool.columns if name not in PAIR}
    return Pool(rows=replace(rows, relevance=np.arange(pool.height)), **columns)


def _join_plan(pool: pl.DataFrame, plan: Run) -> pl.DataFrame:
    """Add the probabilities of a plan; check that all its documents were judged."""
    table = plan.table.select(*PAIR, probability="score")
    if not table.height or not table["probability"].is_between(1e-6, 1.0).all():
        raise CitebedError(
            f"{plan.name}: the scores of a plan are probabilities, above 0 and up to 1. "
            "Give the plan as citebed wrote it."
        )
    other = table.join(pool, on=PAIR, how="anti")
    if other.height:
        query, doc, _ = other.row(0)
        raise CitebedError(
            f"{plan.name}: the plan has '{doc}' for the query '{query}', which the machine "
            "did not judge. Give the machine's judgements that the plan was made from."
        )
    missing = table.join(pool.drop_nulls("human"), on=PAIR, how="anti").sort(PAIR)
    if missing.height:
        query, doc, _ = missing.row(0)
        raise CitebedError(
            f"{missing.height:,} of {count(table.height, 'planned judgement')} are missing, "
            f"'{doc}' for the query '{query}' for one. Judge them first: a score from what is easy "
            "to judge would be biased."
        )
    pool = pool.join(table, on=PAIR, how="left")
    used = pl.col("probability").is_not_null()
    return pool.with_columns(used=used, probability=pl.col("probability").fill_null(1.0))


# --- evaluation -------------------------------------------------------------------------------


@dataclass(frozen=True)
class MachineScore(FlatRow):
    """A run's score, or its difference from ``base``: corrected, from people, and from the machine.

    ``value`` with ``low`` and ``high`` is the corrected score, and ``weight`` the λ of the machine.
    ``queries`` counts all queries of the run that the machine judged, ``drawn`` those that people
    judged, in ``clusters`` clusters, with ``judgements`` judgements.
    """

    run: str
    base: str | None
    measure: str
    value: float
    low: float
    high: float
    human: float
    human_low: float
    human_high: float
    machine: float
    machine_low: float
    machine_high: float
    weight: float
    queries: int
    drawn: int
    clusters: int
    judgements: int


@dataclass(frozen=True, eq=False, repr=False)
class MachineEvaluation(TableResult):
    """Corrected scores of runs, one row per run and measure, then differences from the baseline."""

    rows: tuple[MachineScore, ...]
    notes: tuple[str, ...]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per run and measure, with the fields of `MachineScore`."""
        return rows_to_frame(self.rows)

    def main_table(self) -> pl.DataFrame:
        return self.table.with_columns(pl.col(pl.Float64).round(4))


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """Options of scores from human and machine judgements.

    ``plan`` is the plan of the human judgements; without one, queries that people judged wholly
    are taken for a random sample. ``weight`` is the machine's weight λ from 0 to 1, by default
    chosen. With ``generalise``, intervals are about queries like these, not only about these.
    ``strata`` maps queries to strata that were sampled separately.
    """

    plan: Any = None
    baseline: str | None = None
    weight: float | None = None
    generalise: bool = False
    strata: Mapping[str, str] | None = None
    settings: Settings = TREC_EVAL
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise CitebedError(f"the weight of the machine is {self.weight}; expected 0 to 1.")


def evaluate_with_machine(
    human: Any,
    machine: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    options: MachineOptions | None = None,
) -> MachineEvaluation:
    """Score runs by a few human judgements and a machine's judgements of the whole pool.

    The corrected score has the expectation of the score under complete human judgements, even if
    the machine is bad; then its interval is wide. The module's text explains how.
    """
    options = options or MachineOptions()
    chosen = tuple(parse_measures(measures))
    for each in chosen:
        if each.SUMMARY != "mean":
            raise CitebedError(
                f"{each} is a {each.SUMMARY} over queries; only means can be corrected."
            )
    pool = make_pool(human, machine, options.plan)
    if pool.drawn.sum() < 2:
        raise CitebedError(
            f"people judged {count(int(pool.drawn.sum()), 'query')} of "
            f"{len(pool.drawn):,} wholly: every document that the machine judged. A corrected "
            "score needs 2 or more. Judge whole queries, or by a plan."
        )
    scored = [(run.name, _score_run(pool, run, chosen, options.settings)) for run in as_runs(runs)]
    names, base = [name for name, _ in scored], options.baseline
    check_names(names)
    wanted: list[tuple[str, str | None, Sequence[Floats]]]
    wanted = [(name, None, tables) for name, tables in scored]
    if base is not None:
        if base not in names:
            raise CitebedError(f"there is no run '{base}'; there are: {', '.join(names)}.")
        less = dict(scored)[base]
        pairs = ((name, zip(own, less, strict=True)) for name, own in scored if name != base)
        wanted += [(name, base, [a - b for a, b in tables]) for name, tables in pairs]
    rows = tuple(
        _estimate_mean(pool, name, against, measure, [table[at] for table in tables], options)
        for name, against, tables in wanted
        for at, measure in enumerate(chosen)
    )
    return MachineEvaluation(rows, _notes(pool, options))


def _score_run(
    pool: Pool, run: Run, measures: Sequence[Measure], settings: Settings
) -> tuple[Floats, ...]:
    """Return a run's scores, one row per measure.

    They are by query, nan for queries that do not count: the machine's, the human estimates of
    drawn queries, and what the same judgements say about the machine's scores. The last table has,
    per document that people judged, the effect of a wrong grade of the machine.
    """
    rankings = pool.match(run, settings)
    counted = rankings.in_run | settings.complete
    drawn, used = np.flatnonzero(pool.drawn & counted), np.flatnonzero(pool.used)
    known = pool.score(rankings, measures, np.arange(rankings.queries), pool.machine)
    human, beside = (
        pool.estimates(rankings, measures, drawn, base)
        for base in (np.full_like(pool.machine, -1), pool.machine)
    )
    scores = np.full((3, *known.shape), np.nan)
    scores[0] = np.where(counted, known, np.nan)
    scores[1][:, drawn] = human
    scores[2][:, drawn] = human - beside + known[:, drawn]
    flips = np.zeros((len(measures), len(pool.machine)))
    flips[:, used] = [pool.flips(rankings, measure, used) for measure in measures]
    return *scores, flips


def _estimate_mean(
    pool: Pool, name: str, base: str | None, measure: Measure, scores: list[Floats],
    options: MachineOptions,
) -> MachineScore:  # fmt: skip
    """Estimate the mean of one measure, or of its differences from the run ``base``."""
    queries = np.flatnonzero(~np.isnan(scores[0]))
    known, human, machine = (of[queries] for of in scores[:3])
    place = np.flatnonzero(~np.isnan(human))
    if not len(place):
        both = f"the run '{name}'" if base is None else f"both '{name}' and '{base}'"
        raise CitebedError(f"people judged no query of {both}. Judge one, or leave the run out.")
    ids = pool.rows.query_ids.gather(queries).to_list()
    resampling, labels = options.resampling, options.resampling.labels(ids)
    strata = None if options.strata is None else [options.strata.get(query, "") for query in ids]
    rows = np.flatnonzero(np.isin(pool.rows.query, queries[place]))
    used = rows[pool.used[rows]]
    certain = len(used) == len(rows) and bool((pool.probability[rows] == 1).all())
    whole = options.plan is None or certain
    sample = Sample(queries=len(ids), drawn=place, clusters=labels, strata=strata, whole=whole)
    least, most = measure.bounds or (-np.inf, np.inf)
    limits = (least, most) if base is None else (least - most, most - least)
    error = pool.error_size(scores[3][used], used)
    corrected, alone = (
        powered_mean(
            human[place], machine[place], known, sample, weight=weight, error=error,
            level=resampling.level, generalise=options.generalise,
        )
        for weight in (options.weight, 0.0)
    )  # fmt: skip
    machine_limits = mean_interval(
        known, clusters=labels, level=resampling.level, seed=resampling.seed,
        samples=resampling.draws(len(ids)), bounds=None if measure.bounds is None else limits,
    )  # fmt: skip
    value, low, high = np.clip(corrected[:3], *limits).tolist()
    people, people_low, people_high = np.clip(alone[:3], *limits).tolist()
    return MachineScore(
        name, base, str(measure), value, low, high, people, people_low, people_high,
        float(known.mean()), machine_limits.low, machine_limits.high, corrected.weight,
        len(ids), len(place), corrected.units, len(used),
    )  # fmt: skip


def _notes(pool: Pool, options: MachineOptions) -> tuple[str, ...]:
    """Return what a reader of the scores should know about their judgements."""
    drawn = count(int(pool.drawn.sum()), "query")
    unused = count(int(((pool.human >= 0) & ~pool.used).sum()), "human judgement")
    if options.plan is None:
        why = "of queries that were partly judged"
        note = f"people judged {drawn} of {len(pool.drawn):,} wholly; "
        note += "the estimate takes them for a random sample"
    else:
        why = "outside the plan"
        note = f"{count(int(pool.used.sum()), 'human judgement')} of {drawn}, by the plan"
    about = "these queries, had people judged all of the machine's pool"
    about = "queries like these" if options.generalise else about
    about = f"intervals of the human and corrected scores are about {about}"
    return (note, *([] if unused.startswith("0 ") else [f"{unused} {why}: not used"]), about)
