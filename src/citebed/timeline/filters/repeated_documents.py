"""A document that comes again at the same time, which a filter run cannot hold twice.

A document's id in a run starts with its time, so that only documents of the same time can be the
same there; and as a stream is in the order of time, only the ids of the time that it has come to
must be remembered. They go with the next later document, so memory does not grow with the stream.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from citebed.records import Problem
from citebed.runs.writer import stream_ids
from citebed.timeline.filters.base import State
from citebed.timeline.streams.stream_files import Decoded


class RepeatedDocuments:
    """The ids of the documents at the time that a stream has come to."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def left_out(self, decoded: Decoded, last: int | None) -> Decoded:
        """The documents that did not come before, those that did being problems.

        ``last`` is the time of the last document before.
        """
        table = decoded.table
        if not table.height:
            return decoded
        ids = stream_ids(table["doc_id"], table["time"])
        again = self._again(ids, table["time"])
        self._remember(ids, table["time"], last)
        if not again.any():
            return decoded
        repeated = [
            Problem(at, f"the same document again: '{name}' came before at the same time ({time})")
            for at, name, time in table.filter(again).select("line", "doc_id", "time").iter_rows()
        ]
        problems = tuple(sorted((*decoded.problems, *repeated)))
        return Decoded(table.filter(~again), problems, len(repeated))

    def _again(self, ids: pl.Series, times: pl.Series) -> pl.Series:
        """Which documents came before: in this table, or at the time before it."""
        all_new = ids.n_unique() == len(ids)  # counting is quicker than marking
        again = pl.repeat(False, len(ids), eager=True) if all_new else ~ids.is_first_distinct()
        first = ids.head(int(times.search_sorted(times[0], side="right"))).to_list()
        if self._ids.isdisjoint(first):
            return again
        before = pl.Series([name in self._ids for name in first])
        return again | before.extend_constant(False, len(ids) - len(first))

    def _remember(self, ids: pl.Series, times: pl.Series, last: int | None) -> None:
        now = times[-1]
        if now != last:
            self._ids.clear()
        self._ids.update(ids.slice(int(times.search_sorted(now, side="left"))).to_list())

    def state(self) -> State:
        """The ids, one a line: no id has a line end in it."""
        text = "\n".join(self._ids).encode("utf-8")
        return {"repeats": np.frombuffer(text, np.uint8)}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._ids = set(state["repeats"].tobytes().decode("utf-8").split("\n")) - {""}
