"""Runs laid beside the judgements, batch by batch.

A TREC run of ten million lines is never held as a table: what is asked of a batch is counted, and
the batch is gone. Batches are counted on several processors at once.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple, Self, TypeVar

import numpy as np
import polars as pl

from citebed.errors import FormatError
from citebed.runs.ranking import SortedQrels, spread
from citebed.runs.tables import Floats, Hashes, Ints
from citebed.runs.times import epochs
from citebed.runs.trec_files import RUN
from citebed.timeline.streams.stream_runs import NotPlain, StreamRun, tables
from citebed.timeline.streams.truth import NO_TIMES_HELP


class RunLines(NamedTuple):
    """Some lines of a run: the numbers of their queries among the judged ones, times, scores.

    ``keys`` are one number for query and document each. ``row`` and ``judgement`` say which
    lines are judged, and where in the judgements.
    """

    query: Ints
    time: Ints
    score: Floats
    doc_ids: pl.Series
    keys: Hashes
    row: Ints
    judgement: Ints


class Skipped(NamedTuple):
    """Lines of a run, and those that no score can use: of queries that nobody judged (their
    names in ``queries``), and without a time."""

    lines: int = 0
    unjudged: int = 0
    untimed: int = 0
    queries: frozenset[str] = frozenset()

    def plus(self, other: Skipped) -> Skipped:
        """Both together."""
        return Skipped(
            self.lines + other.lines,
            self.unjudged + other.unjudged,
            self.untimed + other.untimed,
            self.queries | other.queries,
        )


class Tally(ABC):
    """Something that counts what it needs of a run, batch by batch, in any order."""

    @abstractmethod
    def add(self, batch: RunLines) -> None:
        """Take account of a batch."""

    def close(self) -> None:  # noqa: B027 (most have nothing to do)
        """Do what can be done alone, once all batches have been added."""

    @abstractmethod
    def absorb(self, other: Self) -> None:
        """Take over what another one counted, both closed."""


T = TypeVar("T", bound=Tally)
R = TypeVar("R")
_WORKERS = min(4, os.cpu_count() or 1)


def tally(
    run: StreamRun, judged: SortedQrels, times: pl.DataFrame | None, make: Callable[[], T]
) -> tuple[T, Skipped]:
    """Read a run through and let tallies count; gives them as one, and what was skipped."""
    try:
        return _tally(run, judged, times, make)
    except NotPlain:
        assert run.careful is not None
        careful = replace(run, lines=run.careful, careful=None, separators=None, begun=None)
        return _tally(careful, judged, times, make)


def _tally(
    run: StreamRun, judged: SortedQrels, times: pl.DataFrame | None, make: Callable[[], T]
) -> tuple[T, Skipped]:
    index = _Index(judged)

    def count(source: _Source) -> tuple[T, Skipped]:
        counting, skipped = make(), Skipped()
        for table in source:
            batch, less = _batch(run, table, index, times is not None)
            skipped = skipped.plus(less)
            counting.add(batch)
        counting.close()
        return counting, skipped

    with ThreadPoolExecutor(1) as beside:
        separators = None if run.separators is None else beside.submit(run.separators)
        (whole, skipped), *rest = _at_once(tables(run, times), count)
    for other, less in rest:
        whole.absorb(other)
        skipped = skipped.plus(less)
    if separators is not None and separators.result() != RUN.gaps * skipped.lines:
        raise NotPlain
    return whole, skipped


class _Source:
    """Tables handed out to several workers: each goes to one, and none after a failure."""

    def __init__(self, tables: Iterator[pl.DataFrame]) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._given = 0
        self._stopped = False
        self._at = threading.local()

    def __iter__(self) -> Iterator[pl.DataFrame]:
        while True:
            with self._lock:
                self._at.table, self._given = self._given, self._given + 1
                table = None if self._stopped else next(self._tables, None)
            if table is None:
                return
            yield table

    @property
    def place(self) -> int:
        """Which table this worker has, or asked for, last."""
        return int(getattr(self._at, "table", 0))

    def close(self) -> None:
        """Hand out nothing more."""
        self._stopped = True


def _at_once(tables: Iterator[pl.DataFrame], work: Callable[[_Source], R]) -> list[R]:
    """What workers make of the tables they get; the error that a lone worker would meet first."""
    source = _Source(tables)
    failures: list[tuple[int, Exception]] = []

    def guarded() -> R | None:
        try:
            return work(source)
        except Exception as error:
            source.close()
            failures.append((source.place, error))
            return None

    with ThreadPoolExecutor(_WORKERS) as pool, closing(source):
        found = [worker.result() for worker in [pool.submit(guarded) for _ in range(_WORKERS)]]
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]
    return [each for each in found if each is not None]


class _Codes:
    """The numbers of queries by the hashes of their names: 64 bits, trusted to differ.

    Where so many first bits tell all of them apart a table is looked up, else the sorted hashes.
    """

    def __init__(self, names: pl.Series) -> None:
        self.hashes = names.hash().to_numpy()
        self.order = np.argsort(self.hashes)
        self.table, self.drop = None, np.uint64(0)
        for bits in (12, 16, 20):
            drop = np.uint64(64 - bits)
            if len(np.unique(self.hashes >> drop)) == len(names):
                self.table, self.drop = np.zeros(1 << bits, np.int64), drop
                self.table[self.hashes >> drop] = np.arange(len(names))
                break

    def of(self, hashes: Hashes) -> Ints:
        """The number of each; -1 for one that is not among them."""
        if self.table is not None:
            found = self.table[(hashes >> self.drop).astype(np.intp)]
        else:
            at = np.searchsorted(self.hashes, hashes, sorter=self.order)
            found = self.order[np.minimum(at, len(self.order) - 1)]
        other = self.hashes[found] != hashes
        if other.any():
            found[other] = -1
        return np.asarray(found)


class _Index:
    """Judgements by their keys, behind a sieve that lets few others through."""

    def __init__(self, judged: SortedQrels) -> None:
        self.judged = judged
        self.query = judged.query
        self.codes = _Codes(judged.query_ids)
        self.spread = spread(np.arange(len(judged.query_ids)))
        self.order = np.argsort(judged.keys)
        self.sorted = judged.keys[self.order]
        self.drop = np.uint64(64 - max(16, (32 * len(judged.keys)).bit_length()))
        self.sieve = np.zeros(1 << (64 - int(self.drop)), bool)
        self.sieve[judged.keys >> self.drop] = True

    def find(self, query: Ints, keys: Hashes, doc_ids: pl.Series) -> tuple[Ints, Ints]:
        """Rows that are judged, and their judgements: by hash, then letter by letter."""
        row = np.flatnonzero(self.sieve[(keys >> self.drop).astype(np.intp)])
        first = np.searchsorted(self.sorted, keys[row])
        known = self.sorted[np.minimum(first, len(self.sorted) - 1)] == keys[row]
        row, first = row[known], first[known]
        # Two documents may have the same key, so a row is laid beside all judgements with its.
        count = np.searchsorted(self.sorted, keys[row], "right") - first
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        row, judgement = np.repeat(row, count), self.order[np.repeat(first, count) + within]
        same = doc_ids.gather(row) == self.judged.doc_ids.gather(judgement)
        real = same.to_numpy() & (self.query[judgement] == query[row])
        return row[real], judgement[real]


def _batch(
    run: StreamRun, table: pl.DataFrame, index: _Index, timed: bool
) -> tuple[RunLines, Skipped]:
    lines, names = table.height, table["query_id"]
    query = index.codes.of(table["query_hash"].to_numpy())
    known = pl.Series(query >= 0)
    unjudged = int((query < 0).sum())
    unknown: frozenset[str] = frozenset()
    if unjudged:
        unknown = frozenset(names.filter(~known).unique().to_list())
        table, query = table.filter(known), query[query >= 0]
    time = _times(run, table, strict=not timed)
    untimed = time.null_count()
    if untimed:
        known = time.is_not_null()
        table, query, time = table.filter(known), query[known.to_numpy()], time.filter(known)
    doc_ids, score = table["doc_id"], table["score"].to_numpy()
    keys = table["doc_hash"].to_numpy() ^ index.spread[query]
    row, judgement = index.find(query, keys, doc_ids)
    batch = RunLines(query, time.to_numpy(), score, doc_ids, keys, row, judgement)
    return batch, Skipped(lines, unjudged, untimed, unknown)


def _times(run: StreamRun, table: pl.DataFrame, *, strict: bool) -> pl.Series:
    """The documents' times; an id that should start with an epoch and does not is an error."""
    own = "digits" not in table.columns
    times = table["time"] if own else epochs(table["doc_id"], table["digits"])
    if strict and times.null_count():
        doc_id = table["doc_id"].filter(times.is_null())[0]
        what = "the document '{}' has no time." if own else "no epoch second in the id '{}'. "
        raise FormatError(run.name, None, what.format(doc_id) + ("" if own else NO_TIMES_HELP))
    return times
