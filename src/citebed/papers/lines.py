"""Lines of a page from its words, and the order in which a person reads them.

Words follow one another as in the file. Columns are seen where hardly any line of a document
crosses a strip of its pages; a line that does, as a title or a wide table, parts its page into what
is read before and after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from citebed.papers.pages import Page, Word

_SAME_LINE, _BACK, _GAP = 0.55, 0.5, 1.9
"""In sizes of the font: how far a script stands off, how far back a new line begins, the gap of a
table's cells."""
_GUTTER = 4.0
_CROSSING, _ONE_COLUMN = 0.12, 0.4


@dataclass(frozen=True)
class Line:
    """Words side by side in one column of a page."""

    page: int
    words: tuple[Word, ...]
    column: int = 0
    """Counted from the left; -1 for a line across columns."""

    @cached_property
    def main(self) -> Word:
        """The word whose style most characters have."""
        first = self.words[0]
        if all(word.size == first.size and word.font is first.font for word in self.words):
            return first
        counts: Counter[tuple[float, str]] = Counter()
        for word in self.words:
            counts[round(word.size, 1), word.font.name] += len(word.text)
        style = counts.most_common(1)[0][0]
        return next(w for w in self.words if (round(w.size, 1), w.font.name) == style)

    def in_column(self, column: int) -> Line:
        """The same line, in a column; what is known of it stays known."""
        moved = Line(self.page, self.words, column)
        moved.__dict__.update({**self.__dict__, "column": column})
        return moved

    @property
    def size(self) -> float:
        """The size of its letters."""
        return self.main.size

    @property
    def baseline(self) -> float:
        """The height that its letters stand on."""
        return self.main.baseline

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.words[0].left

    @cached_property
    def right(self) -> float:
        """Where it ends."""
        return max(word.right for word in self.words)

    @cached_property
    def text(self) -> str:
        """What the line says; a word that is broken off at its end keeps its hyphen."""
        return " ".join(word.text for word in self.words)

    @cached_property
    def bold(self) -> bool:
        """Whether most of it is bold."""
        return _share(self.words, lambda word: word.font.bold) > 0.5

    @cached_property
    def italic(self) -> bool:
        """Whether most of it is in italics."""
        return _share(self.words, lambda word: word.font.italic) > 0.5


def _share(words: Sequence[Word], has: Callable[[Word], bool]) -> float:
    total = sum(len(word.text) for word in words)
    return sum(len(word.text) for word in words if has(word)) / total


def lines_of(page: Page) -> list[Line]:
    """The lines of a page in the order of the file, all in column 0."""
    found: list[list[Word]] = []
    for word in page.words:
        if found and _goes_on(found[-1], word):
            found[-1].append(word)
        else:
            found.append([word])
    return [Line(page.number, tuple(words)) for words in found]


def _goes_on(line: Sequence[Word], word: Word) -> bool:
    last, tall = line[-1], max(line[-1].size, word.size)
    near = min(abs(word.baseline - last.baseline), abs(word.baseline - line[0].baseline))
    gap = word.left - last.right
    return near < _SAME_LINE * tall and -_BACK * tall < gap < _GAP * tall


def gutters(pages: Sequence[Sequence[Line]], width: float) -> list[float]:
    """Where columns part: the middles of strips that hardly any line crosses."""
    lines = [line for page in pages for line in page if line.right - line.left > 0.15 * width]
    if len(lines) < 10:
        return []
    covered = np.zeros(int(width) + 2)
    for line in lines:
        covered[max(int(line.left), 0) : max(int(line.right) + 1, 0)] += 1
    low = covered < _CROSSING * len(lines)
    inside = np.flatnonzero(~low)
    found, start = [], None
    for x in range(inside[0], inside[-1] + 1):
        if low[x] and start is None:
            start = x
        elif not low[x] and start is not None:
            if x - start >= _GUTTER:
                found.append((start + x) / 2)
            start = None
    return found


def in_reading_order(lines: Sequence[Line], edges: Sequence[float]) -> list[Line]:
    """A page's lines with their columns, as they are read."""
    placed = [line.in_column(_column(line, edges)) for line in lines]
    across = sum(line.column < 0 for line in placed)
    if not edges or across > _ONE_COLUMN * len(placed):
        return sorted((line.in_column(0) for line in lines), key=_height)
    bands = sorted(line.baseline for line in placed if line.column < 0)
    starts = np.asarray(bands)

    def order(line: Line) -> tuple[int, int, float, float]:
        band = int(np.searchsorted(starts, line.baseline - 0.1 * line.size, side="right"))
        return (2 * band + (line.column < 0), line.column, *_height(line))

    return sorted(placed, key=order)


def _height(line: Line) -> tuple[float, float]:
    return round(line.baseline / 2), line.left


def _column(line: Line, edges: Sequence[float]) -> int:
    """The column a line stands in; -1 if it crosses an edge."""
    slack = line.size / 2
    if any(line.left < edge - slack and line.right > edge + slack for edge in edges):
        return -1
    middle = (line.left + line.right) / 2
    return sum(middle > edge for edge in edges)
