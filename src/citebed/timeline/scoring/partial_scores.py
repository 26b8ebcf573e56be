"""Score runs in pairs of topic and slice, at once or in parts.

Long runs are scored in parts, locally or on an engine; no part splits a pair of topic and slice.
Memory is then bounded by one part per thread, however long the run is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import match_unordered
from citebed.runs.file_ranges import FileRange
from citebed.runs.ranking import spread
from citebed.runs.reader import read_run
from citebed.runs.tables import Floats, Ints, Run, raise_duplicate
from citebed.runs.texts import Grouping, RunText, group_by_query
from citebed.runs.trec_files import RUN, trec_lines
from citebed.timeline.scoring.slice_measures import empty_slice_score, slice_values
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.slices import Slices
from citebed.timeline.streams.timed_qrels import Skipped, TopicRun, timed, times_by_id, topic_run
from citebed.wording import count

_PAIR, _LEDGER = "pair", "ledger"
_COUNTED = ("measured", "judged", "elsewhere", "outside")
_SKIPPED = ("lines", "unjudged", "untimed")
_MOST_THREADS = 8
_UNTIMED = -2


# --- a run, or a part of one, by pairs of topic and slice -------------------------------------


class RunLedger(NamedTuple):
    """Coverage of a run: ``measured`` documents are in scored pairs, ``judged`` of these judged.

    ``outside`` documents are in no slice, ``elsewhere`` documents in a slice without relevant
    documents for their query. ``skipped`` counts documents that cannot be scored. ``silent`` of the
    ``pairs`` have no document and score 0. If no document is judged, ``alike`` has an id of the
    run and one of the judgements, for a message.
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
        """Return notes about documents and pairs that were left out or are empty."""
        skipped = self.skipped
        if not skipped.lines:
            return ["the run returned nothing and scores 0"]
        more = " …" if len(skipped.queries) > 3 else ""
        return of_some({
            f"{skipped.unjudged:,} of {count(skipped.lines, 'document')} left out, for "
            f"{count(len(skipped.queries), 'query')} without judgements: "
            f"{', '.join(skipped.queries[:3])}{more}": skipped.unjudged,
            f"{count(skipped.untimed, 'document')} without a time, left out": skipped.untimed,
            f"{count(self.outside, 'document')} outside all slices, left out": self.outside,
            f"it returned nothing in {self.silent:,} of {count(self.pairs, 'pair')} of query "
            "and slice, which score 0": self.silent,
        })  # fmt: skip


def placed(run: Run, pairs: TopicSlices, times: pl.DataFrame | None) -> tuple[TopicRun, Ints]:
    """Return a run's usable documents with the number of each one's pair.

    The number is -1 if the pair is not scored, -2 if the document is in no slice.
    """
    topics, time = timed(topic_run(run, pairs.qrels), times)
    pair = pairs.of(topics.query, time)
    # A document that occurs twice for a topic is an error. Compare half of the bits of hashes
    # first, which is twice as fast, then whole hashes, then ids.
    numbers = np.arange(int(topics.query.max(initial=-1)) + 1)
    keys = topics.run.doc_hashes ^ spread(numbers)[topics.query]
    halves = np.sort((keys >> np.uint64(32)).astype(np.uint32))
    again = halves[1:][halves[1:] == halves[:-1]]
    alike = np.zeros(1 << 20, bool)
    alike[again >> np.uint32(12)] = True
    some = np.sort(keys[alike[(keys >> np.uint64(44)).view(np.int64)]]) if len(again) else keys[:0]
    if (some[1:] == some[:-1]).any():
        rows = topics.run.rows.select("query_id", "doc_id").cast({"query_id": pl.String})
        twice = rows.filter(rows.is_duplicated()).sort("query_id", "doc_id")
        if twice.height:
            raise_duplicate(topics.run, *twice.row(0))
    return topics, pair


def of_some(numbers: Mapping[str, int]) -> list[str]:
    """Return the notes whose number is not 0."""
    return [note for note, number in numbers.items() if number]


# --- scoring at once, or in parts --------------------------------------------------------------


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
    """Score a run at once, as one part."""
    return together(run.name, part_rows(run, how), how)


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
    """Score a part: one row per pair with documents, and one row with the coverage as JSON.

    Without a threshold, all documents are accepted.
    """
    topics, pair = placed(run, how.pairs, how.times)
    there = np.flatnonzero(np.bincount(pair[pair >= 0], minlength=len(how.pairs)))
    numbers = np.full(len(how.pairs) + 2, -1)  # the last two for -2 and -1
    numbers[there] = np.arange(len(there))
    number, judged = numbers[pair], how.pairs.qrels_in(there)
    everything = accepted = match_unordered(judged, topics.run, number)
    if how.threshold is not None:
        above = topics.run.rows["score"] > how.threshold
        accepted = match_unordered(judged, topics.run.only(above), number[above.to_numpy()])
    values = slice_values(how.measures, everything, accepted, how.graded)
    scores = pl.DataFrame({_PAIR: there, **dict(zip(_columns(how), values, strict=True))})
    outside, elsewhere = (int((pair == code).sum()) for code in (-2, -1))
    judgements = len(everything.rank)
    ledger = {
        "measured": len(pair) - outside - elsewhere,
        "judged": judgements,
        "elsewhere": elsewhere,
        "outside": outside,
        "least": "" if judgements else str(topics.run.rows["doc_id"].min() or ""),
        **topics.skipped._asdict(),
    }
    return pl.concat([scores, pl.DataFrame({_LEDGER: [json.dumps(ledger)]})], how="diagonal")


def together(name: str, rows: pl.DataFrame, how: Scoring) -> Scored:
    """Combine the rows of all parts of a run."""
    scores = rows.filter(pl.col(_PAIR).is_not_null()) if rows.height else rows
    values = np.repeat([[empty_slice_score(each)] for each in how.measures], len(how.pairs), axis=1)
    if scores.height:
        values[:, scores[_PAIR].to_numpy()] = scores.select(_columns(how)).to_numpy().T
    parts = [json.loads(each) for each in rows[_LEDGER].drop_nulls()] if rows.height else []
    total = {name: sum(part[name] for part in parts) for name in (*_COUNTED, *_SKIPPED)}
    queries = tuple(sorted({query for part in parts for query in part["queries"]}))
    ids = [part["least"] for part in parts if part["least"]]
    least = "" if total["judged"] else min(ids, default="")
    ledger = RunLedger(
        run=name,
        skipped=Skipped(**{name: total[name] for name in _SKIPPED}, queries=queries),
        **{name: total[name] for name in _COUNTED},
        pairs=len(how.pairs),
        silent=len(how.pairs) - scores.height,
        alike=(least, str(how.pairs.qrels.doc_ids[0])),
    )
    return Scored(values, ledger)


def _columns(how: Scoring) -> list[str]:
    return [f"value{at}" for at in range(len(how.measures))]
