"""Time-aware scores: measures per slice, averaged over slices and then over queries.

A query's score is P(r|d,q) = Σ_i m(d_i,q) · P(i|q), equation 1 of Dietz, Dalton & Balog, Time-aware
Evaluation of Cumulative Citation Recommendation Systems (2013). ``m`` is any measure of the run's
documents in slice i, and P(i|q) is the slice's weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures import RescaledAUC
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import Resampling
from citebed.evaluation.scoring.run_scores import PairScores, QueryScores, summarise
from citebed.runs.tables import Floats, Run
from citebed.runs.texts import RunText
from citebed.timeline.scoring.partial_scores import (
    RunElsewhere,
    RunLedger,
    Scoring,
    of_some,
    scored_text,
    scored_whole,
)
from citebed.timeline.scoring.slice_measures import (
    SET_BASED,
    slice_measures,
    uses_grades,
)
from citebed.timeline.scoring.topic_slices import TopicSlices, weights_of
from citebed.timeline.streams.timed_qrels import TimedQrels
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
"""The columns of all score tables; ``all`` marks a mean over queries or slices."""


UNITS_DRAWN = {"queries": "over queries", "both": "over queries and slices"}
"""The units that intervals and tests can resample, with their wording."""


def check_units(units: str) -> None:
    """Raise an error for unknown units."""
    if units not in UNITS_DRAWN:
        raise UnknownName("units", units, UNITS_DRAWN)


@dataclass(frozen=True, eq=False)
class StreamScores:
    """A run's scores: one row of ``values`` per measure, one column per pair of topic and slice.

    If the run names its ``team``, its rows have a column ``team``.
    """

    run: str
    measures: tuple[Measure, ...]
    pairs: TopicSlices
    values: Floats
    ledger: RunLedger
    team: str = ""

    def of(self, measure: Measure | str) -> Floats:
        """Return the scores of all pairs under a measure."""
        (wanted,) = slice_measures([measure])
        if wanted not in self.measures:
            raise CitebedError(f"{self.run} was not scored under {wanted}.")
        return np.asarray(self.values[self.measures.index(wanted)])

    def by_query(self, measure: Measure | str, weight: str) -> Floats:
        """Return the score of each query with relevant documents, in order."""
        return self.pairs.per_query(self.of(measure) * weights_of(weight, self.pairs))

    def by_slice(self, measure: Measure | str) -> Floats:
        """Return each slice's mean over the queries with relevant documents in it, or nan."""
        return self.pairs.means_by_slice(self.of(measure))

    def mean(self, measure: Measure | str, weight: str) -> float:
        """Return the mean over the queries with at least one relevant document in a slice."""
        return float(self.by_query(measure, weight).mean())

    def query_scores(self, weight: str, units: str = "queries") -> QueryScores:
        """Return the scores per query under a weighting, for `citebed.evaluation`.

        Resampling ``queries`` generalises to other queries over the same time. Resampling ``both``
        generalises to other queries at other times: a slice that was hard for all queries counts
        as chance, too. Each pair keeps its weight P(i|q).
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
        """Return one row per measure and weighting: the mean and its interval."""
        by_weight = [summarise(self.query_scores(each, units), resampling) for each in weights]
        rows = [
            (str(of.measure), ALL, ALL, weight, self.mean(of.measure, weight), of.low, of.high)
            for of_measure in zip(*by_weight, strict=True)
            for weight, of in zip(weights, of_measure, strict=True)
        ]
        table = self._table(rows, dict.fromkeys(("low", "high"), pl.Float64))
        return table.with_columns(pl.col("low", "high").fill_nan(None))

    def queries(self, weights: Sequence[str]) -> pl.DataFrame:
        """Return one row per measure, weighting and query."""
        names = self.pairs.query_ids.to_list()
        return self._table(
            (str(measure), name, ALL, weight, value)
            for measure in self.measures
            for weight in weights
            for name, value in zip(names, self.by_query(measure, weight).tolist(), strict=True)
        )

    def slices(self) -> pl.DataFrame:
        """Return one row per measure and slice with relevant documents: the mean over queries.

        The column ``partial`` marks a slice that the end of the stream cuts.
        """
        labels = self.pairs.slices.labels
        return self._sliced(
            (str(measure), ALL, label, None, value)
            for measure in self.measures
            for label, value in zip(labels, self.by_slice(measure).tolist(), strict=True)
            if not np.isnan(value)
        )

    def slice_queries(self) -> pl.DataFrame:
        """Return one row per measure, query and slice."""
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
        """Build a table with the run's name in front and its team, if any, after ``value``."""
        schema = {**ROWS, **(more or {})}
        table = pl.DataFrame([(self.run, *row) for row in rows], schema=schema, orient="row")
        team = pl.repeat(self.team, table.height, dtype=pl.String, eager=True).alias("team")
        return table.insert_column(len(ROWS), team) if self.team else table

    def _sliced(self, rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
        slices = self.pairs.slices
        cut = [label for label, part in zip(slices.labels, slices.partial, strict=True) if part]
        return self._table(rows).with_columns(partial=pl.col("slice").is_in(cut))


def score_stream(
    run: Run | RunText | RunElsewhere,
    pairs: TopicSlices,
    measures: Sequence[Measure],
    times: pl.DataFrame | None = None,
    threshold: float | None = None,
    graded: bool | None = None,
) -> StreamScores:
    """Score one run.

    ``times`` belong to the judgements. Set-based measures use the documents with a score above
    ``threshold``, by default all. ``graded`` says whether grades count (`uses_grades`).
    """
    above = threshold if any(isinstance(each, SET_BASED) for each in measures) else None
    how = Scoring(pairs, measures, times, above, graded)
    if isinstance(run, Run):
        values, ledger = scored_whole(run, how)
    elif isinstance(run, RunText):
        values, ledger = scored_text(run, how)
    else:
        values, ledger = run.scored(how)
    return StreamScores(run.name, tuple(measures), pairs, values, ledger, run.team or "")


def run_notes(runs: Sequence[StreamScores]) -> list[str]:
    """Return notes about runs, each with the run's name in front."""
    ledgers = [scores.ledger for scores in runs]
    notes = [f"{ledger.run}: {note}" for ledger in ledgers for note in ledger.notes()]
    strange = [ledger for ledger in ledgers if ledger.measured and not ledger.judged]
    if strange:  # one note for all of them
        ours, theirs = strange[0].alike
        ids = f"{strange[0].run} has '{ours}', the judgements '{theirs}'"
        documents = sum(ledger.measured for ledger in strange)
        notes.insert(0, none_judged([ledger.run for ledger in strange], documents, ids))
    if any(ledger.silent for ledger in ledgers):
        notes += [
            f"{each} is {each.empty:g} if a run returned nothing".replace("-", "−")
            for each in runs[0].measures
            if isinstance(each, RescaledAUC)  # for all others it is 0
        ]
    return notes


def none_judged(runs: Sequence[str], documents: int, hint: str) -> str:
    """Return the note for runs without any judged document."""
    whose = "its" if len(runs) == 1 else "their"
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return (
        f"{', '.join(runs[:3])}{more}: none of {whose} {count(documents, 'document')} is judged. "
        f"Do the run and the judgements use the same document ids? {hint}"
    )


def judged_notes(pairs: TopicSlices) -> list[str]:
    """Return notes about judgements and slices that were left out."""
    ledger, slices = pairs.qrels.ledger, pairs.slices
    judged, scored = len(pairs.qrels.query_ids), len(pairs.queries)
    empty_slices, empty_queries = len(slices) - pairs.slices_scored, judged - scored
    empty = scored * len(slices) - len(pairs)
    outside = int((slices.slice_index(pairs.qrels.times) < 0).sum())
    known = count(ledger.pairs, "judged pair")
    return of_some({
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
    """Say whether grades count; say nothing if all relevant documents have the same grade."""
    relevant = qrels.relevance[qrels.relevance > 0]
    if not len(relevant) or relevant.min() == relevant.max():
        return []
    grades = f"grades {relevant.min()} to {relevant.max()}"
    counting = [str(each) for each in measures if uses_grades(each, graded)]
    if len(counting) == len(measures):
        return [f"relevance is graded: {grades} count as such"]
    but = f", but for {', '.join(counting)}" if counting else ""
    return [f"relevance is binary: {grades} count alike{but} (--graded lets them count)"]
