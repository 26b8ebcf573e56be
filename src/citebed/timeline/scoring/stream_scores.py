"""Time-aware scores: a measure in every slice, slices into a query's score, queries into a mean.

P(r|d,q) = Σ_i m(d_i,q) · P(i|q), equation 1 of Dietz, Dalton & Balog, Time-aware Evaluation of
Cumulative Citation Recommendation Systems (2013): ``m`` is any measure, of the run's documents in
slice i and the relevant ones in it, and P(i|q) a weighting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures import RescaledAUC
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings, match_unordered
from citebed.evaluation.scoring.run_scores import PairScores, QueryScores, Resampling, summarise
from citebed.runs.ranking import spread
from citebed.runs.tables import Floats, Hashes, Ints, Run, duplicate
from citebed.timeline.scoring.measuring import (
    SET_BASED,
    slice_measures,
    slice_values,
    uses_grades,
)
from citebed.timeline.scoring.topic_slices import TopicSlices, weights_of
from citebed.timeline.streams.timed_qrels import (
    Skipped,
    TimedQrels,
    TopicRun,
    timed,
    topic_run,
)
from citebed.wording import count

ALL = "all"
ROWS = {
    "run": pl.String,
    "measure": pl.String,
    "query_id": pl.String,
    "slice": pl.String,
    "weight": pl.String,
    "value": pl.Float64,
}
"""The columns of every table of scores; ``all`` stands for a mean over queries or slices."""


UNITS_DRAWN = {"queries": "over queries", "both": "over queries and slices"}
"""What intervals and tests can draw at random, and how one says it."""


def check_units(units: str) -> None:
    """Refuse units that nobody knows."""
    if units not in UNITS_DRAWN:
        raise UnknownName("units", units, UNITS_DRAWN)


@dataclass(frozen=True, eq=False)
class StreamScores:
    """A run's scores: one row of ``values`` a measure, one column a pair of topic and slice.

    ``team`` is whose run it is, where it says so; its rows say it then.
    """

    run: str
    measures: tuple[Measure, ...]
    pairs: TopicSlices
    values: Floats
    ledger: RunLedger
    team: str = ""

    def of(self, measure: Measure | str) -> Floats:
        """The scores of all pairs under a measure."""
        (wanted,) = slice_measures([measure])
        if wanted not in self.measures:
            raise CitebedError(f"{self.run} was not scored under {wanted}.")
        return np.asarray(self.values[self.measures.index(wanted)])

    def by_query(self, measure: Measure | str, weight: str) -> Floats:
        """Each query's score, in the order of the queries with relevant documents."""
        return self.pairs.per_query(self.of(measure) * weights_of(weight, self.pairs))

    def by_slice(self, measure: Measure | str) -> Floats:
        """Each slice's mean over the queries with relevant documents in it; nan without."""
        return self.pairs.means_by_slice(self.of(measure))

    def mean(self, measure: Measure | str, weight: str) -> float:
        """The mean over the queries with at least one relevant document in a slice."""
        return float(self.by_query(measure, weight).mean())

    def query_scores(self, weight: str, units: str = "queries") -> QueryScores:
        """The scores query by query under a weighting, as `citebed.evaluation` has them.

        What is drawn at random depends on what one wants to say. Units ``queries``: other queries,
        over the same time. Units ``both``: other queries at other times, so that a slice that was
        bad for all is chance too; a pair takes its weight P(i|q) with it.
        """
        check_units(units)
        values = np.stack([self.by_query(measure, weight) for measure in self.measures])
        of, pairs = self.pairs, None
        if units == "both":
            pairs = PairScores(self.values, weights_of(weight, of), of.query, of.slice)
        return QueryScores(self.run, self.measures, of.query_ids, values, pairs=pairs)

    def systems(
        self,
        weights: Sequence[str],
        units: str = "queries",
        resampling: Resampling | None = None,
    ) -> pl.DataFrame:
        """One row a measure and weighting: the mean, its interval from ``low`` to ``high``."""
        by_weight = [summarise(self.query_scores(each, units), resampling) for each in weights]
        rows = [
            (str(of.measure), ALL, ALL, weight, self.mean(of.measure, weight), of.low, of.high)
            for of_measure in zip(*by_weight, strict=True)
            for weight, of in zip(weights, of_measure, strict=True)
        ]
        table = self._table(rows, dict.fromkeys(("low", "high"), pl.Float64))
        return table.with_columns(pl.col("low", "high").fill_nan(None))

    def queries(self, weights: Sequence[str]) -> pl.DataFrame:
        """One row a measure, weighting and query."""
        names = self.pairs.query_ids.to_list()
        return self._table(
            (str(measure), name, ALL, weight, value)
            for measure in self.measures
            for weight in weights
            for name, value in zip(names, self.by_query(measure, weight).tolist(), strict=True)
        )

    def slices(self) -> pl.DataFrame:
        """One row a measure and slice with relevant documents: the mean over its queries.

        ``partial`` is a slice of which the stream has only a part.
        """
        labels = self.pairs.slices.labels
        return self._sliced(
            (str(measure), ALL, label, None, value)
            for measure in self.measures
            for label, value in zip(labels, self.by_slice(measure).tolist(), strict=True)
            if not np.isnan(value)
        )

    def slice_queries(self) -> pl.DataFrame:
        """One row a measure, query and slice: every score there is."""
        labels, names = self.pairs.slices.labels, self.pairs.qrels.query_ids.to_list()
        pairs = [
            (names[query], labels[at])
            for query, at in zip(self.pairs.query.tolist(), self.pairs.slice.tolist(), strict=True)
        ]
        return self._sliced(
            (str(measure), *pair, None, value)
            for measure, row in zip(self.measures, self.values, strict=True)
            for pair, value in zip(pairs, row.tolist(), strict=True)
        )

    def _table(
        self, rows: Iterable[tuple[Any, ...]], more: Mapping[str, Any] | None = None
    ) -> pl.DataFrame:
        """Rows with the run in front, and its team behind ``value``, if it has one."""
        schema = {**ROWS, **(more or {})}
        table = pl.DataFrame([(self.run, *row) for row in rows], schema=schema, orient="row")
        team = pl.repeat(self.team, table.height, dtype=pl.String, eager=True).alias("team")
        return table.insert_column(len(ROWS), team) if self.team else table

    def _sliced(self, rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
        slices = self.pairs.slices
        cut = [label for label, part in zip(slices.labels, slices.partial, strict=True) if part]
        return self._table(rows).with_columns(partial=pl.col("slice").is_in(cut))


class Laid(NamedTuple):
    """A run laid beside the pairs of topic and slice: all that it returned, what of it is above the
    threshold, and what that rests on."""

    everything: Rankings
    accepted: Rankings
    ledger: RunLedger


class RunElsewhere(Protocol):
    """A run that is not read here: whoever has it lays it beside the pairs, and brings that."""

    name: str
    team: str | None

    def laid(self, pairs: TopicSlices, times: pl.DataFrame | None, threshold: float | None) -> Laid:
        """The run beside the pairs."""


def score_stream(
    run: Run | RunElsewhere,
    pairs: TopicSlices,
    measures: Sequence[Measure],
    times: pl.DataFrame | None = None,
    threshold: float | None = None,
    graded: bool | None = None,
) -> StreamScores:
    """Score one run.

    ``times`` are as for the judgements. Measures of sets look at documents with a score above
    ``threshold``; without one, at all. ``graded`` says whether grades count (`uses_grades`).
    """
    above = threshold if any(isinstance(each, SET_BASED) for each in measures) else None
    if isinstance(run, Run):
        everything, accepted, ledger = lay(run, pairs, times, above)
    else:
        everything, accepted, ledger = run.laid(pairs, times, above)
    values = slice_values(measures, everything, accepted, graded)
    return StreamScores(run.name, tuple(measures), pairs, values, ledger, run.team or "")


def lay(
    run: Run, pairs: TopicSlices, times: pl.DataFrame | None = None, threshold: float | None = None
) -> Laid:
    """Lay a run beside the pairs; without a ``threshold`` all of it is accepted."""
    topics, time = timed(topic_run(run, pairs.qrels), times)
    pair = pairs.of(topics.query, time)
    _refuse_twice(topics)
    everything = accepted = match_unordered(pairs.pair_qrels, topics.run, np.maximum(pair, -1))
    if threshold is not None:
        above = topics.run.rows["score"] > threshold
        chosen = np.maximum(pair, -1)[above.to_numpy()]
        accepted = match_unordered(pairs.pair_qrels, topics.run.only(above), chosen)
    return Laid(everything, accepted, _ledger(topics, pair, everything, pairs))


def _refuse_twice(topics: TopicRun) -> None:
    """A document that stands twice for a topic is an error; hashes tell nearly always."""
    run = topics.run
    numbers = np.arange(int(topics.query.max(initial=-1)) + 1)
    if not _has_doubles(run.doc_hashes ^ spread(numbers)[topics.query]):
        return
    rows = run.rows.select("query_id", "doc_id").cast({"query_id": pl.String})
    twice = rows.filter(rows.is_duplicated()).sort("query_id", "doc_id")
    if twice.height:
        duplicate(run, *twice.row(0))


def _has_doubles(keys: Hashes) -> bool:
    """Whether a number stands twice: by half of the bits first, which is twice as quick."""
    halves = np.sort((keys >> np.uint64(32)).astype(np.uint32))
    again = halves[1:][halves[1:] == halves[:-1]]
    alike = np.zeros(1 << 20, bool)
    alike[again >> np.uint32(12)] = True
    some = np.sort(keys[alike[(keys >> np.uint64(44)).view(np.int64)]]) if len(again) else keys[:0]
    return bool((some[1:] == some[:-1]).any())


# --- what the scores rest on ------------------------------------------------------------------


class RunLedger(NamedTuple):
    """What a run gave: ``measured`` documents are in scored pairs, ``judged`` of them judged.

    ``outside`` documents are in no slice, ``elsewhere`` in one without relevant documents for
    their query; those of ``skipped`` no score can use. ``silent`` of all ``pairs`` got no document
    and score 0. ``alike`` shows an id of the run, where none is judged, and one of a judgement.
    """

    run: str
    skipped: Skipped
    measured: int
    judged: int
    elsewhere: int
    outside: int
    pairs: int
    silent: int
    alike: tuple[str, str]

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        skipped = self.skipped
        if not skipped.lines:
            return ["the run returned nothing and scores 0"]
        more = " …" if len(skipped.queries) > 3 else ""
        return _of_some({
            f"{skipped.unjudged:,} of {count(skipped.lines, 'document')} left out, of "
            f"{count(len(skipped.queries), 'query')} that nobody judged: "
            f"{', '.join(skipped.queries[:3])}{more}": skipped.unjudged,
            f"{count(skipped.untimed, 'document')} without a time, left out": skipped.untimed,
            f"{count(self.outside, 'document')} outside all slices, left out": self.outside,
            f"it returned nothing in {self.silent:,} of {count(self.pairs, 'pair')} of query "
            "and slice, which score 0": self.silent,
        })  # fmt: skip


def _of_some(numbers: Mapping[str, int]) -> list[str]:
    """The notes of numbers that are not 0."""
    return [note for note, number in numbers.items() if number]


def _ledger(topics: TopicRun, pair: Ints, rankings: Rankings, pairs: TopicSlices) -> RunLedger:
    """Count what a run gave: ``pair`` is that of each of its documents that could be used."""
    outside, elsewhere = (int((pair == code).sum()) for code in (-2, -1))
    return RunLedger(
        run=topics.run.name,
        skipped=topics.skipped,
        measured=len(pair) - outside - elsewhere,
        judged=len(rankings.rank),
        elsewhere=elsewhere,
        outside=outside,
        pairs=len(pairs),
        silent=int((rankings.retrieved == 0).sum()),
        alike=("" if len(rankings.rank) else _least_id(topics), str(pairs.qrels.doc_ids[0])),
    )


def _least_id(topics: TopicRun) -> str:
    return str(topics.run.rows["doc_id"].min() or "")


def run_notes(runs: Sequence[StreamScores]) -> list[str]:
    """What a reader has to know of runs, each note with their names in front."""
    ledgers = [scores.ledger for scores in runs]
    notes = [f"{ledger.run}: {note}" for ledger in ledgers for note in ledger.notes()]
    strange = [ledger for ledger in ledgers if ledger.measured and not ledger.judged]
    if strange:  # one question for all of them
        ours, theirs = strange[0].alike
        ids = f"{strange[0].run} has '{ours}', the judgements '{theirs}'"
        documents = sum(ledger.measured for ledger in strange)
        notes.insert(0, none_judged([ledger.run for ledger in strange], documents, ids))
    if any(ledger.silent for ledger in ledgers):
        notes += [
            f"{each} is {each.empty:g} where a run returned nothing".replace("-", "−")
            for each in runs[0].measures
            if isinstance(each, RescaledAUC)  # on others 0 is the least
        ]
    return notes


def none_judged(runs: Sequence[str], documents: int, hint: str) -> str:
    """The question why none of the documents of some runs is judged."""
    whose = "its" if len(runs) == 1 else "their"
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return (
        f"{', '.join(runs[:3])}{more}: none of {whose} {count(documents, 'document')} is judged. "
        f"Are ids written alike? {hint}"
    )


def judged_notes(pairs: TopicSlices) -> list[str]:
    """What a reader has to know of the judgements in their slices."""
    ledger, slices = pairs.qrels.ledger, pairs.slices
    judged, scored = len(pairs.qrels.query_ids), len(pairs.queries)
    empty_slices, empty_queries = len(slices) - pairs.slices_scored, judged - scored
    empty = scored * len(slices) - len(pairs)
    outside = int((slices.of(pairs.qrels.times) < 0).sum())
    known = count(ledger.pairs, "judged pair")
    return _of_some({
        f"{empty_slices:,} of {count(len(slices), 'slice')} without a relevant document, in no "
        "average": empty_slices,
        f"{empty:,} of {count(len(pairs) + empty, 'pair')} of query and slice without a relevant "
        "document, in no average": empty,
        f"{empty_queries:,} of {count(judged, 'judged query')} without a relevant document in any "
        "slice, left out": empty_queries,
        f"{outside:,} of {known} outside all slices": outside,
        f"{count(ledger.untimed, 'judged pair')} without a time, left out": ledger.untimed,
        f"{ledger.several:,} of {known} with several assessors, who disagree on relevance in "
        f"{ledger.disagree:,} and on the grade alone in {ledger.differ:,}": ledger.several,
    })  # fmt: skip


def relevance_notes(
    qrels: TimedQrels, measures: Sequence[Measure], graded: bool | None
) -> list[str]:
    """Whether grades count, in a sentence; nothing is to say where all relevant have the same."""
    relevant = qrels.relevance[qrels.relevance > 0]
    if not len(relevant) or relevant.min() == relevant.max():
        return []
    grades = f"grades {relevant.min()} to {relevant.max()}"
    counting = [str(each) for each in measures if uses_grades(each, graded)]
    if len(counting) == len(measures):
        return [f"relevance is graded: {grades} count as such"]
    but = f", but for {', '.join(counting)}" if counting else ""
    return [f"relevance is binary: {grades} count alike{but} (--graded lets them count)"]
