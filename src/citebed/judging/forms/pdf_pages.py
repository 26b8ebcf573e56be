"""Pages of a PDF: text in any script, wrapped, in blocks that stay together, with numbers below.

DejaVu Sans (which matplotlib brings along) has Latin, Greek and Cyrillic letters; Chinese,
Japanese and Korean ones come from the reader's own fonts: one without shows blanks there. Arabic
and Hebrew stand in the order of their letters, from left to right.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from citebed.text.normalise import fold

WIDTH, HEIGHT = A4
MARGIN = 50.0
LEFT, RIGHT = MARGIN, WIDTH - MARGIN
TOP, BOTTOM = HEIGHT - MARGIN, MARGIN + 18
INK, QUIET, RULE, FIELD, LINK = map(
    HexColor, ("#1d2329", "#56606b", "#c9d0d8", "#f2f5f8", "#174f8c")
)
_LONGEST = 3000
_KANA = range(0x3040, 0x3100)
_HANGUL = (range(0xAC00, 0xD7B0), range(0x1100, 0x1200))


class Line(NamedTuple):
    """A line of text as runs of one font each."""

    runs: tuple[tuple[str, str], ...]
    size: float


@cache
def register_fonts() -> None:
    """Make the fonts known to reportlab, once."""
    package = find_spec("matplotlib")
    places = package.submodule_search_locations if package else None
    folder = Path(next(iter(places or ()))) / "mpl-data" / "fonts" / "ttf"
    for name, file in (("Text", "DejaVuSans.ttf"), ("Bold", "DejaVuSans-Bold.ttf")):
        pdfmetrics.registerFont(TTFont(name, str(folder / file)))
    for name in ("STSong-Light", "HeiseiMin-W3", "HYSMyeongJo-Medium"):
        pdfmetrics.registerFont(UnicodeCIDFont(name))


def runs_of(text: str, font: str) -> Iterator[tuple[str, str]]:
    """Pieces of a text with the font that has their letters."""
    has_kana = any(ord(c) in _KANA for c in text)
    for name, group in groupby(text, lambda c: _font_of(c, font, has_kana)):
        yield name, "".join(group)


def _font_of(character: str, font: str, has_kana: bool) -> str:
    code = ord(character)
    if code < 0x1100 or code in pdfmetrics.getFont(font).face.charToGlyph:
        return font
    if any(code in each for each in _HANGUL):
        return "HYSMyeongJo-Medium"
    if unicodedata.east_asian_width(character) in "WF" and code < 0x10000:
        return "HeiseiMin-W3" if has_kana else "STSong-Light"
    return font


def width_of(text: str, size: float, font: str = "Text") -> float:
    """How wide a text is, in points."""
    return float(sum(pdfmetrics.stringWidth(run, name, size) for name, run in runs_of(text, font)))


def wrapped(text: str, size: float, width: float, font: str = "Text") -> list[Line]:
    """The lines of a text; words that are too long are broken, as is writing without blanks."""
    lines, line = [], ""
    for piece in _pieces(fold(text[:_LONGEST])):
        if width_of(line + piece.rstrip(), size, font) > width and line:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while width_of(line.rstrip(), size, font) > width:
            cut = _fitting(line, size, width, font)
            lines.append(line[:cut])
            line = line[cut:]
    return [Line(tuple(runs_of(each, font)), size) for each in [*lines, line.rstrip()]]


def _pieces(text: str) -> Iterator[str]:
    """What a line may not break: a word with the blank behind it, or one ideograph."""
    start = 0
    for at, character in enumerate(text, 1):
        if character == " " or unicodedata.east_asian_width(character) in "WF":
            yield text[start:at]
            start = at
    yield text[start:]


def _fitting(text: str, size: float, width: float, font: str) -> int:
    used = 0.0
    for at, character in enumerate(text):
        used += width_of(character, size, font)
        if used > width:
            return max(at, 1)
    return len(text)


class Pages:
    """Pages that are written from top to bottom; ``y`` is where the next line begins."""

    def __init__(self, title: str, foot: str) -> None:
        register_fonts()
        self._file = io.BytesIO()
        self.canvas = Canvas(self._file, pagesize=A4, invariant=1)
        self.canvas.setTitle(fold(title))
        self.canvas.setAuthor("citebed")
        self.form = self.canvas.acroForm
        self._foot = wrapped(foot, 8, RIGHT - LEFT - 60)[0]
        self.number = 1
        self.y: float = TOP

    def room(self, height: float) -> None:
        """Begin a new page unless so much fits on this one."""
        if self.y - height < BOTTOM and self.y < TOP:
            self._end_page()
            self.canvas.showPage()
            self.number += 1
            self.y = TOP

    def _end_page(self) -> None:
        self.draw(self._foot, LEFT, MARGIN - 12, QUIET)
        number = f"page {self.number}"
        at = RIGHT - width_of(number, 8)
        self.draw(Line((("Text", number),), 8), at, MARGIN - 12, QUIET)

    def draw(self, line: Line, x: float, y: float, colour: HexColor = INK) -> None:
        """One line at a place."""
        text = self.canvas.beginText(x, y)
        text.setFillColor(colour)
        for font, run in line.runs:
            text.setFont(font, line.size)
            text.textOut(run)
        self.canvas.drawText(text)

    def write(self, lines: list[Line], x: float = LEFT, colour: HexColor = INK) -> None:
        """Lines one below the other, each with the room it needs."""
        for line in lines:
            self.room(line.size * 1.35)
            self.y -= line.size * 1.35
            self.draw(line, x, self.y + line.size * 0.3, colour)

    def link(self, url: str, x: float, size: float = 8) -> None:
        """A link on lines of its own, which can be clicked."""
        for line in wrapped(url, size, RIGHT - x):
            self.write([line], x, LINK)
            width = sum(pdfmetrics.stringWidth(run, font, size) for font, run in line.runs)
            self.canvas.linkURL(url, (x, self.y, x + width, self.y + size * 1.35), relative=0)

    def rule(self) -> None:
        """A thin line over the width of the page."""
        self.y -= 6
        self.canvas.setStrokeColor(RULE)
        self.canvas.setLineWidth(0.5)
        self.canvas.line(LEFT, self.y, RIGHT, self.y)
        self.y -= 4

    def field(
        self, name: str, tip: str, box: tuple[float, float, float, float], **how: object
    ) -> None:
        """A field for text; ``box`` is its left, bottom, width and height."""
        x, y, width, height = box
        self.form.textfield(
            name=name, tooltip=tip, x=x, y=y, width=width, height=height, fontName="Helvetica",
            borderColor=QUIET, fillColor=FIELD, textColor=INK, borderWidth=0.5,
            **({"fontSize": 9, "maxlen": 4000, "fieldFlags": ""} | how),
        )  # fmt: skip

    def box(self, name: str, tip: str, x: float, y: float) -> None:
        """A box to mark."""
        self.form.checkbox(
            name=name, tooltip=tip, x=x, y=y, size=11, buttonStyle="cross", borderWidth=0.5,
            borderColor=QUIET, fillColor=FIELD, textColor=INK, checked=False, fieldFlags="",
        )  # fmt: skip

    def hidden(self, name: str, value: str) -> None:
        """A value that travels with the form."""
        self.form.textfield(
            name=name, value=value, x=0, y=0, width=1, height=1, maxlen=0, fontSize=8,
            borderWidth=0, annotationFlags="hidden", fieldFlags="readOnly",
        )  # fmt: skip

    def content(self) -> bytes:
        """The finished file."""
        self._end_page()
        self.canvas.save()
        return self._file.getvalue()
