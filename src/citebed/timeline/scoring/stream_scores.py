"""Time-aware scores: a measure in every slice, slices into a query's score, queries into a mean.

P(r|d,q) = Σ_i m(d_i,q) · P(i|q), equation 1 of Dietz, Dalton & Balog, Time-aware Evaluation of
Cumulative Citation Recommendation Systems (2013): ``m`` is any measure, of the run's documents in
slice i and the relevant ones in it, and P(i|q) a weighting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.runs.tables import Floats
from citebed.runs.times import format_time
from citebed.timeline.scoring.judged_ranks import Placing
from citebed.timeline.scoring.ledger import RunLedger, run_ledger
from citebed.timeline.scoring.measuring import slice_measures, slice_values
from citebed.timeline.scoring.query_slices import Cells, cells_of
from citebed.timeline.scoring.repeated_pairs import check_repeats
from citebed.timeline.scoring.weights import weights_of
from citebed.timeline.slices import Slices
from citebed.timeline.streams.stream_runs import StreamRun
from citebed.timeline.streams.tally import tally
from citebed.timeline.streams.truth import Truth

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


@dataclass(frozen=True, eq=False)
class StreamScores:
    """A run's scores: one row of ``values`` a measure, one column a cell.

    ``team`` is whose run it is, where it says so; its rows say it then.
    """

    run: str
    measures: tuple[Measure, ...]
    cells: Cells
    values: Floats
    ledger: RunLedger
    team: str = ""

    def of(self, measure: Measure | str) -> Floats:
        """The scores of all cells under a measure."""
        (wanted,) = slice_measures([measure])
        if wanted not in self.measures:
            raise CitebedError(f"{self.run} was not scored under {wanted}.")
        return np.asarray(self.values[self.measures.index(wanted)])

    def by_query(self, measure: Measure | str, weight: str) -> Floats:
        """Each query's score, in the order of the queries with relevant documents."""
        return self.cells.per_query(self.of(measure) * weights_of(weight, self.cells))

    def by_slice(self, measure: Measure | str) -> Floats:
        """Each slice's mean over the queries with relevant documents in it; nan without."""
        return self.cells.means_by_slice(self.of(measure))

    def mean(self, measure: Measure | str, weight: str) -> float:
        """The mean over the queries with at least one relevant document in a slice."""
        return float(self.by_query(measure, weight).mean())

    def systems(self, weights: Sequence[str]) -> pl.DataFrame:
        """One row a measure and weighting."""
        return self._table(
            (str(measure), ALL, ALL, weight, self.mean(measure, weight))
            for measure in self.measures
            for weight in weights
        )

    def queries(self, weights: Sequence[str]) -> pl.DataFrame:
        """One row a measure, weighting and query."""
        names = self.cells.query_ids.to_list()
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
        labels = self.cells.slices.labels
        return self._sliced(
            (str(measure), ALL, label, None, value)
            for measure in self.measures
            for label, value in zip(labels, self.by_slice(measure).tolist(), strict=True)
            if not np.isnan(value)
        )

    def slice_queries(self) -> pl.DataFrame:
        """One row a measure, query and slice: every score there is."""
        labels, names = self.cells.slices.labels, self.cells.truth.judged.query_ids.to_list()
        pairs = [
            (names[query], labels[at])
            for query, at in zip(self.cells.query.tolist(), self.cells.slice.tolist(), strict=True)
        ]
        return self._sliced(
            (str(measure), *pair, None, value)
            for measure, row in zip(self.measures, self.values, strict=True)
            for pair, value in zip(pairs, row.tolist(), strict=True)
        )

    def _table(self, rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
        table = pl.DataFrame([(self.run, *row) for row in rows], schema=ROWS, orient="row")
        return table.with_columns(team=pl.lit(self.team)) if self.team else table

    def _sliced(self, rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
        slices = self.cells.slices
        cut = [label for label, part in zip(slices.labels, slices.partial, strict=True) if part]
        return self._table(rows).with_columns(partial=pl.col("slice").is_in(cut))


def score_stream(
    run: StreamRun,
    cells: Cells,
    measures: Sequence[Measure],
    times: pl.DataFrame | None = None,
    threshold: float | None = None,
    graded: bool | None = None,
) -> StreamScores:
    """Score one run, read in batches.

    ``times`` are as for the judgements. Measures of sets look at documents with a score above
    ``threshold``; without one, at all. ``graded`` says whether grades count (`uses_grades`).
    """
    judged = cells.truth.judged
    placing, skipped = tally(run, judged, times, partial(Placing, cells, threshold))
    with ThreadPoolExecutor(1) as beside:  # they need not wait for each other
        suspects = beside.submit(placing.suspects)
        everything, accepted = placing.rankings()
    check_repeats(run, judged, times, suspects.result())
    values = slice_values(measures, everything, accepted, graded)
    ledger = run_ledger(run.name, placing, everything, skipped)
    return StreamScores(run.name, tuple(measures), cells, values, ledger, run.team)


def measured_cells(truth: Truth, slices: Slices) -> Cells:
    """The cells to score, of which there must be one."""
    cells = cells_of(truth, slices)
    if not (truth.judged.relevance > 0).any():
        raise CitebedError(
            f"{truth.judged.name}: no slice has a relevant document: none is judged to be of the "
            "lowest grade that is relevant (--rel) or above."
        )
    if not len(cells):
        raise CitebedError(
            f"{truth.judged.name}: no slice has a relevant document. Judged documents are from "
            f"{format_time(int(truth.times.min()))} to {format_time(int(truth.times.max()))}, "
            f"slices from {format_time(int(slices.bounds[0]))} to "
            f"{format_time(int(slices.bounds[-1]))}."
        )
    return cells
