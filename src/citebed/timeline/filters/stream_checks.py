"""Checks of a stream before a filter sees it: documents in order of time, and each one once."""

from __future__ import annotations

import numpy as np
import polars as pl

from citebed.errors import FormatError
from citebed.files.lines import Block
from citebed.records import Problem
from citebed.runs.writer import stream_ids
from citebed.timeline.filters.checkpoint import LISTED, Progress
from citebed.timeline.filters.topics import State
from citebed.timeline.streams.stream_files import Decoded


class Admission:
    """Checks the blocks of the stream ``name`` and counts them in ``progress``.

    With ``strict``, a line that is not a document is an error.
    """

    def __init__(self, name: str, progress: Progress, *, strict: bool) -> None:
        self.progress = progress
        self.repeats = RepeatedDocuments()
        self._name, self._strict = name, strict

    def admitted(self, decoded: Decoded) -> Decoded:
        """Check the order of the next block and remove repeated documents."""
        last = self.progress.last_time
        check_order(decoded, last, self._name)
        decoded = self.repeats.left_out(decoded, last)
        if decoded.problems and self._strict:
            raise FormatError(self._name, *decoded.problems[0][:2])
        return decoded

    def passed(self, block: Block, decoded: Decoded) -> None:
        """Count a block after its documents were filtered."""
        progress = self.progress
        progress.offset += len(block.data)
        progress.line += block.lines
        progress.documents += decoded.table.height
        if decoded.table.height:
            progress.last_time = decoded.table["time"][-1]
        progress.skipped += len(decoded.problems)
        progress.repeated += decoded.repeated
        progress.problems += decoded.problems[: LISTED - len(progress.problems)]


def check_order(decoded: Decoded, last: int | None, name: str) -> None:
    """Raise an error if a document is earlier than the one before; ``last`` is the time before."""
    times = decoded.table["time"]
    before = times.shift(1, fill_value=last)
    early = (times < before).fill_null(False).arg_true()
    if not early.len():
        return
    row = decoded.table.row(early[0], named=True)
    raise FormatError(
        name,
        row["line"],
        f"'{row['doc_id']}' has the time {row['time']}, earlier than the document before it "
        f"({before[early[0]]}). A stream must be in order of time: sort it, for instance with "
        "jq -s -c 'sort_by(.time)[]'",
    )


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
        now = table["time"][-1]
        if now != last:
            self._ids.clear()
        start = int(table["time"].search_sorted(now, side="left"))
        self._ids.update(ids.slice(start).to_list())
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

    def state(self) -> State:
        """Return the ids, one per line."""
        text = "\n".join(self._ids).encode("utf-8")
        return {"repeats": np.frombuffer(text, np.uint8)}

    def restore(self, state: State) -> None:
        """Continue from a state."""
        self._ids = set(state["repeats"].tobytes().decode("utf-8").split("\n")) - {""}
