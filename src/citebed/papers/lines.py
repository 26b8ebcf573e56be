"""Build the lines of a page from its words, and sort them into reading order.

A gutter between columns is a strip of the pages that hardly any line of the document crosses. A
line that does cross it, such as a title or a wide table, divides its page into a part that is read
before it and a part that is read after it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from citebed.papers.pages import Page, Word

_SAME_LINE, _BACK, _GAP = 0.55, 0.5, 1.9
"""In font sizes: the shift of a sub- or superscript, the step back to a new line, and the gap
between the cells of a table."""
_GUTTER = 4.0
"""Least width of a gutter, in points."""
_CROSSING, _ONE_COLUMN = 0.12, 0.4
"""The largest share of lines that may cross a gutter, in a document and on one page."""


@dataclass(frozen=True)
class Line:
    """Words side by side in one column of a page."""

    page: int
    words: tuple[Word, ...]
    column: int = 0
    """Counted from the left; -1 for a line that crosses columns."""

    @cached_property
    def main(self) -> Word:
        """The first word in the style of most characters."""
        first = self.words[0]
        if all(word.size == first.size and word.font is first.font for word in self.words):
            return first
        counts: Counter[tuple[float, str]] = Counter()
        for word in self.words:
            counts[round(word.size, 1), word.font.name] += len(word.text)
        style = counts.most_common(1)[0][0]
        return next(w for w in self.words if (round(w.size, 1), w.font.name) == style)

    def in_column(self, column: int) -> Line:
        """Return the line in another column, with its cached properties."""
        moved = Line(self.page, self.words, column)
        moved.__dict__.update({**self.__dict__, "column": column})
        return moved

    @property
    def size(self) -> float:
        """The font size of its main word."""
        return self.main.size

    @property
    def baseline(self) -> float:
        """The baseline of its main word."""
        return self.main.baseline

    @property
    def left(self) -> float:
        """Its left edge."""
        return self.words[0].left

    @cached_property
    def right(self) -> float:
        """Its right edge."""
        return max(word.right for word in self.words)

    @cached_property
    def text(self) -> str:
        """Its words; a word that the next line continues keeps its hyphen."""
        return " ".join(word.text for word in self.words)

    @cached_property
    def bold(self) -> bool:
        """True if most of it is bold."""
        return _share(self.words, lambda word: word.font.bold) > 0.5

    @cached_property
    def italic(self) -> bool:
        """True if most of it is in italics."""
        return _share(self.words, lambda word: word.font.italic) > 0.5


def _share(words: Sequence[Word], has: Callable[[Word], bool]) -> float:
    total = sum(len(word.text) for word in words)
    return sum(len(word.text) for word in words if has(word)) / total


def build_lines(page: Page) -> list[Line]:
    """Return the lines of a page in the order of the file, all in column 0."""
    lines: list[list[Word]] = []
    for word in page.words:
        if lines and _continues(lines[-1], word):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [Line(page.number, tuple(words)) for words in lines]


def _continues(line: Sequence[Word], word: Word) -> bool:
    last, tall = line[-1], max(line[-1].size, word.size)
    near = min(abs(word.baseline - last.baseline), abs(word.baseline - line[0].baseline))
    gap = word.left - last.right
    return near < _SAME_LINE * tall and -_BACK * tall < gap < _GAP * tall


def find_gutters(pages: Sequence[Sequence[Line]], width: float) -> list[float]:
    """Return the middles of the strips between columns, in points from the left."""
    lines = [line for page in pages for line in page if line.right - line.left > 0.15 * width]
    if len(lines) < 10:
        return []
    covered = np.zeros(int(width) + 2)
    for line in lines:
        covered[max(int(line.left), 0) : max(int(line.right) + 1, 0)] += 1
    low = covered < _CROSSING * len(lines)
    inside = np.flatnonzero(~low)
    gutters, start = [], None
    for x in range(inside[0], inside[-1] + 1):
        if low[x] and start is None:
            start = x
        elif not low[x] and start is not None:
            if x - start >= _GUTTER:
                gutters.append((start + x) / 2)
            start = None
    return gutters


def order_lines(lines: Sequence[Line], gutters: Sequence[float]) -> list[Line]:
    """Return a page's lines with their columns, in reading order."""
    placed = [line.in_column(_column(line, gutters)) for line in lines]
    across = sum(line.column < 0 for line in placed)
    if not gutters or across > _ONE_COLUMN * len(placed):
        return sorted((line.in_column(0) for line in lines), key=_height)
    bands = sorted(line.baseline for line in placed if line.column < 0)
    starts = np.asarray(bands)

    def order(line: Line) -> tuple[int, int, float, float]:
        band = int(np.searchsorted(starts, line.baseline - 0.1 * line.size, side="right"))
        return (2 * band + (line.column < 0), line.column, *_height(line))

    return sorted(placed, key=order)


def _height(line: Line) -> tuple[float, float]:
    return round(line.baseline / 2), line.left


def _column(line: Line, gutters: Sequence[float]) -> int:
    """Return the column of a line; -1 if it crosses a gutter."""
    slack = line.size / 2
    if any(line.left < gutter - slack and line.right > gutter + slack for gutter in gutters):
        return -1
    middle = (line.left + line.right) / 2
    return sum(middle > gutter for gutter in gutters)


# --- Ligatures ----------------------------------------------------------------------------------
# LaTeX fonts draw "Th", "fi" or "tt" as one glyph, and some files do not say which letters it
# stands for: "so?ware". We try each of the usual ligatures for all words with such a glyph, and
# take the one that makes the most common words.

_UNKNOWN_LETTER = re.compile("[\uf600-\uf6ff]")
_LIGATURES = ("fi", "fl", "ff", "ffi", "ffl", "Th", "tt", "ft", "Qu", "tz", "st", "ct", "fj", "ch")
_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        affect affected affects affluent afford after aspect attached attempt attention attribute
        baffle baffling before benefit best better between buffer classification classifier
        classifiers coefficient coefficients committed confidence conflict conflicting conflicts
        consider context contexts correct craft cuff cutting define defined defines definition
        definitions differ difference differences different differently differing differs difficult
        difficulty diffuse diffusion direct draft effect effective effectively effectiveness effects
        efficacy efficiency efficient efficiently effluent effort efforts emitted exact exactly
        expect fact factor factors field fields fifth fifty figure figures file files filter
        filtered filtering filters final finally find finding findings finds fine finite first
        firstly fit fits fitted fitting five fixed flag flags flat flexibility flexible flight flip
        float floor flow flows fluctuation fluctuations fluid flux getting identified identifies
        identify infinite inflated inflation inflow influence influenced influences interest just
        justify left letter letters little matter matters metric modified modify more most must
        object off offer offered offering offers office official offline offload offset often
        omitted online overfitting overflow pattern patterns permitted profile profiles profit
        project quality quantify quantitative quantity queries query question questions quick
        quickly quite reflect reflected reflecting reflection reflections reflects related research
        result results satisfaction satisfied satisfy scattered scientific scientist scientists
        select setting settings shift shifts shuffle shuffled shuffles shuffling significance
        significant significantly simplified soft software specific specifically specification
        specified specify staff state step stiff still strong student students study stuff submitted
        such suffer suffers sufficient sufficiently system systems test tests text than that the
        their them then theorem theoretical theory there thereby therefore these they thing things
        think third this thorough those though thought thousand thousands three threshold through
        throughout thus trade-off trade-offs traffic transfer transmitted unaffected unified unit
        until up verified verify waffle which while with workflow written
        """,
    )
)
"""Common words of papers that contain a ligature."""


def restore_ligatures(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the lines with letters in place of unknown glyphs, if a ligature fits."""
    words: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word in (word for page in pages for line in page for word in line.words):
        for code in set(_UNKNOWN_LETTER.findall(word.text)):
            words[word.font.name, code][word.text] += 1
    if not words:
        return [list(page) for page in pages]
    known = {key: _best_ligature(key[1], texts) for key, texts in words.items()}
    return [[_with_ligatures(line, known) for line in page] for page in pages]


def _best_ligature(code: str, texts: Counter[str]) -> str:
    """Return the ligature that makes the most common words, or the code itself."""
    scores = dict.fromkeys(_LIGATURES, 0)
    for ligature in _LIGATURES:
        for text, times in texts.items():
            lower = text.replace(code, ligature).lower()
            parts = {lower.strip(".,;:()[]“”\"'’-"), *re.findall(r"[a-z]+", lower)}
            common = [part for part in parts if ligature.lower() in part and part in _COMMON_WORDS]
            scores[ligature] += times * len(common)
    best = max(_LIGATURES, key=lambda ligature: scores[ligature])
    return best if scores[best] else code


def _with_ligatures(line: Line, known: dict[tuple[str, str], str]) -> Line:
    if not _UNKNOWN_LETTER.search(line.text):
        return line
    words = []
    for word in line.words:
        text = word.text
        for code in _UNKNOWN_LETTER.findall(text):
            text = text.replace(code, known[word.font.name, code])
        words.append(word._replace(text=text))
    return Line(line.page, tuple(words), line.column)
