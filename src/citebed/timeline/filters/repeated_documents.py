"""Remove documents that occur again with the same time, which a filter run cannot hold twice.

The id in a run starts with the document's time, so that only documents of the same time can have
the same id. Since a stream is in order of time, only the ids of the current time are remembered.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from citebed.records import Problem
from citebed.runs.writer import stream_ids
from citebed.timeline.filters.base import State
from citebed.timeline.streams.stream_files import Decoded


class RepeatedDocuments:
    """The ids of the documents with the current time of the stream."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def left_out(self, decoded: Decoded, last: int | None) -> Decoded:
        """Remove repeated documents and list them as problems.

        ``last`` is the time of the document before the block.
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
        """Return which documents are repeated, within this table or from the time before it."""
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
        """Return the ids, one per line."""
        text = "\n".join(self._ids).encode("utf-8")
        return {"repeats": np.frombuffer(text, np.uint8)}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._ids = set(state["repeats"].tobytes().decode("utf-8").split("\n")) - {""}
