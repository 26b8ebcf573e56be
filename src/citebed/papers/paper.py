"""A paper as it was read from its pages: paragraphs and references, and where each word stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle on a page; points, from the upper left corner of the page (counted from 0)."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class PlacedText:
    """A text whose words know their place."""

    text: str
    starts: tuple[int, ...] = ()
    """Where in the text each piece begins that stands in one place."""
    places: tuple[Box, ...] = ()

    def boxes(self, start: int = 0, end: int | None = None) -> tuple[Box, ...]:
        """Where a part of the text stands: a rectangle for each line."""
        end = len(self.text) if end is None else end
        first = max(bisect_right(self.starts, start) - 1, 0)
        inside = [
            place
            for at, place in zip(self.starts[first:], self.places[first:], strict=True)
            if at < end
        ]
        return tuple(_by_line(inside))


def _by_line(boxes: Sequence[Box]) -> Iterator[Box]:
    line: Box | None = None
    for box in boxes:
        if line and _is_beside(line, box):
            line = Box(
                line.page,
                line.left,
                min(line.top, box.top),
                box.right,
                max(line.bottom, box.bottom),
            )
            continue
        if line:
            yield line
        line = box
    if line:
        yield line


def _is_beside(line: Box, box: Box) -> bool:
    """Whether a box goes on in a line; the top of the next column stands to the right as well."""
    level = line.top < box.bottom and box.top < line.bottom
    return level and box.page == line.page and box.left > line.left


@dataclass(frozen=True)
class ReadParagraph:
    """A paragraph; ``section`` is its heading below those above it."""

    section: str
    content: PlacedText
    heading: str = ""
    """Words in bold or italics that head the paragraph itself, and are not in its text."""
    is_item: bool = False


@dataclass(frozen=True)
class ReferenceEntry:
    """An entry of the reference list: its label, as ``12``, or ``""`` where there is none."""

    label: str
    content: PlacedText
    printed: str = ""
    """Its lines as they are printed, words still broken at their ends."""


@dataclass(frozen=True)
class ReadPaper:
    """What was read from a file."""

    title: str
    authors: tuple[str, ...]
    abstract: str
    doi: str | None
    year: int | None
    paragraphs: tuple[ReadParagraph, ...]
    references: tuple[ReferenceEntry, ...]
    pages: tuple[tuple[float, float], ...]
    """Width and height of each page."""
    notes: tuple[str, ...] = ()
    """What is odd about it, for the reader to know."""
