"""A stream in parts: where it is cut, the folder of each part, and the task that workers get.

A part is a range of bytes, cut at a line end where the time changes: documents of the same time
must stay together, because repeated ones are skipped. The files of a part are written completely or
not at all. A completed part is never computed again.
"""

from __future__ import annotations

import os
import pickle
import shutil
import stat
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from citebed.errors import CitebedError, FormatError
from citebed.files.lines import find_line_start, read_pieces, split_blocks
from citebed.files.output_files import translate_write_errors
from citebed.files.system_errors import open_for_reading
from citebed.timeline.filters.online_learning import Filter, RunningFilter
from citebed.timeline.filters.topics import FilterContext, Topic
from citebed.timeline.streams.stream_files import decode
from citebed.wording import printable


class Part:
    """The files of a part; ``summary`` and ``scored`` are written last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reads = folder / "reads.arrow"
        """The features of the part's documents."""
        self.skipped = folder / "skipped.jsonl"
        """The skipped lines of the part."""
        self.summary = folder / "summary.npz"
        """The counts of the part."""
        self.learning_documents = folder / "told.arrow"
        """The part's documents that the filter learns from, and some before them."""
        self.state = folder / "begin.npz"
        """The state of the filter at the beginning of the part."""
        self.lines = folder / "lines.txt"
        """The part's lines of the run."""
        self.scored = folder / "scored.npz"
        """The summary of the part's scores."""


class WorkFolder:
    """The folder ``OUT.parts``, which workers must see, too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan.npz"
        """The identity of the run, and the offsets of parts."""
        self.stream = path / "stream.jsonl"
        """A copy of the stream, if it is not a plain file."""

    def make(self) -> None:
        """Create the folder, or take the one that an earlier run left."""
        with translate_write_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self._check_ours()

    def remove(self) -> None:
        if os.path.lexists(self.path):
            self._check_ours()
            with translate_write_errors(self.path):
                shutil.rmtree(self.path)

    def _check_ours(self) -> None:
        """Raise if another user or program made the folder; its name is predictable."""
        status = self.path.lstat()
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        made = {entry.name for entry in self.path.iterdir()} if is_ours else set()
        known = {self.plan.name, self.stream.name}
        if not is_ours or not all(
            name in known or name.isdecimal() or name.startswith(".citebed-") for name in made
        ):
            raise CitebedError(
                f"{printable(self.path)} was not created by citebed. "
                "Remove it, or choose another output"
            )


_LOOK = 1 << 16


def cuts(path: Path, part: int, *, naive_is_utc: bool) -> list[int]:
    """Return the offsets at which parts of a file begin, and the end of the last one."""
    size = path.stat().st_size
    found = [0]
    with open_for_reading(path) as handle:
        for near in range(part, size, part):
            if near > found[-1]:
                cut = _change_after(handle, near, path, naive_is_utc)
                if cut is None:
                    break
                found.append(cut)
    return [*found, size]


def _change_after(handle: BinaryIO, near: int, path: Path, naive_is_utc: bool) -> int | None:
    """Return the offset of the first line with another time than the line before."""
    start = find_line_start(handle, near)
    before: int | None = None
    try:
        for block in split_blocks(read_pieces(handle, _LOOK), str(path), _LOOK, 2):
            table = decode(block, naive_is_utc).table
            if table.height:
                before = table["time"][0] if before is None else before
                changed = (table["time"] != before).arg_true()
                if changed.len():
                    place = 0
                    for _ in range(table["line"][changed[0]] - block.first_line):
                        place = block.data.index(b"\n", place) + 1
                    return start + place
            start += len(block.data)
    except FormatError:  # a line without an end: reading the part reports it
        return None
    return None


def first_line(begin: int) -> int:
    """Return the number of a part's first line within the part."""
    return 2 if begin else 1


WIDTH = 16
"""Number of documents before a training example that are stored for a filter that looks back."""


class PartTask(NamedTuple):
    """A stream cut into parts, and how to process it.

    ``name`` is the stream's name in messages, ``names`` the start of each line of the run; ``due``
    are the times after which training examples are due, in order.
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
        return len(self.cuts) - 1

    def part(self, number: int) -> Part:
        """Return the paths of a part's files."""
        return Part(self.folder / f"{number:06d}")

    def started(self) -> RunningFilter:
        return self.declared.start(self.topics, self.tools)

    def pickled(self) -> bytes:
        """Return the task as bytes for workers."""
        try:
            return pickle.dumps(tuple(self))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise CitebedError(
                f"the functions that make terms cannot be sent to workers ({error}); use functions "
                "of a module, or an analyser (citebed.retrieval.analysis)"
            ) from None


@lru_cache(maxsize=2)
def unpack_task(data: bytes) -> PartTask:
    """Unpack the task, once per worker. Raise if the worker cannot see its files."""
    task = PartTask(*pickle.loads(data))
    for path in (task.folder, task.stream):
        if not path.exists():
            raise CitebedError(
                f"a worker does not see {printable(path)}. Put the stream and the output on a "
                "shared disk that has the same path on all workers"
            )
    if task.stream.stat().st_size < task.cuts[-1]:
        raise CitebedError(f"{printable(task.stream)} is shorter on a worker than here")
    return task


def moments(times: np.ndarray[tuple[int], np.dtype[np.int64]], due: Sequence[int]) -> list[int]:
    """Return the rows of a part before which training examples become due."""
    known = np.searchsorted(np.asarray(due, np.int64), times, side="left")
    return [int(row) for row in np.flatnonzero(np.diff(known, prepend=0) > 0)]
