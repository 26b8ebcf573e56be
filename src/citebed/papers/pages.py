"""The words of a PDF's pages: what they say, where they stand, in which font.

PDFium reads the file. It is asked for the text of a page at once and then for the places of each
word's first and last character only: a call from Python takes about a microsecond, a paper has
fifty thousand characters.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from citebed.papers.mirroring import runs_right_to_left

_BLANKS = " \t\r\n\u00a0\u2000-\u200b\u202f\u205f\u3000"
_WORD = re.compile(f"[^{_BLANKS}\x02\ufffe]*[\x02\ufffe]|[^{_BLANKS}\x02\ufffe]+")
"""A word ends in a blank, or where PDFium has joined it to its other half on the next line."""
_BOLD = re.compile(
    r"bold|heavy|black|demi|semib|\b(?:cm|sf|ec)(?:ss)?bx|\bnimbusromno9l-medi|-B\b|\.B\b", re.I
)
_ITALIC = re.compile(r"ital|obli|slant|\b(?:cm|sf|ec)(?:ti|sl|bi)|-I\b|\.I\b", re.I)
_TIGHT, _BLANK = 0.2, 0.1
"""In sizes of the font: lines with blanks this narrow are looked at closer, and a blank in them."""
UNKNOWN = 0xF600
"""Codes that are no characters are kept from here on, among those for private use."""
_CODES = {
    code: UNKNOWN + code for code in (*range(32), *range(0x7F, 0xA0)) if code not in (9, 10, 13)
}
_HYPHEN = re.compile("[\x02\ufffe]$")
"""What PDFium writes for a hyphen at the end of a line."""


class Font(NamedTuple):
    """The style of a word."""

    name: str
    bold: bool
    italic: bool


class Word(NamedTuple):
    """A word of a page. Lengths are in points, from the upper left corner of the page."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    font: Font
    raised: int
    """So many characters at its end stand higher and smaller, as the number of a footnote."""
    breaks: bool
    """Whether PDFium ends a line behind it."""


_Span = tuple[Word, int, int]
"""A word, and where in the text of its page it begins and ends."""


@dataclass(frozen=True)
class Page:
    """A page's words, in the order of the file."""

    number: int
    width: float
    height: float
    words: tuple[Word, ...]


def read_pages(document: pypdfium2.PdfDocument) -> Iterator[Page]:
    """The pages of a document, one after the other: none is kept here.

    A damaged page that cannot be opened has no size and no words.
    """
    fonts: dict[int, Font] = {}
    for number in range(len(document)):
        try:
            page = document[number]
            text = page.get_textpage()
        except pypdfium2.PdfiumError:
            yield Page(number, 0.0, 0.0, ())
            continue
        try:
            yield _Reader(text.raw, page, fonts).page(number)
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
        """The page with its words."""
        width, height = self._page.get_size()
        text = self._characters()
        if runs_right_to_left(text):
            return Page(number, width, height, tuple(self._mirrored(text, width)))
        spans = [
            (word, start, end)
            for match in _WORD.finditer(text)
            for word, start, end in self._words(text, *match.span())
        ]
        return Page(number, width, height, tuple(self._parted(text, spans)))

    def _mirrored(self, text: str, width: float) -> Iterator[Word]:
        """The words of a page that is read from right to left, where a mirror shows them."""
        for match in _WORD.finditer(text):
            start, end = match.span()
            font, size = self._style(start)
            baseline = self._origin(start)[1]
            edges = [edge - self._left for at in (start, end - 1) for edge in self._sides(at)]
            if size > 0:
                breaks = text[end : end + 1] in "\r\n"
                left, right = width - max(edges), width - min(edges)
                yield Word(_whole(match[0]), left, right, baseline, size, font, 0, breaks)

    def _sides(self, at: int) -> tuple[float, float]:
        pdfium.FPDFText_GetLooseCharBox(self._text, at, self._box)
        return self._box.left, self._box.right

    def _parted(self, text: str, spans: Sequence[_Span]) -> Iterator[Word]:
        """The words, those of tight lines parted where PDFium saw no blank."""
        for line in _lines(spans):
            gaps = [after[0].left - word[0].right for word, after in pairwise(line)]
            size = line[0][0].size
            if not gaps or median(gaps) > _TIGHT * size:
                yield from (word for word, _start, _end in line)
                continue
            for word, start, end in line:
                cuts = self._blanks(start, end, _BLANK * size) if end - start > 2 else []
                if not cuts:
                    yield word
                for first, last in pairwise([start, *cuts, end] if cuts else []):
                    yield from (part for part, _s, _e in self._words(text, first, last))

    def _blanks(self, start: int, end: int, least: float) -> list[int]:
        """Where inside a word there is room for a blank."""
        found, right = [], 0.0
        for at in range(start, end):
            pdfium.FPDFText_GetLooseCharBox(self._text, at, self._box)
            if at > start and self._box.left - right > least:
                found.append(at)
            right = self._box.right
        return found

    def _characters(self) -> str:
        """The text, a character for each of PDFium's."""
        count = pdfium.FPDFText_CountChars(self._text)
        if count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (count + 1))()
        written = pdfium.FPDFText_GetText(self._text, 0, count, buffer)
        text = bytes(buffer)[: 2 * count].decode("utf-16-le", "replace")
        if written == count + 1 and len(text) == count and "\0" not in text:
            return text
        # Characters without a code were left out, or some have two halves.
        units = [pdfium.FPDFText_GetUnicode(self._text, at) for at in range(count)]
        return "".join(chr(unit) if 0 < unit < 0x110000 else "\ufffd" for unit in units)

    def _words(self, text: str, start: int, end: int) -> Iterator[_Span]:
        """The word between two places, or nothing where it is turned or has no place."""
        left, baseline = self._origin(start)
        font, size = self._style(start)
        if size <= 0:
            return
        raised = 0
        last_y = self._origin(end - 1)[1] if end - start > 1 else baseline
        if last_y < baseline - 0.15 * size:
            raised = self._raised(start, end, baseline - 0.15 * size)
        pdfium.FPDFText_GetLooseCharBox(self._text, end - 1, self._box)
        right = self._box.right - self._left
        if right - left < -0.5 * size:  # it goes on in another line: PDFium joins broken words
            yield from self._in_parts(text, start, end)
            return
        said = _HYPHEN.sub("-", _whole(text[start:end])).translate(_CODES)
        breaks = text[end : end + 1] in "\r\n"
        yield Word(said, left, right, baseline, size, font, raised, breaks), start, end

    def _in_parts(self, text: str, start: int, end: int) -> Iterator[_Span]:
        """A word over two lines in its parts."""
        before = self._origin(start)[0]
        for at in range(start + 1, end):
            x = self._origin(at)[0]
            if x < before - 0.5 * self._style(start)[1]:
                yield from self._words(text, start, at)
                yield from self._words(text, at, end)
                return
            before = x

    def _raised(self, start: int, end: int, above: float) -> int:
        count = 0
        while end - 1 - count > start and self._origin(end - 1 - count)[1] < above:
            count += 1
        return count

    def _origin(self, at: int) -> tuple[float, float]:
        pdfium.FPDFText_GetCharOrigin(self._text, at, *self._at)
        return self._x.value - self._left, self._top - self._y.value

    def _style(self, at: int) -> tuple[Font, float]:
        """The font of a character and its size as seen on the page; 0 where it is turned."""
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
        seen = 0.0 if turned else abs(size * matrix.d)
        font = pdfium.FPDFTextObj_GetFont(made)
        if not font:
            return _NO_FONT, seen
        key = ctypes.addressof(font.contents)
        if key not in self._fonts:
            self._fonts[key] = _font(font)
        return self._fonts[key], seen


def _lines(spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """Words that stand on one line, one after the other."""
    line: list[_Span] = []
    for span in spans:
        if line and (
            abs(span[0].baseline - line[-1][0].baseline) > 0.5 or span[0].left < line[-1][0].left
        ):
            yield line
            line = []
        line.append(span)
    if line:
        yield line


_NO_FONT = Font("", bold=False, italic=False)


def _whole(text: str) -> str:
    """Text whose characters beyond 16 bits are one again, and not two halves."""
    if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _font(font: Any) -> Font:
    length = pdfium.FPDFFont_GetBaseFontName(font, None, 0)
    buffer = ctypes.create_string_buffer(max(length, 1))
    pdfium.FPDFFont_GetBaseFontName(font, buffer, length)
    name = buffer.value.decode("latin-1").partition("+")
    plain = name[2] or name[0]
    bold = pdfium.FPDFFont_GetWeight(font) >= 600 or _BOLD.search(plain) is not None
    angle = ctypes.c_int()
    pdfium.FPDFFont_GetItalicAngle(font, angle)
    return Font(plain, bold, angle.value != 0 or _ITALIC.search(plain) is not None)
