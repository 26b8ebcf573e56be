"""Runs over a stream scored slice by slice: the one call that the command and notebooks share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from citebed.evaluation.measures.base import Measure
from citebed.frames import Shown
from citebed.runs.times import parse_time
from citebed.timeline.scoring.measuring import DEFAULT_MEASURES, slice_measures
from citebed.timeline.scoring.query_slices import Cells
from citebed.timeline.scoring.stream_scores import StreamScores, measured_cells, score_stream
from citebed.timeline.scoring.weights import weights_of
from citebed.timeline.slices import slices_of, usual_slicing
from citebed.timeline.streams.assessors import OFFICIAL
from citebed.timeline.streams.stream_runs import opened_runs
from citebed.timeline.streams.times import times_of
from citebed.timeline.streams.truth import Reading, judged_table, truth_of

if TYPE_CHECKING:
    from citebed.timeline.scoring.trends import Trend


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Shown):
    """Runs with their scores in every slice, under each of ``weights``, and their trends.

    The intervals of trends are at ``level``, from so many ``samples`` drawn with ``seed``; a
    p-value below ``alpha`` is significant. ``focus`` is the query to be looked at, if one is.
    """

    runs: tuple[StreamScores, ...]
    weights: tuple[str, ...]
    level: float = 0.95
    samples: int = 1000
    seed: int = 0
    alpha: float = 0.05
    focus: str | None = None

    @property
    def cells(self) -> Cells:
        """The pairs of query and slice that are scored."""
        return self.runs[0].cells

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row a run, measure and weighting: the mean over queries."""
        return pl.concat([scores.systems(self.weights) for scores in self.runs])

    @cached_property
    def queries(self) -> pl.DataFrame:
        """The same for every query."""
        return pl.concat([scores.queries(self.weights) for scores in self.runs])

    @cached_property
    def slices(self) -> pl.DataFrame:
        """A row a run, measure and slice with relevant documents: the mean over its queries."""
        return pl.concat([scores.slices() for scores in self.runs])

    @cached_property
    def slice_queries(self) -> pl.DataFrame:
        """A row a run, measure, query and slice: every score there is."""
        return pl.concat([scores.slice_queries() for scores in self.runs])

    @cached_property
    def trends_found(self) -> list[tuple[str, str, Trend]]:
        """The trend of each run under each measure, with their names."""
        series = [(scores, measure) for scores in self.runs for measure in scores.measures]
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            return list(pool.map(self._trend, *zip(*series, strict=True)))

    def _trend(self, scores: StreamScores, measure: Measure) -> tuple[str, str, Trend]:
        from citebed.timeline.scoring.trends import trend

        middles, values = scores.cells.slices.middles, scores.by_slice(measure)
        how: dict[str, Any] = {"level": self.level, "samples": self.samples, "seed": self.seed}
        return scores.run, str(measure), trend(middles, values, **how)

    @cached_property
    def trends(self) -> pl.DataFrame:
        """A row a run and measure: does it degrade?"""
        rows = [of.row(run, measure, self.alpha) for run, measure, of in self.trends_found]
        return pl.DataFrame(rows, infer_schema_length=None)

    def shown(self) -> pl.DataFrame:
        """Runs down, measures and weightings across."""
        named = self.table.with_columns(pl.format("{}, {}", "measure", "weight").alias("of"))
        wide = named.pivot("of", index="run", values="value")
        return wide.with_columns(pl.col(pl.Float64).round(4))


def timeline(  # noqa: PLR0913 (a notebook completes and checks them by name)
    judgements: Any,
    runs: Any,
    *,
    slices: str | None = None,
    weight: str | Sequence[str] = "uniform",
    measures: str | Measure | Sequence[str | Measure] = DEFAULT_MEASURES,
    start: str | None = None,
    end: str | None = None,
    times: Any = None,
    utc: bool = False,
    assessors: str = OFFICIAL,
    rel: int = 1,
    binary: bool = False,
    threshold: float | None = None,
    seed: int = 0,
    level: float = 0.95,
    samples: int = 1000,
    alpha: float = 0.05,
    focus: str | None = None,
) -> Timeline:
    """Score runs over a stream slice by slice: how good are they, and do they stay good?

    Judgements and runs are files (TREC's, KBA's, Parquet), tables, or what ``evaluate`` takes;
    ``runs`` one, several, or several by name. ``slices`` is a length such as ``7d`` or another
    slicing (`slices_of`), weeks by default, from ``start`` to ``end``. ``weight`` is uniform,
    burst or recency:30d, or several. Ids start with an epoch second, or ``times`` has them: a
    file, a table of ``doc_id`` and ``time``, or an open collection. ``focus`` is a query to be
    looked at, in pictures. The rest is as the options of ``citebed timeline`` say.
    """
    known = times_of(times, utc=utc)
    with opened_runs(runs, ahead=known is None) as opened:
        truth = truth_of(*judged_table(judgements), known, Reading(assessors, rel, binary))
        ends = (None if text is None else parse_time(text, utc=True) for text in (start, end))
        over = truth.range(*ends)
        cut = slices_of(slices or usual_slicing(over), over, seed=seed, utc=utc)
        cells = measured_cells(truth, cut)
        # What is wrong is better known before a long run is read.
        weights = tuple(dict.fromkeys([weight] if isinstance(weight, str) else weight))
        for each in weights:
            weights_of(each, cells)
        if focus is not None:
            cells.query_number(focus)
        chosen = slice_measures(measures)
        scored = tuple(score_stream(run, cells, chosen, known, threshold) for run in opened)
    return Timeline(scored, weights, level, samples, seed, alpha, focus)
