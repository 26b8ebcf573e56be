"""Scores from a few human judgements and a machine's judgements of the whole pool.

The score to estimate is the one that evaluating with complete human judgements would give: people
judge every document that the machine judged. Few human judgements can be of two kinds.

**Whole queries.** People judged every document of some queries, drawn at random. A query's human
and machine scores then enter `powered_mean` as they are.

**A plan** (`citebed.evaluation.scoring.judgement_plan`). In every drawn query, people judge the
most important documents first, and stop at a random depth: the plan says with which probability p_j
they get as far as the j-th document. Begin with the machine's grades and replace them by human ones
in the order of the plan. If replacing the j-th grade changes the query's score by δ_j, then

    machine's score + Σ δ_j / p_j over the judged documents

has the expectation of the query's complete human score, for every measure, linear or not, and every
judge: the δ_j of all documents sum to the difference of the two scores, and each counts with
probability p_j. This is the estimator of Horvitz & Thompson (1952) for the terms of a telescoping
sum, as in Rhee & Glynn (2015, Unbiased estimation with square root convergence for SDE models).
Sums over sampled documents, as in statAP or xinfAP, estimate the parts of a ratio such as nDCG or
AP instead, and their ratio is biased when few documents are judged.

Where the machine agrees with people, δ_j is exactly 0. Beginning with no grades instead of the
machine's gives the human-only estimate from the same judgements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.sets import PAIR
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.options import DEFAULT_MEASURES, TREC_EVAL, Resampling, Settings
from citebed.evaluation.statistics.intervals import mean_intervals
from citebed.evaluation.statistics.prediction_powered import PoweredMean, Sample, powered_mean
from citebed.evaluation.statistics.units import cluster_codes
from citebed.frames import FlatRow, TableResult, rows_to_frame
from citebed.runs.ranking import SortedQrels, check_repeated_documents, prepare, rank
from citebed.runs.reader import as_qrels, as_run, as_runs, check_names
from citebed.runs.tables import Flags, Floats, Ints, Qrels, Run
from citebed.wording import count

_CELLS = 1 << 21


Grades = Callable[[Ints, Ints], Ints]
"""Computes grades from rows of the pool and the numbers of their states."""


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
    unjudged. ``position`` counts each query's documents in the order of the plan, from 0, and
    ``probability`` is the chance that people judge it if the query is drawn: 1 without a plan.
    """

    rows: SortedQrels
    machine: Ints
    human: Ints
    position: Ints
    probability: Floats
    planned: Flags

    @property
    def starts(self) -> Ints:
        """The first row of each query, and the end."""
        return self.rows.starts

    @cached_property
    def drawn(self) -> Flags:
        """Which queries people judged, wholly or as planned."""
        wanted = self.planned if self.planned.any() else self.machine >= 0
        size = np.add.reduceat(wanted, self.starts[:-1])
        judged = np.add.reduceat(wanted & (self.human >= 0), self.starts[:-1])
        return np.asarray((size > 0) & (judged == size))

    def match(self, run: Run, settings: Settings) -> Rankings:
        """Match a run with the pool; the relevance in these rankings is the row of the pool."""
        ranked = rank(run, settings.score_type)
        check_repeated_documents(ranked)
        rankings = match(self.rows, ranked)
        if not rankings.in_run.any():
            raise CitebedError(
                f"the run '{run.name}' has no query that the machine judged. "
                "Do they belong together?"
            )
        return rankings

    def score(
        self, rankings: Rankings, measures: Sequence[Measure], query: Ints, grades: Ints | Grades
    ) -> Floats:
        """Score a run under other judgements; return one row per measure, one column per state.

        A state is a query with grades for its documents, and ``query`` has the query of each state.
        ``grades`` are the grades of all documents of the pool, or a function that computes the
        grades of some documents in some states.
        """
        ends = np.cumsum(self.starts[query + 1] - self.starts[query])
        cuts = np.searchsorted(ends, np.arange(0, max(ends, default=0), _CELLS)).tolist()
        values = [np.empty((len(measures), 0))]
        for begin, end in pairwise(sorted({*cuts, 0, len(query)})):
            some = query[begin:end]
            pairs, state = ranges(self.starts[some], self.starts[some + 1])
            labels = grades(pairs, state + begin) if callable(grades) else grades[pairs]
            values.append(self._score_some(rankings, measures, some, state, labels))
        return np.hstack(values)

    def _score_some(
        self,
        rankings: Rankings,
        measures: Sequence[Measure],
        query: Ints,
        state: Ints,
        labels: Ints,
    ) -> Floats:
        best = np.lexsort((-labels, state))
        first = np.searchsorted(rankings.query, np.arange(rankings.queries + 1))
        row, of = ranges(first[query], first[query + 1])
        before = np.searchsorted(state, np.arange(len(query)))
        relevance = labels[before[of] + rankings.relevance[row] - self.starts[query][of]]
        states = replace(
            rankings,
            query_ids=rankings.query_ids.gather(query),
            in_run=rankings.in_run[query],
            retrieved=rankings.retrieved[query],
            query=of,
            rank=rankings.rank[row],
            relevance=relevance,
            tie_first=rankings.tie_first[row],
            tie_size=rankings.tie_size[row],
            judged_query=state,
            judged_relevance=labels[best],
            highest=max(1, int(self.machine.max()), int(self.human.max(initial=0))),
            counts={},
        )
        return np.stack([measure.values(states) for measure in measures])

    def estimates(
        self, rankings: Rankings, measures: Sequence[Measure], queries: Ints, base: Ints
    ) -> Floats:
        """Estimate the human scores of drawn queries, beginning with the grades ``base``.

        Documents with the same probability are replaced together, since only the sum of their
        changes matters.
        """
        judged = self.planned if self.planned.any() else self.human >= 0
        rows, of = ranges(self.starts[queries], self.starts[queries + 1])
        rows, of = rows[judged[rows]], of[judged[rows]]
        order = np.lexsort((self.position[rows], of))
        rows, of = rows[order], of[order]
        same = (np.diff(of, append=-1) == 0) & (np.diff(self.probability[rows], append=-1) == 0)
        last = rows[~same]  # the last document of each step
        step_of = of[~same]
        # Every query's states: no document replaced, then the end of each step.
        state_of = np.concatenate([np.arange(len(queries)), step_of])
        reached = np.concatenate([np.full(len(queries), -1), self.position[last]])
        state_order = np.lexsort((reached, state_of))
        state_of, reached = state_of[state_order], reached[state_order]

        def grades(pairs: Ints, state: Ints) -> Ints:
            replaced = judged[pairs] & (self.position[pairs] <= reached[state])
            return np.where(replaced, self.human[pairs], base[pairs])

        scores = self.score(rankings, measures, queries[state_of], grades)
        begins = reached < 0
        changes = np.diff(scores, axis=1)[:, ~begins[1:]] / self.probability[last]
        total = [np.bincount(step_of, row, len(queries)) for row in changes]
        return scores[:, begins] + np.stack(total)


def make_pool(human: Any, machine: Any, plan: Any = None) -> Pool:
    """Join human and machine judgements, and the plan of the human ones, into a pool."""
    judged = [as_qrels(machine, "machine"), as_qrels(human, "human")]
    for one in judged:
        prepare(one)  # raises an error for a document that is judged twice
    tables = [
        one.table.select(*PAIR, pl.col("relevance").alias(name)).filter(pl.col(name) >= 0)
        for one, name in zip(judged, ("machine", "human"), strict=True)
    ]
    if not tables[0].height:
        raise CitebedError(f"{judged[0].name}: the machine judged no document.")
    both = tables[0].join(tables[1], on=PAIR, how="full", coalesce=True)
    both = both.join(tables[0].select("query_id").unique(), on="query_id", how="semi")
    both = both.with_columns(probability=pl.lit(1.0), position=0, planned=False)
    if plan is not None:
        both = _with_plan(both, as_run(plan, "plan"))
    both = both.sort(*PAIR).with_columns(pl.col("machine", "human").fill_null(-1))
    numbered = Qrels(both.select(*PAIR, relevance=-pl.int_range(pl.len())), judged[0].name)
    rows = prepare(numbered)  # in the order of the table, queries by their bytes
    at = -rows.relevance
    columns = {name: both[name].to_numpy()[at] for name in both.columns if name not in PAIR}
    return Pool(rows=replace(rows, relevance=np.arange(len(at))), **columns)


def _with_plan(pool: pl.DataFrame, plan: Run) -> pl.DataFrame:
    """Add each document's probability and its position in the plan; check that all were judged."""
    table = plan.table.select(*PAIR, "score").with_columns(planned=True)
    if not table.height or not table["score"].is_between(1e-6, 1.0).all():
        raise CitebedError(
            f"{plan.name}: the scores of a plan are probabilities, above 0 and up to 1. "
            "Give the plan as citebed wrote it."
        )
    joined = pool.drop("planned").join(table, on=PAIR, how="left")
    if joined["planned"].sum() < table.height:
        other = table.join(pool, on=PAIR, how="anti").row(0)
        raise CitebedError(
            f"{plan.name}: the plan has '{other[1]}' for the query '{other[0]}', which the machine "
            "did not judge. Give the machine's judgements that the plan was made from."
        )
    missing = joined.filter(pl.col("planned") & pl.col("human").is_null())
    if missing.height:
        query, doc = missing.select(PAIR).sort(PAIR).row(0)
        raise CitebedError(
            f"{missing.height:,} of {count(table.height, 'planned judgement')} are missing, "
            f"'{doc}' for the query '{query}' for one. Judge them first: a score from what is easy "
            "to judge would be biased."
        )
    position = (-pl.col("score").fill_null(0)).rank("ordinal").over("query_id").cast(pl.Int64) - 1
    return (
        joined.sort(*PAIR)
        .with_columns(
            position=position,
            planned=pl.col("planned").fill_null(False),
            probability=pl.col("score").fill_null(1.0),
        )
        .drop("score")
    )


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


class _Scored(NamedTuple):
    """A run's scores of the queries that it has: estimates of drawn queries, all by the machine."""

    name: str
    known: Floats
    human: Floats
    machine: Floats


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
    scored = [_score_run(pool, run, chosen, options.settings) for run in as_runs(runs)]
    check_names([each.name for each in scored])
    rows = [_row(pool, each, at, chosen, options) for each in scored for at in range(len(chosen))]
    if options.baseline is not None:
        rows += _differences(pool, scored, chosen, options)
    return MachineEvaluation(tuple(rows), _notes(pool, options))


def _score_run(pool: Pool, run: Run, measures: Sequence[Measure], settings: Settings) -> _Scored:
    rankings = pool.match(run, settings)
    queries = np.arange(rankings.queries)
    known = pool.score(rankings, measures, queries, pool.machine)
    counted = rankings.in_run | settings.complete
    drawn = np.flatnonzero(pool.drawn & counted)
    estimates = [
        pool.estimates(rankings, measures, drawn, base)
        for base in (np.full(len(pool.machine), -1), pool.machine)
    ]
    spread = np.full((2, *known.shape), np.nan)
    spread[0][:, drawn] = estimates[0]
    # What the same judgements say about the machine's own score.
    spread[1][:, drawn] = estimates[0] - estimates[1] + known[:, drawn]
    known = np.where(counted, known, np.nan)
    return _Scored(run.name, known, *spread)


def _row(
    pool: Pool,
    scored: _Scored,
    at: int,
    measures: Sequence[Measure],
    options: MachineOptions,
    base: _Scored | None = None,
) -> MachineScore:
    """Estimate the mean of one measure, or of its differences from another run."""
    known, human, machine = scored.known[at], scored.human[at], scored.machine[at]
    if base is not None:
        known, human = known - base.known[at], human - base.human[at]
        machine = machine - base.machine[at]
    queries = np.flatnonzero(~np.isnan(known))
    ids = pool.rows.query_ids.gather(queries).to_list()
    place = np.flatnonzero(~np.isnan(human[queries]))
    drawn = queries[place]
    resampling = options.resampling
    labels = resampling.labels(ids)
    strata = None if options.strata is None else [options.strata.get(query, "") for query in ids]
    sample = Sample(
        queries=len(queries),
        drawn=place,
        clusters=None if labels is None else cluster_codes(labels, len(ids)),
        strata=None if strata is None else cluster_codes(strata, len(ids)),
        whole=not pool.planned.any(),
    )
    low, high = measures[at].bounds or (-np.inf, np.inf)
    limits = (low, high) if base is None else (low - high, high - low)

    def mean(weight: float | None) -> PoweredMean:
        found = powered_mean(
            human[drawn], machine[drawn], known[queries], sample,
            weight=weight, level=resampling.level, generalise=options.generalise,
        )  # fmt: skip
        value, below, above = np.clip(found[:3], *limits).tolist()
        return PoweredMean(value, below, above, found.weight, found.units)

    (alone,) = mean_intervals(
        known[queries][:, None], clusters=labels, level=resampling.level, seed=resampling.seed,
        samples=resampling.draws(len(queries)), bounds=[None if np.isinf(low) else limits],
    )  # fmt: skip
    both, only = mean(options.weight), mean(0.0)
    judged = (pool.planned if pool.planned.any() else pool.human >= 0) & np.isin(
        pool.rows.query, drawn
    )
    return MachineScore(
        scored.name, None if base is None else base.name, str(measures[at]),
        *both[:3], *only[:3], float(known[queries].mean()), alone.low, alone.high, both.weight,
        len(queries), len(drawn), both.units, int(judged.sum()),
    )  # fmt: skip


def _differences(
    pool: Pool, scored: Sequence[_Scored], measures: Sequence[Measure], options: MachineOptions
) -> Iterator[MachineScore]:
    names = [each.name for each in scored]
    if options.baseline not in names:
        raise CitebedError(f"there is no run '{options.baseline}'; there are: {', '.join(names)}.")
    base = scored[names.index(options.baseline)]
    for each in scored:
        if each is not base:
            for at in range(len(measures)):
                yield _row(pool, each, at, measures, options, base)


def _notes(pool: Pool, options: MachineOptions) -> tuple[str, ...]:
    """Return what a reader of the scores should know about their judgements."""
    notes = []
    human = pool.human >= 0
    unused = human & ~pool.drawn[pool.rows.query]
    if pool.planned.any():
        unused = human & ~pool.planned
        judged = int(pool.planned.sum())
        notes.append(
            f"{count(judged, 'human judgement')} of {count(int(pool.drawn.sum()), 'query')}, "
            "by the plan"
        )
    else:
        notes.append(
            f"people judged {count(int(pool.drawn.sum()), 'query')} of "
            f"{len(pool.drawn):,} wholly; the estimate takes them for a random sample"
        )
    if unused.any():
        why = "outside the plan" if pool.planned.any() else "of queries that were partly judged"
        notes.append(f"{count(int(unused.sum()), 'human judgement')} {why}: not used")
    about = (
        "queries like these"
        if options.generalise
        else "these queries, had people judged all of the machine's pool"
    )
    notes.append(f"intervals of the human and corrected scores are about {about}")
    return tuple(notes)
