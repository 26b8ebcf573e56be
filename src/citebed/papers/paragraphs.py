"""Join lines of prose to paragraphs, across columns and pages, and make their text.

A paragraph begins at a line that is indented, that has more space above, or that follows a short
last line. Figures, notes and running heads between two lines of a paragraph are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from citebed.papers.pages import Line, Word
from citebed.papers.paper import Box, PlacedText
from citebed.papers.structure import Kind, Style, has_size, heading_level, plain_heading
from citebed.text.headings import BELOW
from citebed.text.normalise import join_hyphens

_BULLET = re.compile(r"(?:([•◦▪■●∙‣–—*\ue000-\uf8ff])|\(?(?:\d{1,2}|[ivx]{1,4}|[a-z])[).])(?=\s|$)")
_STOPS = (".", "!", "?")
_MARKER_AT_END = re.compile(r"\[[\d,;\s–-]+\]?$")
_ENDS = (".", "!", "?", ":", ".”", '."', ".)", "?”", ".’")


_FORMULA_GAP = 1.9
"""Widest gap in a line, in font sizes, that a formula with pieces of other lines fills."""


@dataclass
class Paragraph:
    """Lines of prose under the headings of their section."""

    section: str
    lines: list[Line] = field(default_factory=list)
    is_item: bool = False


def split_body(
    lines: Sequence[Line], kinds: Sequence[Kind], style: Style, references: Collection[int] = ()
) -> list[Paragraph]:
    """Return the paragraphs of a paper in reading order, without lines of its reference list.

    ``references`` are the ``id`` of these lines.
    """
    paragraphs: list[Paragraph] = []
    headings, before = _Headings(), _Previous()
    rows, rests = set(), {}  # lines beside each other; the rest of a line behind a formula
    for one, after in pairwise(lines):
        level = abs(one.baseline - after.baseline) < 0.3 * one.size and has_size(after, one.size)
        if one.place == after.place and level and after.left > one.right:
            if after.left - one.right < _FORMULA_GAP * one.size and id(one) not in rows:
                rests[id(after)] = one
            else:
                rows |= {id(one), id(after)}
    body = [pair for pair in zip(lines, kinds, strict=True) if id(pair[0]) not in references]
    flush = _has_flush_paragraphs([line for line, kind in body if kind is Kind.PROSE], style)
    for line, kind in body:
        if kind is Kind.HEADING:
            headings.add(line, continues=before.is_heading and not before.interrupted)
            before = _Previous(is_heading=True)
        elif paragraphs and rests.get(id(line)) is paragraphs[-1].lines[-1]:
            paragraphs[-1].lines.append(line)
        elif kind is Kind.PROSE and id(line) not in rows and _is_prose(line, before.line, style):
            if (
                not paragraphs
                or before.line is None
                or _begins_paragraph(line, before.line, before, style, flush)
            ):
                item = _BULLET.match(line.text) is not None
                paragraphs.append(Paragraph(headings.section, [line], item))
            else:
                paragraphs[-1].lines.append(line)
            before = _Previous(line=line, is_item=paragraphs[-1].is_item)
        elif kind is not Kind.RUNNING:
            before.interrupted = True
    return [paragraph for paragraph in paragraphs if not _lists_names(paragraph)]


_NAMES, _CAPITALISED = 30, 0.6
"""Fewest words, and least share of capitalised ones, in a list of authors and institutions."""


def _lists_names(paragraph: Paragraph) -> bool:
    """Return True for a list of names, as collaborations print their authors."""
    words = (word.text for line in paragraph.lines for word in line.words)
    capitalised = [word[0].isupper() for word in words if word[0].isalpha()]
    return len(capitalised) >= _NAMES and sum(capitalised) > _CAPITALISED * len(capitalised)


class _Headings:
    """The headings above a line, from the first level on."""

    def __init__(self) -> None:
        self._above: list[tuple[int, str, Line]] = []

    @property
    def section(self) -> str:
        return BELOW.join(text for _, text, _ in self._above)

    def add(self, line: Line, continues: bool) -> None:
        """Add a heading, or the second line of the last one if it ``continues`` it."""
        text, level = plain_heading(line.text), heading_level(line.text)
        if self._above and continues and not level:
            number, last_text, last = self._above[-1]
            step = line.baseline - last.baseline
            near = 0 < step < 1.4 * line.size and last.page == line.page
            if near and abs(last.size - line.size) < 0.3:
                self._above[-1] = (number, f"{last_text} {text}", line)
                return
        if not level:  # below larger headings and capitals
            level = self._above[-1][0] + 1 if self._above else 1
            for number, other, above in self._above:
                capitals = other.isupper() and not line.text.isupper()
                larger = above.size > line.size + 0.3
                if not larger and not (capitals and not above.size < line.size - 0.3):
                    level = number
                    break
        self._above = [above for above in self._above if above[0] < level]
        self._above.append((level, text, line))


@dataclass
class _Previous:
    """The line of prose or the heading before a line."""

    line: Line | None = None
    is_heading: bool = False
    interrupted: bool = False
    """True if figures, notes or other lines follow it."""
    is_item: bool = False


def _is_prose(line: Line, last: Line | None, style: Style) -> bool:
    """Return True if a line of the prose's size begins where prose does.

    That is the left edge of its column, or a little further right if the line has words or goes on
    below a full line.
    """
    left, right = style.edges(line)
    offset = line.left - left
    if abs(offset) < 0.35 * style.size:
        return True
    if offset > 4 * style.size or offset < -1.5 * style.size:
        return False
    letters = sum(map(str.isalpha, line.text))
    below = last is not None and last.place == line.place and style.is_next(last, line)
    full = max(line.right, last.right if last and below else 0) > right - style.size
    return letters > 0.4 * len(line.text) or full


def _has_flush_paragraphs(prose: Sequence[Line], style: Style) -> bool:
    """Return True for justified prose whose paragraphs have no indent on their first line."""
    indents = [line.left - style.edges(line)[0] for line in prose]
    full = sum(style.edges(line)[1] - line.right < style.size for line in prose)
    indented = sum(
        0.5 * style.size < indent < 4 * style.size and after < 0.3 * style.size
        for indent, after in pairwise(indents)
    )
    return full > 0.6 * len(prose) and indented < 0.02 * len(prose)


def _begins_paragraph(line: Line, last: Line, before: _Previous, style: Style, flush: bool) -> bool:
    left, last_right = style.edges(line)[0], style.edges(last)[1]
    indented, text = 0.5 * style.size < line.left - left, last.text.rstrip()
    ended = text.endswith(_ENDS) or _MARKER_AT_END.sub("", text).rstrip().endswith(_ENDS)
    early = last.right < last_right - 1.5 * style.size
    if ended and (bullet := _BULLET.match(line.text)):
        return bool(bullet[1]) or indented or early
    moved = line.place != last.place
    if moved and early and last.text.endswith(_STOPS):
        return True
    if moved or before.interrupted:
        new = indented or (flush and early and line.text[:1].isupper())
        return new and ended and not (before.is_item and _hangs(line, last, style))
    head = line.words[0].font
    new_font = head.bold and head.name != style.font and last.words[-1].font != head
    if ended and (new_font or style.is_apart(last, line)):
        return True
    if indented and line.left - last.left > 0.4 * style.size:
        return (ended or early) and not _BULLET.match(last.text)
    if last.left - line.left > 0.4 * style.size and _hangs(last, last, style):  # after a list
        return ended and early
    return early and ended and (indented or flush)


def _hangs(line: Line, last: Line, style: Style) -> bool:
    """Return True if a line has the indent of the line before, as inside a list item."""
    return (
        abs(line.left - last.left) < 0.3 * style.size
        and line.left - style.edges(line)[0] > 0.5 * style.size
    )


def bullet_length(text: str) -> int:
    """Return the length of the bullet that begins a list item, or 0."""
    bullet = _BULLET.match(text)
    return bullet.end() if bullet and bullet[1] else 0


# --- Running text ---------------------------------------------------------------------------------

_FORMULA = re.compile("[\ufb00-\ufb06\u210e\u00b5\u00a0\U0001d400-\U0001d7ff]+")
_RAISED = str.maketrans("0123456789-–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_FOOTNOTE = re.compile(r"[\d*†‡§¶,;–-]{1,40}")
_RAISED_NUMBER = re.compile(r"[\d,;–-]*\d[\d,;.–-]*")
_NO_BLANK = 0.16
"""In font sizes: a smaller gap before a sub- or superscript is not a blank."""
_LOOSE = re.compile(r"(?<=[\w)\]”\"’]) +(?=[,.;:)\]](?:\s|$|[,.;:)\]]))")
_ACCENT = re.compile("([´`¨˜ˆˇ˚¸˙˝¯˘˛]) ?([A-Za-zıȷ])")
_COMBINING = dict(
    zip(
        "´`¨˜ˆˇ˚¸˙˝¯˘˛",
        "\u0301\u0300\u0308\u0303\u0302\u030c\u030a\u0327\u0307\u030b\u0304\u0306\u0328",
        strict=True,
    )
)
_BETWEEN = "\n\0\n"


class _Piece(NamedTuple):
    text: str
    place: Box


def place_texts(groups: Sequence[Sequence[Line]], raised_cite: bool = False) -> list[PlacedText]:
    """Return the text of each group of lines.

    Raised numbers are kept as ``¹²`` if they are citations (``raised_cite``). Otherwise they are
    footnote numbers and left out.
    """
    if not groups:
        return []
    pieces = [[list(_pieces(line, raised_cite)) for line in group] for group in groups]
    raw = [  # without the blanks that footnote numbers leave before stops
        "\n".join(_LOOSE.sub("", "".join(p.text for p in line).strip()) for line in group)
        for group in pieces
    ]
    whole = join_hyphens(_BETWEEN.join(raw)).split("\0")
    return [
        _align(" ".join(text.split()), [piece for line in group for piece in line])
        for text, group in zip(whole, pieces, strict=True)
    ]


def _is_raised(word: Word, line: Line) -> bool:
    """Return True for a small word above the baseline of its line."""
    return word.size < 0.85 * line.size and word.baseline < line.baseline - 0.15 * line.size


def _pieces(line: Line, raised_cite: bool) -> Iterator[_Piece]:
    """Yield the words of a line as pieces of text; a blank belongs to the word before it."""
    tall = line.size
    for number, word in enumerate(line.words):
        text = plain_letters(word.text)
        if word.raised or (number and _is_raised(word, line)):
            text = _with_raised(text, word, raised_cite)
        top, bottom = word.baseline - 0.8 * tall, word.baseline + 0.25 * tall
        place = Box(line.page, word.left, top, word.right, bottom)
        yield _Piece(text + _blank(line, number), place)


def plain_letters(text: str) -> str:
    """Replace ligatures and formula letters by plain letters, and join accents with letters."""
    if text.isascii():
        return text
    text = _FORMULA.sub(lambda part: normalize("NFKC", part[0]), text)
    return normalize("NFC", _ACCENT.sub(_with_accent, text))


def _with_accent(match: re.Match[str]) -> str:
    """Join an accent with the letter that follows it, if Unicode has that letter."""
    letter = {"ı": "i", "ȷ": "j"}.get(match[2], match[2])
    whole = normalize("NFC", letter + _COMBINING[match[1]])
    return whole if len(whole) == 1 else match[0]


def _blank(line: Line, number: int) -> str:
    """Return the blank after a word, or "", for example before a sub- or superscript."""
    if number + 1 == len(line.words):
        return ""
    word, after = line.words[number], line.words[number + 1]
    is_script = abs(word.size - after.size) > 0.05 * line.size
    is_accent = _ACCENT.match(after.text) is not None and word.text[-1:].isalpha()
    near = after.left - word.right < _NO_BLANK * line.size
    return "" if (is_script or is_accent) and near else " "


def _with_raised(text: str, word: Word, raised_cite: bool) -> str:
    """Return a word's text with its raised number as ``¹²``, or without it."""
    end = len(text) - word.tail if word.raised else len(text.rstrip(".,;:!?)]”’"))
    start = max(end - word.raised, 0) if word.raised else 0
    if not _FOOTNOTE.fullmatch(text, start, end):
        return text
    number = text[start:end].translate(_RAISED) if raised_cite else ""
    return text[:start] + number + text[end:]


def _align(text: str, pieces: Sequence[_Piece]) -> PlacedText:
    """Return the text with the positions of its pieces; they differ in hyphens and blanks only."""
    starts: list[int] = []
    at = 0
    for piece in pieces:
        word, start = piece.text.strip(), -1
        at += text.startswith(" ", at)
        if word and text.startswith(word, at):
            start, at = at, at + len(word)
        else:
            for char in word:
                ahead = at + text.startswith(" ", at)
                if not char.isspace() and text.startswith(char, ahead):
                    start, at = (ahead if start < 0 else start), ahead + 1
        starts.append(start if start >= 0 else at)
    return PlacedText(text, tuple(starts), tuple(piece.place for piece in pieces))


def count_raised_numbers(lines: Sequence[Line]) -> int:
    """Count the words that end in raised numbers."""
    number = 0
    for line in lines:
        for word in line.words[1:]:
            end = len(word.text) - word.tail if word.raised else len(word.text)
            start = end - word.raised if word.raised else 0
            raised = word.raised or _is_raised(word, line)
            number += bool(raised and _RAISED_NUMBER.fullmatch(word.text, start, end))
    return number
