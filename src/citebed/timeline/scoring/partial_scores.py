"""Score long runs in parts, locally or on an engine; no part splits a pair of topic and slice.

Memory is then bounded by one part per thread, however long the run is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.runs.file_ranges import FileRange
from citebed.runs.reader import read_run
from citebed.runs.tables import Floats, Run
from citebed.runs.texts import Grouping, RunText, group_by_query
from citebed.runs.trec_files import RUN, trec_lines
from citebed.timeline.scoring.alignment import RunLedger, align_with_judgements, lay, placed
from citebed.timeline.scoring.slice_measures import empty_slice_score, slice_values
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.slices import Slices
from citebed.timeline.streams.timed_qrels import Skipped, times_by_id

_PAIR, _LEDGER = "pair", "ledger"
_COUNTED = ("measured", "judged", "elsewhere", "outside")
_SKIPPED = ("lines", "unjudged", "untimed")
_MOST_THREADS = 8
_UNTIMED = -2


class Scoring(NamedTuple):
    """Options for scoring a run.

    ``times`` replaces the run's own document times. Set-based measures use documents with a score
    above ``threshold``. ``graded`` says whether grades count (`uses_grades`).
    """

    pairs: TopicSlices
    measures: Sequence[Measure]
    times: pl.DataFrame | None = None
    threshold: float | None = None
    graded: bool | None = None

    @property
    def groupings(self) -> list[Grouping]:
        """The ways to split a run: by slices if its lines have times, otherwise by queries."""
        return (
            [group_by_query] if self.times is not None else [_by(self.pairs.slices), group_by_query]
        )

    def for_parts(self) -> Scoring:
        """Return the options with the table of times prepared once for all parts."""
        return self if self.times is None else self._replace(times=times_by_id(self.times))


def _by(slices: Slices) -> Grouping:
    """Return a function that groups a run's lines by slice.

    Lines before all slices, after them, or without a time are groups of their own. The function is
    sent to workers, so it refers to nothing but the slices.
    """
    end, after = int(slices.bounds[-1]), len(slices)

    def of(run: Run) -> pl.Series:
        times = run.epochs
        at = pl.Series(slices.slice_index(times.fill_null(end).to_numpy()))
        return at.set(times.fill_null(0) >= end, after).set(times.is_null(), _UNTIMED)

    return of


class Scored(NamedTuple):
    """The scores of all pairs, one row per measure, with the run's coverage."""

    values: Floats
    ledger: RunLedger


class RunElsewhere(Protocol):
    """A run on an engine, which scores it and returns the scores."""

    name: str
    team: str | None

    def scored(self, how: Scoring) -> Scored:
        """Return the scores of the run."""


def scored_whole(run: Run, how: Scoring) -> Scored:
    """Score a run at once."""
    laid = lay(run, how.pairs, how.times, how.threshold)
    values = slice_values(how.measures, laid.everything, laid.accepted, how.graded)
    return Scored(values, laid.ledger)


def scored_text(text: RunText, how: Scoring) -> Scored:
    """Score a long run file in parts, or at once if its lines are in no order."""
    parts = how.for_parts()
    try:
        for grouping in how.groupings:
            pieces = text.split_between_groups([Path(text.path)], grouping)
            rows = _rows_of(text, pieces, grouping, parts) if pieces else None
            if rows is not None:
                return together(text.name, rows, how)
    except CitebedError:  # reading all lines raises an error that names the line
        if not text.has_times:
            for _ in trec_lines(Path(text.path), RUN):
                pass
    return scored_whole(replace(read_run(text.path), name=text.name), how)


def _rows_of(
    text: RunText, pieces: list[FileRange], grouping: Grouping, how: Scoring
) -> pl.DataFrame | None:
    """Apply `part_rows` to each range; return ``None`` if a group is in several of them."""

    def part(piece: FileRange) -> tuple[pl.DataFrame, pl.Series]:
        run = text.read(piece)
        return part_rows(run, how), grouping(run).unique()

    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
        rows, groups = zip(*pool.map(part, pieces), strict=True)
    return None if pl.concat(groups).is_duplicated().any() else pl.concat(rows, how="diagonal")


# --- scores of one part, and of all parts -----------------------------------------------------


def part_rows(run: Run, how: Scoring) -> pl.DataFrame:
    """Score a part: one row per pair with documents, and one row with the coverage as JSON."""
    topics, pair = placed(run, how.pairs, how.times)
    there = np.flatnonzero(np.bincount(pair[pair >= 0], minlength=len(how.pairs)))
    number = np.append(np.full(len(how.pairs), -1), (-2, -1))
    number[there] = np.arange(len(there))
    laid = align_with_judgements(
        topics, number[pair], how.pairs, how.pairs.qrels_in(there), how.threshold
    )
    values = slice_values(how.measures, laid.everything, laid.accepted, how.graded)
    scores = pl.DataFrame({_PAIR: there, **dict(zip(_columns(how), values, strict=True))})
    return pl.concat([scores, pl.DataFrame({_LEDGER: [_written(laid.ledger)]})], how="diagonal")


def together(name: str, rows: pl.DataFrame, how: Scoring) -> Scored:
    """Combine the rows of all parts of a run."""
    scores = rows.filter(pl.col(_PAIR).is_not_null()) if rows.height else rows
    values = np.repeat([[empty_slice_score(each)] for each in how.measures], len(how.pairs), axis=1)
    if scores.height:
        values[:, scores[_PAIR].to_numpy()] = scores.select(_columns(how)).to_numpy().T
    return Scored(values, _ledger(name, rows, how.pairs, scores.height))


def _columns(how: Scoring) -> list[str]:
    return [f"value{at}" for at in range(len(how.measures))]


def _written(ledger: RunLedger) -> str:
    counted = {name: getattr(ledger, name) for name in _COUNTED}
    return json.dumps(counted | ledger.skipped._asdict() | {"least": ledger.alike[0]})


def _ledger(name: str, rows: pl.DataFrame, pairs: TopicSlices, heard: int) -> RunLedger:
    """Add up the coverage of all parts; ``heard`` pairs have documents."""
    parts = [json.loads(each) for each in rows[_LEDGER].drop_nulls()] if rows.height else []
    total = {name: sum(part[name] for part in parts) for name in (*_COUNTED, *_SKIPPED)}
    queries = tuple(sorted({query for part in parts for query in part["queries"]}))
    ids = [part["least"] for part in parts if part["least"]]
    return RunLedger(
        run=name,
        skipped=Skipped(**{name: total[name] for name in _SKIPPED}, queries=queries),
        **{name: total[name] for name in _COUNTED},
        pairs=len(pairs),
        silent=len(pairs) - heard,
        alike=("" if total["judged"] else min(ids, default=""), str(pairs.qrels.doc_ids[0])),
    )
