"""A paper as read from its pages: paragraphs, references, and the position of each word."""

from __future__ import annotations

import contextlib
import resource
import struct
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple

from citebed.files.limits import effective_limit


class Box(NamedTuple):
    """A rectangle in points from the upper left corner of a page; pages count from 0."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


_BOX = struct.Struct("<i4f")


@dataclass(frozen=True)
class PlacedText:
    """A text and the position of each of its words on the page."""

    text: str
    starts: tuple[int, ...] = ()
    """Offsets in the text at which a word begins."""
    places: tuple[Box, ...] = ()
    """For each offset the box of that word."""

    def boxes(self, start: int = 0, end: int | None = None) -> tuple[Box, ...]:
        """Return the boxes of a part of the text, one for each line."""
        end = len(self.text) if end is None else end
        first = max(bisect_right(self.starts, start) - 1, 0)
        inside = [
            place
            for at, place in zip(self.starts[first:], self.places[first:], strict=True)
            if at < end
        ]
        lines: list[Box] = []
        for box in inside:
            line = lines[-1] if lines else box._replace(page=-1)
            level = line.top < box.bottom and box.top < line.bottom
            # The top of the next column is to the right of a line, too.
            if level and box.page == line.page and box.left > line.left:
                top, bottom = min(line.top, box.top), max(line.bottom, box.bottom)
                lines[-1] = Box(line.page, line.left, top, box.right, bottom)
            else:
                lines.append(box)
        return tuple(lines)

    def part(self, start: int, end: int | None = None) -> PlacedText:
        """Return the text between two offsets, without the blanks around it."""
        text = self.text[start:end]
        cut = start + len(text) - len(text.lstrip())
        text = text.strip()
        first = bisect_left(self.starts, cut)
        last = None if end is None else bisect_left(self.starts, cut + len(text))
        starts = tuple(at - cut for at in self.starts[first:last])
        return PlacedText(text, starts, self.places[first:last])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the positions as bytes: as objects they would take several times the space."""
        starts = struct.pack(f"<{len(self.starts)}I", *self.starts)
        places = b"".join(_BOX.pack(*place) for place in self.places)
        return unpack_placed_text, (self.text, starts, places)


def unpack_placed_text(text: str, starts: bytes, places: bytes) -> PlacedText:
    """Return a pickled text."""
    return PlacedText(
        text,
        struct.unpack(f"<{len(starts) // 4}I", starts),
        tuple(Box(*place) for place in _BOX.iter_unpack(places)),
    )


@dataclass(frozen=True)
class ReadParagraph:
    """A paragraph; ``section`` is its heading, behind the headings above it."""

    section: str
    content: PlacedText
    heading: str = ""
    """Bold or italic words at the start of the paragraph; they are not in its text."""
    is_item: bool = False


@dataclass(frozen=True)
class ReferenceEntry:
    """An entry of the reference list; its label is for example ``12``, or ``""`` without one."""

    label: str
    content: PlacedText
    printed: str = ""
    """The printed lines, with words still hyphenated at line ends."""


@dataclass(frozen=True)
class ReadPaper:
    """A paper as read from a file."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    doi: str | None
    year: int | None
    paragraphs: tuple[ReadParagraph, ...]
    references: tuple[ReferenceEntry, ...]
    pages: tuple[tuple[float, float], ...]
    """Width and height of each page."""
    footnotes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """If footnotes cite: their numbers, and the places of what they cite in the references. Numbers
    that restart on each page have the page behind them: ``3@12``."""
    notes: tuple[str, ...] = ()
    """Oddities of the file that the user should know."""


MEMORY = 3 << 29
"""Bytes of address space for a child process."""
FILE_BYTES = 200 << 20
MAX_PAGES = 2000
"""A longer file is not a paper, but a book or a volume of papers."""
CPU_SECONDS, CPU_SECONDS_PER_PAGE, MAX_CPU_SECONDS = 20, 0.25, 240
"""Processor time per paper, and more for each page: five times what a dense page needs."""
WALL_SECONDS = 280.0
"""Time limit on a busy machine; imports give their own workers a little more."""


def limit_process() -> None:
    """Limit this process for good: its memory, no files written, no core dumps."""
    for kind, value in (
        (resource.RLIMIT_AS, effective_limit(MEMORY)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS cannot limit memory
            resource.setrlimit(kind, (_at_most(kind, value),) * 2)


def allow_cpu_seconds(seconds: int) -> None:
    """Let this process use more processor time from now on; then the system ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(resource.RLIMIT_CPU, until), hard))


def _at_most(kind: int, value: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
