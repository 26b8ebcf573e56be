"""Documents that stand twice for a query in a run: an error, as in all of citebed's scoring."""

from __future__ import annotations

from functools import partial
from typing import Self

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.runs.ranking import SortedQrels
from citebed.runs.tables import Hashes
from citebed.timeline.streams.stream_runs import StreamRun
from citebed.timeline.streams.tally import RunLines, Tally, tally

_HALF = np.uint64(32)
_SIEVE = 20
_AT_ONCE = 1000


class RepeatedPairs(Tally):
    """Keeps the keys of all lines, among which those of the same query and document are equal.

    What scores a run is one of its kinds, for in none a document may stand twice.
    """

    def __init__(self) -> None:
        self._keys: list[Hashes] = []

    def add(self, batch: RunLines) -> None:
        """Remember the lines of a batch."""
        self._keys.append(batch.keys)

    def absorb(self, other: Self) -> None:
        """Take over the lines of another one."""
        self._keys += other._keys

    def suspects(self) -> Hashes:
        """Keys that stand twice: nearly always because a line does."""
        if not self._keys:
            return np.empty(0, np.uint64)
        # First by half of the bits, which is twice as quick; then those few that look alike.
        halves = np.concatenate([(keys >> _HALF).astype(np.uint32) for keys in self._keys])
        halves.sort()
        alike = np.zeros(1 << _SIEVE, bool)
        alike[halves[1:][halves[1:] == halves[:-1]] >> np.uint32(32 - _SIEVE)] = True
        drop = np.uint64(64 - _SIEVE)
        rest = [keys[alike[(keys >> drop).astype(np.intp)]] for keys in self._keys]
        found = np.sort(np.concatenate(rest))
        return np.unique(found[1:][found[1:] == found[:-1]])


class _Lookup(Tally):
    """Keeps query and document of the lines with certain keys."""

    def __init__(self, wanted: Hashes) -> None:
        self.wanted = wanted
        self.rows: list[pl.DataFrame] = []

    def add(self, batch: RunLines) -> None:
        """Keep the lines of a batch that are asked for."""
        at = np.isin(batch.keys, self.wanted)
        self.rows.append(
            pl.DataFrame({"query": batch.query[at], "doc_id": batch.doc_ids.filter(pl.Series(at))})
        )

    def absorb(self, other: Self) -> None:
        """Take over the lines of another one."""
        self.rows += other.rows


def check_repeats(
    run: StreamRun, judged: SortedQrels, times: pl.DataFrame | None, suspects: Hashes
) -> None:
    """Raise if a document stands twice for a query; the run is read once more to name it."""
    for first in range(0, len(suspects), _AT_ONCE):
        wanted = suspects[first : first + _AT_ONCE]
        lookup, _ = tally(run, judged, times, partial(_Lookup, wanted))
        rows = pl.concat(lookup.rows)
        twice = rows.filter(rows.is_duplicated()).sort("query", "doc_id")
        if twice.height:
            query, document = judged.query_ids[twice["query"][0]], twice["doc_id"][0]
            raise CitebedError(
                f"{run.name}: document '{document}' is retrieved twice for query '{query}'. "
                "Keep one of the two lines: which one counts is not ours to guess."
            )
