"""The words of a PDF's pages, with their positions and fonts.

PDFium reads the file. We ask for the text of a whole page, and then only for the positions of each
word's first and last character: a call from Python takes about a microsecond, and a paper has fifty
thousand characters.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from citebed.papers.vocabulary import phrases

_BLANKS = " \t\r\n\u00a0\u2000-\u200b\u202f\u205f\u3000"
_WORD = re.compile(f"[^{_BLANKS}\x02\ufffe]*[\x02\ufffe]|[^{_BLANKS}\x02\ufffe]+")
"""A word ends at a blank, or where PDFium joined it with its other half on the next line."""
_BOLD = re.compile(
    r"bold|heavy|black|demi|semib|\b(?:cm|sf|ec)(?:ss)?bx|\bnimbusromno9l-medi|-B\b|\.B\b", re.I
)
_ITALIC = re.compile(r"ital|obli|slant|\b(?:cm|sf|ec)(?:ti|sl|bi)|-I\b|\.I\b", re.I)
_TIGHT, _BLANK = 0.2, 0.1
"""In font sizes: a line with blanks below the first is split again at gaps above the second."""
_UNKNOWN = 0xF600
"""Control codes are shifted to this place in the private use area."""
_CODES = {
    code: _UNKNOWN + code for code in (*range(32), *range(0x7F, 0xA0)) if code not in (9, 10, 13)
}
_MARKS = re.compile(r"(?<=[\w*∗†‡§¶,])[.,;:!?)\]”’\"*∗⁎]{1,2}$")
_HYPHEN = re.compile("[\x02\ufffe]$")
"""The code that PDFium uses for a hyphen at the end of a line."""


class Font(NamedTuple):
    """The style of a word."""

    name: str
    bold: bool
    italic: bool


class Word(NamedTuple):
    """A word of a page; positions are in points from the upper left corner of the page."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    font: Font
    raised: int
    """Number of raised characters at its end, such as a footnote number."""
    tail: int = 0
    """Number of punctuation marks after its raised characters."""


T = TypeVar("T")
_Span = tuple[Word, int, int]
"""A word, and its start and end in the text of its page."""


@dataclass(frozen=True)
class Page:
    """The words of a page, in the order of the file."""

    number: int
    width: float
    height: float
    words: tuple[Word, ...]


def group_while(items: Iterable[T], continues: Callable[[list[T], T], bool]) -> list[list[T]]:
    """Return the items in groups: an item that ``continues`` the last group is added to it."""
    groups: list[list[T]] = []
    for item in items:
        if groups and continues(groups[-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def read_pages(document: pypdfium2.PdfDocument) -> Iterator[Page]:
    """Yield the pages of a document; a damaged page has no size and no words."""
    fonts: dict[int, Font] = {}
    for number in range(len(document)):
        try:
            with open_page(document, number) as (page, text):
                yield _Reader(text.raw, page, fonts).page(number)
        except pypdfium2.PdfiumError:
            yield Page(number, 0.0, 0.0, ())


@contextmanager
def open_page(
    document: pypdfium2.PdfDocument, number: int
) -> Iterator[tuple[pypdfium2.PdfPage, pypdfium2.PdfTextPage]]:
    """Open a page and its text; raise ``PdfiumError`` if the page is damaged."""
    page = document[number]
    text = page.get_textpage()
    try:
        yield page, text
    finally:
        text.close()
        page.close()


class _Reader:
    """Reads the words of one page."""

    def __init__(self, text: Any, page: pypdfium2.PdfPage, fonts: dict[int, Font]) -> None:
        self._text, self._page, self._fonts = text, page, fonts
        self._styles: dict[int, tuple[Font, float]] = {}
        self._x, self._y, self._box = ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF()
        self._at = ctypes.byref(self._x), ctypes.byref(self._y)
        left, _bottom, _right, self._top = page.get_bbox()
        self._left = left

    def page(self, number: int) -> Page:
        width, height = self._page.get_size()
        text = self._characters()
        if runs_right_to_left(text):
            return Page(number, width, height, tuple(self._mirrored(text, width)))
        spans = [s for match in _WORD.finditer(text) for s in self._words(text, *match.span())]
        return Page(number, width, height, tuple(self._split_tight_words(text, spans)))

    def _mirrored(self, text: str, width: float) -> Iterator[Word]:
        """Yield the words of a right-to-left page, at mirrored positions."""
        for match in _WORD.finditer(text):
            start, end = match.span()
            font, size = self._style(start)
            baseline = self._origin(start)[1]
            edges = [edge - self._left for at in (start, end - 1) for edge in self._sides(at)]
            if size > 0:
                left, right = width - max(edges), width - min(edges)
                yield Word(_join_surrogates(match[0]), left, right, baseline, size, font, 0)

    def _sides(self, at: int) -> tuple[float, float]:
        pdfium.FPDFText_GetLooseCharBox(self._text, at, self._box)
        return self._box.left, self._box.right

    def _split_tight_words(self, text: str, spans: Sequence[_Span]) -> Iterator[Word]:
        """Yield the words; split the words of tight lines where PDFium saw no blank."""
        for line in group_while(spans, _is_on_line):
            gaps = [after[0].left - word[0].right for word, after in pairwise(line)]
            size = line[0][0].size
            if not gaps or median(gaps) > _TIGHT * size:
                yield from (word for word, _, _ in line)
                continue
            for word, start, end in line:
                cuts = self._gaps(start, end, _BLANK * size) if end - start > 2 else []
                if not cuts:
                    yield word
                for first, last in pairwise([start, *cuts, end] if cuts else []):
                    yield from (part for part, _, _ in self._words(text, first, last))

    def _gaps(self, start: int, end: int, least: float) -> list[int]:
        """Return the places inside a word that have room for a blank."""
        sides = [self._sides(at) for at in range(start, end)]
        pairs = enumerate(pairwise(sides), start + 1)
        return [at for at, ((_, right), (left, _)) in pairs if left - right > least]

    def _characters(self) -> str:
        """Return the text of the page, with one character for each of PDFium's."""
        count = pdfium.FPDFText_CountChars(self._text)
        if count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (count + 1))()
        written = pdfium.FPDFText_GetText(self._text, 0, count, buffer)
        text = bytes(buffer)[: 2 * count].decode("utf-16-le", "replace")
        if written == count + 1 and len(text) == count and "\0" not in text:
            return text
        # PDFium left out characters without a code, or some are surrogate pairs.
        units = [pdfium.FPDFText_GetUnicode(self._text, at) for at in range(count)]
        return "".join(chr(unit) if 0 < unit < 0x110000 else "\ufffd" for unit in units)

    def _words(self, text: str, start: int, end: int) -> Iterator[_Span]:
        """Yield the word between two offsets, unless it is rotated or has no position."""
        left, baseline = self._origin(start)
        font, size = self._style(start)
        if size <= 0:
            return
        raised = tail = 0
        if end - start > 1:
            above = baseline - 0.15 * size
            # "growth12." and "Author*," end in marks that are not raised.
            mark = _MARKS.search(text, max(start, end - 3), end)
            while mark and end - tail > mark.start():
                if self._origin(end - 1 - tail)[1] < above:
                    break
                tail += 1
            while end - tail - raised > start + 1:
                if self._origin(end - 1 - tail - raised)[1] >= above:
                    break
                raised += 1
        right = self._sides(end - 1)[1] - self._left
        if right - left < -0.5 * size:  # PDFium joined a word that two lines share
            yield from self._split_at_line_end(text, start, end)
            return
        shown = _HYPHEN.sub("-", _join_surrogates(text[start:end])).translate(_CODES)
        tail = tail if raised else 0
        yield Word(shown, left, right, baseline, size, font, raised, tail), start, end

    def _split_at_line_end(self, text: str, start: int, end: int) -> Iterator[_Span]:
        before = self._origin(start)[0]
        for at in range(start + 1, end):
            x = self._origin(at)[0]
            if x < before - 0.5 * self._style(start)[1]:
                yield from self._words(text, start, at)
                yield from self._words(text, at, end)
                return
            before = x

    def _origin(self, at: int) -> tuple[float, float]:
        pdfium.FPDFText_GetCharOrigin(self._text, at, *self._at)
        return self._x.value - self._left, self._top - self._y.value

    def _style(self, at: int) -> tuple[Font, float]:
        """Return a character's font and its size on the page, which is 0 for rotated text."""
        made = pdfium.FPDFText_GetTextObject(self._text, at)
        if not made:
            return _NO_FONT, 0.0
        key = ctypes.addressof(made.contents)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._new_style(made, at)
        return style

    def _new_style(self, made: Any, at: int) -> tuple[Font, float]:
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self._text, at, matrix)
        size = pdfium.FPDFText_GetFontSize(self._text, at)
        turned = abs(matrix.b) > 0.1 * abs(matrix.a)
        shown = 0.0 if turned else abs(size * matrix.d)
        font = pdfium.FPDFTextObj_GetFont(made)
        if not font:
            return _NO_FONT, shown
        key = ctypes.addressof(font.contents)
        if key not in self._fonts:
            length = pdfium.FPDFFont_GetBaseFontName(font, None, 0)
            buffer = ctypes.create_string_buffer(max(length, 1))
            pdfium.FPDFFont_GetBaseFontName(font, buffer, length)
            name = buffer.value.decode("latin-1").partition("+")
            plain = name[2] or name[0]
            bold = pdfium.FPDFFont_GetWeight(font) >= 600 or _BOLD.search(plain) is not None
            angle = ctypes.c_int()
            pdfium.FPDFFont_GetItalicAngle(font, angle)
            self._fonts[key] = Font(
                plain, bold, angle.value != 0 or _ITALIC.search(plain) is not None
            )
        return self._fonts[key], shown


def _is_on_line(line: Sequence[_Span], span: _Span) -> bool:
    last = line[-1][0]
    return abs(span[0].baseline - last.baseline) <= 0.5 and span[0].left >= last.left


_NO_FONT = Font("", bold=False, italic=False)


def _join_surrogates(text: str) -> str:
    if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# --- Right-to-left scripts ----------------------------------------------------------------------

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_LETTER = re.compile(r"[^\W\d_]")


def runs_right_to_left(text: str) -> bool:
    """Return True if most letters of a text belong to scripts such as Hebrew or Arabic."""
    if text.isascii() or _RIGHT_TO_LEFT.search(text) is None:
        return False
    return 2 * len(_RIGHT_TO_LEFT.findall(text)) > len(_LETTER.findall(text))


# --- Line numbers -------------------------------------------------------------------------------

_FEWEST = 8


def remove_line_numbers(pages: Iterable[Page]) -> Iterator[Page]:
    """Yield the pages without the numbers in the margin that count every line, or every fifth.

    On a page with few numbers, only numbers that continue the previous page's are removed.
    """
    last: Word | None = None
    for page in pages:
        edges: dict[int, list[Word]] = defaultdict(list)
        for each in page.words:
            if each.text.isdecimal() and each.text.isascii() and len(each.text) < 6:
                edges[round(each.right / 2)].append(each)
        columns = (_counting_column(edges[at] + edges.get(at + 1, []), page) for at in list(edges))
        numbers = [each for column in columns for each in column] or _continued_numbers(page, last)
        if not numbers:
            yield page
            continue
        last = max(numbers, key=lambda word: int(word.text))
        ids = set(map(id, numbers))
        yield replace(page, words=tuple(word for word in page.words if id(word) not in ids))


def _continued_numbers(page: Page, last: Word | None) -> list[Word]:
    """Return numbers that continue the previous page's, at the same distance to the edge."""
    numbers: list[Word] = []
    for word in sorted(page.words, key=lambda word: word.baseline) if last else ():
        before = numbers[-1] if numbers else last
        assert before is not None
        if abs(word.right - before.right) < 1.5 and word.text == str(int(before.text) + 1):
            numbers.append(word)
    return numbers


def _counting_column(words: Sequence[Word], page: Page) -> Sequence[Word]:
    """Return a column of numbers if they count the lines of their page.

    Labels of references count up as well, but are further apart than lines.
    """
    if len(words) < _FEWEST:
        return ()
    ordered = sorted(words, key=lambda word: word.baseline)
    steps = [int(after.text) - int(word.text) for word, after in pairwise(ordered)]
    if steps.count(1) > 0.9 * len(steps):
        near = _usual_step([word.baseline for word in ordered])
        lines = _usual_step(sorted({round(word.baseline, 1) for word in page.words}))
        return ordered if abs(near - lines) < 0.6 else ()
    fifths = all(int(word.text) % 5 == 0 for word in ordered)
    return ordered if fifths and steps.count(5) > 0.9 * len(steps) else ()


def _usual_step(heights: Sequence[float]) -> float:
    """Return the most common distance between lines, in points."""
    steps = Counter(round(2 * (after - height)) for height, after in pairwise(heights))
    return max(((times, step) for step, times in steps.items() if step > 8), default=(0, 0))[1] / 2


# --- Lines ----------------------------------------------------------------------------------------

_SAME_LINE, _BACK, _GAP = 0.55, 0.5, 1.9
"""In font sizes: the shift of a sub- or superscript, the step back to a new line, and the gap
between the cells of a table."""
_GUTTER = 4.0
"""Least width of a gutter, in points."""
_HALF = 0.6
"""Largest width of a line in a column, by the width of the text."""
_CROSSING, _CROSSING_PAGE, _ONE_COLUMN = 0.12, 0.3, 0.4
"""The largest share of lines that may cross a gutter: in a document, on a page with other columns,
and on a page with the document's columns."""


class Line:
    """Words side by side in one column of a page.

    ``column`` counts from the left; it is -1 for a line that crosses columns. ``main`` is the first
    word in the style of most characters; it gives the line its ``size`` and ``baseline``. In
    ``text``, a word that the next line continues keeps its hyphen.
    """

    def __init__(self, page: int, words: tuple[Word, ...], column: int = 0) -> None:
        self.page, self.words, self.column = page, words, column
        self.main = words[0]
        if any(word.size != self.main.size or word.font is not self.main.font for word in words):
            counts: Counter[tuple[float, str]] = Counter()
            for word in words:
                counts[round(word.size, 1), word.font.name] += len(word.text)
            style = counts.most_common(1)[0][0]
            self.main = next(w for w in words if (round(w.size, 1), w.font.name) == style)
        self.size, self.baseline, self.left = self.main.size, self.main.baseline, words[0].left
        self.right = max(word.right for word in words)
        self.text = " ".join(word.text for word in words)

    @property
    def place(self) -> tuple[int, int]:
        """Its page and column."""
        return self.page, self.column

    def in_column(self, column: int) -> Line:
        """Return the line in another column."""
        moved = copy(self)
        moved.column = column
        return moved

    @cached_property
    def bold(self) -> bool:
        """True if most of it is bold."""
        letters = sum(len(word.text) for word in self.words)
        return 2 * sum(len(word.text) for word in self.words if word.font.bold) > letters

    @cached_property
    def italic(self) -> bool:
        """True if most of it is in italics."""
        letters = sum(len(word.text) for word in self.words)
        return 2 * sum(len(word.text) for word in self.words if word.font.italic) > letters


def build_lines(page: Page) -> list[Line]:
    """Return the lines of a page in the order of the file, all in column 0."""
    groups = group_while(page.words, _continues)
    return [Line(page.number, tuple(words)) for words in groups]


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
    inside = np.flatnonzero(covered >= _CROSSING * len(lines)).tolist()
    gaps = ((left + 1, right) for left, right in pairwise(inside))
    return [(left + right) / 2 for left, right in gaps if right - left >= _GUTTER]


def find_page_gutters(
    lines: Sequence[Line], gutters: Sequence[float], width: float
) -> Sequence[float]:
    """Return the gutters of a page: the document's, or its own if its lines cross those.

    A page has its own gutters if it has a narrow column in the margin, more columns, or columns
    only below text that has none. A gutter has several lines on each side, and much fewer across.
    """
    across = sum(_column(line, gutters) < 0 for line in lines)
    if (gutters and across <= _ONE_COLUMN * len(lines)) or not lines:
        return gutters
    most = max(line.right for line in lines) - min(line.left for line in lines)
    for widest in (_HALF * most, most):
        some = [line for line in lines if 0.1 * width < line.right - line.left <= widest]
        lefts = np.sort([line.left for line in some])
        rights = np.sort([line.right for line in some])
        x = np.arange(int(width))
        before = np.searchsorted(rights, x + 1, side="right")
        behind = len(some) - np.searchsorted(lefts, x - 1, side="left")
        few = np.minimum(before, behind)
        free = (few >= _FEWEST) & (len(some) - before - behind < _CROSSING_PAGE * few)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], free, [0])))).reshape(-1, 2)
        own = [float(left + right) / 2 for left, right in edges if right - left >= _GUTTER]
        if own:
            return own
    return gutters


def order_lines(lines: Sequence[Line], gutters: Sequence[float]) -> list[Line]:
    """Return a page's lines with their columns, in reading order.

    Lines across a gutter divide the page into bands. If they are many, as on a first page with an
    abstract above two columns, only bands with text on both sides of a gutter have columns.
    """
    placed = [line.in_column(_column(line, gutters)) for line in lines]
    across = sum(line.column < 0 for line in placed)
    starts = np.asarray(sorted(line.baseline for line in placed if line.column < 0))

    def band(line: Line) -> int:
        return int(np.searchsorted(starts, line.baseline - 0.1 * line.size, side="right"))

    if not gutters or across > _ONE_COLUMN * len(placed):
        beside: dict[int, Counter[int]] = defaultdict(Counter)
        for line in placed:
            if line.column >= 0:
                beside[band(line)][line.column] += 1
        columns = {at for at, some in beside.items() if len(some) > 1 and min(some.values()) > 2}
        if not columns:
            return sorted((line.in_column(0) for line in lines), key=_height)
        placed = [line if band(line) in columns else line.in_column(-1) for line in placed]

    def order(line: Line) -> tuple[int, int, float, float]:
        return (2 * band(line) + (line.column < 0), line.column, *_height(line))

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

_UNKNOWN_LETTER = re.compile("[\uf600-\uf6ff\u0100-\u017f]")
_LEAST_COMMON = 0.3
"""Least share of common words that a ligature makes in place of a letter with a code of its own."""
_LIGATURES = ("fi", "fl", "ff", "ffi", "ffl", "Th", "tt", "ft", "Qu", "tz", "st", "ct", "fj", "ch")


def restore_ligatures(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the lines with letters in place of unknown glyphs, if a ligature fits."""
    words: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word in (word for page in pages for line in page for word in line.words):
        for code in set(_UNKNOWN_LETTER.findall(word.text)):
            words[word.font.name, code][word.text] += 1
    if not words:
        return [list(page) for page in pages]
    known = {key: _best_ligature(key[1], texts) for key, texts in words.items()}

    def restored(word: Word) -> Word:
        text = _UNKNOWN_LETTER.sub(lambda code: known[word.font.name, code[0]], word.text)
        return word._replace(text=text)

    return [
        [
            Line(line.page, tuple(map(restored, line.words)), line.column)
            if _UNKNOWN_LETTER.search(line.text)
            else line
            for line in page
        ]
        for page in pages
    ]


def _best_ligature(code: str, texts: Counter[str]) -> str:
    """Return the ligature that makes the most common words, or the code itself."""
    known = frozenset(phrases("ligature_words").replace("|", " ").split())
    scores = dict.fromkeys(_LIGATURES, 0)
    for ligature in _LIGATURES:
        for text, times in texts.items():
            lower = text.replace(code, ligature).lower()
            parts = {lower.strip(".,;:()[]“”\"'’-"), *re.findall(r"[a-z]+", lower)}
            common = [part for part in parts if ligature.lower() in part and part in known]
            scores[ligature] += times * len(common)
    best = max(_LIGATURES, key=lambda ligature: scores[ligature])
    least = _LEAST_COMMON * texts.total() if code.isalpha() else 0
    return best if scores[best] > least else code
