"""What workers are told of a run: all that they need to do any part of it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from citebed.distributed.filtering.folder import Part, WorkFolder
from citebed.errors import CitebedError
from citebed.timeline.filters.topics import Filter, FilterContext, RunningFilter, Topic
from citebed.wording import printable

WIDTH = 16
"""So many documents before a lesson are told, for a filter that looks back; more on demand."""


class PartTask(NamedTuple):
    """A stream that is cut into parts, and what is done with them.

    ``name`` is the stream's in messages, ``names`` what a line of the run begins with; ``due`` are
    the times after which lessons are due, in order.
    """

    folder: Path
    stream: Path
    cuts: tuple[int, ...]
    name: str
    topics: Sequence[Topic]
    declared: Filter
    tools: FilterContext
    names: str
    block: int
    naive_is_utc: bool
    strict: bool
    due: tuple[int, ...] = ()

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.cuts) - 1

    def part(self, number: int) -> Part:
        """The files of a part."""
        return WorkFolder(self.folder).part(number)

    def started(self) -> RunningFilter:
        """The filter at the beginning of the stream."""
        return self.declared.start(self.topics, self.tools)

    def check_seen(self) -> None:
        """Whether a worker sees what it works on."""
        for path in (self.folder, self.stream):
            if not path.exists():
                raise CitebedError(
                    f"a worker does not see {printable(path)}. The stream and the output must lie "
                    "where all workers have them under the same name: on a disk that is shared"
                )
        if self.stream.stat().st_size < self.cuts[-1]:
            raise CitebedError(f"{printable(self.stream)} is shorter where a worker sees it")

    def sent(self) -> bytes:
        """The task on its way."""
        try:
            return pickle.dumps(tuple(self))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise CitebedError(
                f"what makes terms of a text cannot travel to workers ({error}); take functions "
                "of a module, or those of an analyser (citebed.retrieval.analysis)"
            ) from None


@lru_cache(maxsize=2)
def received(data: bytes) -> PartTask:
    """The task where it arrives, once in each worker."""
    task = PartTask(*pickle.loads(data))
    task.check_seen()
    return task


def moments(times: np.ndarray[tuple[int], np.dtype[np.int64]], due: Sequence[int]) -> list[int]:
    """The rows of a part before which a lesson is due that may not have been before them."""
    known = np.searchsorted(np.asarray(due, np.int64), times, side="left")
    return [int(row) for row in np.flatnonzero(np.diff(known, prepend=0) > 0)]
