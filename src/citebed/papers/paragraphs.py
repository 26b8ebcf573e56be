"""Join lines of prose to paragraphs, across columns and pages, and split the reference list.

A paragraph begins at a line that is indented, that has more space above, or that follows a short
last line. Figures, notes and running heads between two lines of a paragraph are skipped. The
entries of a reference list begin at labels that count up, or at hanging indents.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from citebed.papers.pages import Line, group_while
from citebed.papers.paper import Box, PlacedText
from citebed.papers.structure import (
    Kind,
    Style,
    has_size,
    heading_level,
    heads_references,
    plain_heading,
)
from citebed.text.headings import BELOW
from citebed.text.normalise import join_hyphens

_BULLET = re.compile(r"(?:[•◦▪■●∙‣–—*]|\(?(?:\d{1,2}|[ivx]{1,4}|[a-z])[).])(?=\s|$)")
_LABEL = re.compile(r"\[(\d{1,3})\]\s+\S")
_SIGNS = "•◦▪■●∙‣–—*"
_STOPS = (".", "!", "?")
_ENDS = (".", "!", "?", ":", ".”", '."', ".)", "?”", ".’")


@dataclass
class Paragraph:
    """Lines of prose under the headings of their section."""

    section: str
    lines: list[Line] = field(default_factory=list)
    is_item: bool = False


@dataclass
class Body:
    """The paragraphs of a paper and the lines of its reference list."""

    paragraphs: list[Paragraph]
    references: list[Line]


def split_body(lines: Sequence[Line], kinds: Sequence[Kind], style: Style) -> Body:
    """Return the paragraphs and the reference list of a paper, in reading order."""
    paragraphs: list[Paragraph] = []
    references = _reference_lines(lines, kinds)
    reference_ids = set(map(id, references))
    headings, before = _Headings(), _Previous()
    rows = set()
    for one, after in pairwise(lines):
        if (one.page, one.column) != (after.page, after.column):
            continue
        if abs(one.baseline - after.baseline) < 0.3 * one.size and after.left > one.right:
            rows |= {id(one), id(after)}
    for line, kind in zip(lines, kinds, strict=True):
        if id(line) in reference_ids:
            continue
        if kind is Kind.HEADING:
            headings.add(line, continues=before.is_heading and not before.interrupted)
            before = _Previous(is_heading=True)
        elif kind is Kind.PROSE and id(line) not in rows and _is_prose(line, style):
            if not paragraphs or before.line is None or _begins_paragraph(line, before, style):
                item = _BULLET.match(line.text) is not None
                paragraphs.append(Paragraph(headings.section, [line], item))
            else:
                paragraphs[-1].lines.append(line)
            before = _Previous(line=line, is_item=paragraphs[-1].is_item)
        elif kind is not Kind.RUNNING:
            before.interrupted = True
    return Body(paragraphs, references)


def _reference_lines(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Line]:
    """Return the lines of the reference list.

    They have one font size: notes below the list are smaller, and prose next to it may be larger.
    """
    references, in_list = [], False
    for line, kind in zip(lines, kinds, strict=True):
        if kind is Kind.HEADING:
            in_list = heads_references(line.text)
        elif in_list and kind in (Kind.PROSE, Kind.NOTE, Kind.OTHER):
            references.append(line)
    references = references or _list_without_heading(lines, kinds)
    sizes: Counter[float] = Counter()
    for line in references:
        sizes[round(line.size, 1)] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 0.0
    return [line for line in references if has_size(line, size)]


def _list_without_heading(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Line]:
    """Return the lines from a label [1] to the end of the paper, if the labels count up."""
    at = [n for n, kind in enumerate(kinds) if kind in (Kind.PROSE, Kind.NOTE, Kind.OTHER)]
    labels = {n: int(label[1]) for n in at if (label := _LABEL.match(lines[n].text))}
    begin = max((n for n, number in labels.items() if number == 1), default=len(lines))
    counted = [number for n, number in sorted(labels.items()) if n >= begin]
    if counted[:3] != [1, 2, 3]:
        return []
    return [lines[n] for n in at if n >= begin and has_size(lines[n], lines[begin].size)]


class _Headings:
    """The headings above a line, from the first level on."""

    def __init__(self) -> None:
        self._above: list[tuple[int, str, Line]] = []

    @property
    def section(self) -> str:
        return BELOW.join(text for _, text, _ in self._above)

    def add(self, line: Line, continues: bool) -> None:
        """Add a heading, or the second line of the last one if it ``continues`` it."""
        text, last = plain_heading(line.text), self._above[-1] if self._above else None
        numbered = heading_level(line.text)
        if last and continues and not numbered and _is_below(last[2], line):
            self._above[-1] = (last[0], f"{last[1]} {text}", line)
            return
        level = numbered or self._level(line)
        self._above = [above for above in self._above if above[0] < level]
        self._above.append((level, text, line))

    def _level(self, line: Line) -> int:
        """Return the level of a heading without a number: below larger ones and capitals."""
        for level, text, above in self._above:
            capitals = text.isupper() and not line.text.isupper()
            if above.size > line.size + 0.3 or (capitals and not above.size < line.size - 0.3):
                continue
            return level
        return self._above[-1][0] + 1 if self._above else 1


def _is_below(above: Line, line: Line) -> bool:
    near = 0 < line.baseline - above.baseline < 1.4 * line.size and above.page == line.page
    return near and abs(above.size - line.size) < 0.3


@dataclass
class _Previous:
    """The line of prose or the heading before a line."""

    line: Line | None = None
    is_heading: bool = False
    interrupted: bool = False
    """True if figures, notes or other lines follow it."""
    is_item: bool = False


def _is_prose(line: Line, style: Style) -> bool:
    """Return True if a line of the prose's size begins where prose does.

    That is the left edge of its column, or a little further right if the line has words.
    """
    left, right = style.edges(line)
    offset = line.left - left
    if abs(offset) < 0.35 * style.size:
        return True
    if offset > 4 * style.size or offset < -1.5 * style.size:
        return False
    letters = sum(map(str.isalpha, line.text))
    return letters > 0.4 * len(line.text) or line.right > right - style.size


def _begins_paragraph(line: Line, before: _Previous, style: Style) -> bool:
    last = before.line
    assert last is not None
    left, last_right = style.edges(line)[0], style.edges(last)[1]
    indented = 0.5 * style.size < line.left - left
    if (bullet := _BULLET.match(line.text)) and _looks_ended(last):
        early = last.right < last_right - 1.5 * style.size
        return bullet[0] in _SIGNS or indented or early
    moved = (line.page, line.column) != (last.page, last.column)
    if moved and last.text.endswith(_STOPS) and last.right < last_right - 1.5 * style.size:
        return True
    if moved or before.interrupted:
        return (
            indented and _looks_ended(last) and not (before.is_item and _hangs(line, last, style))
        )
    step = line.baseline - last.baseline
    if step > style.leading + 0.25 * style.size and _looks_ended(last):
        return True
    head = line.words[0].font
    if head.bold and head.name != style.font and last.words[-1].font != head and _looks_ended(last):
        return True
    if indented and line.left - last.left > 0.4 * style.size:
        return not _BULLET.match(last.text)
    if last.left - line.left > 0.4 * style.size and _hangs(last, last, style):  # after a list
        return _looks_ended(last) and last.right < last_right - 1.5 * style.size
    early = last.right < last_right - 1.5 * style.size
    return early and _looks_ended(last) and indented


def _hangs(line: Line, last: Line, style: Style) -> bool:
    """Return True if a line has the indent of the line before, as inside a list item."""
    return (
        abs(line.left - last.left) < 0.3 * style.size
        and line.left - style.edges(line)[0] > 0.5 * style.size
    )


def _looks_ended(line: Line) -> bool:
    text = re.sub(r"\[[\d,;\s–-]+\]?$", "", line.text.rstrip()).rstrip()
    return text.endswith(_ENDS) or line.text.rstrip().endswith(_ENDS)


def bullet_length(text: str) -> int:
    """Return the length of the bullet that begins a list item, or 0."""
    bullet = _BULLET.match(text)
    return bullet.end() if bullet and bullet[0] in _SIGNS else 0


# --- The reference list -----------------------------------------------------------------------


_SQUARE = re.compile(r"\[(\d{1,4}|[A-Za-z][\w+.-]{0,19}(?:\s?\d{2,4}[a-z]?)?)\]\s*")
_DOT = re.compile(r"(\d{1,4})[.)]?(?:\s+|$)")
_HANGING = 0.6
"""Least hanging indent, in font sizes."""


@dataclass
class Entry:
    """The lines of one reference, and its label, which begins its text."""

    label: str
    lines: list[Line]


def split_reference_list(lines: Sequence[Line], style: Style) -> list[Entry]:
    """Return the entries of a reference list, in its order."""
    if not lines:
        return []
    for pattern in (_SQUARE, _DOT):
        # A number out of order is not a label.
        labelled: list[Entry] = []
        for line in lines:
            match = pattern.match(line.text)
            if match and _follows(labelled, match[1]):
                labelled.append(Entry(match[1], [line]))
            elif labelled:
                labelled[-1].lines.append(line)
        if len(labelled) >= 3 or (labelled and len(lines) < 12):
            return labelled
    return _split_by_indent(lines, style)


def _follows(entries: Sequence[Entry], label: str) -> bool:
    if not label.isdigit():
        return all(entry.label != label for entry in entries)
    if not entries:
        return int(label) <= 2
    last = entries[-1].label
    return last.isdigit() and 0 < int(label) - int(last) <= 3


def _split_by_indent(lines: Sequence[Line], style: Style) -> list[Entry]:
    """Return entries whose first lines begin further left than the others."""
    left = _left_edges(lines, style)
    hanging = any(line.left - left[line.page, line.column] > _HANGING * line.size for line in lines)

    def continues(entry: list[Line], line: Line) -> bool:
        flush = line.left - left[line.page, line.column] < _HANGING * line.size
        return not (flush if hanging else _is_apart(entry[-1], line))

    return [Entry("", entry) for entry in group_while(lines, continues)]


def _left_edges(lines: Sequence[Line], style: Style) -> dict[tuple[int, int], float]:
    """Return the left edge of entries in each column of each page.

    For a column that holds only the end of one entry, this is the left edge of the paper's prose.
    """
    places: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in lines:
        places[line.page, line.column].append(line)
    edges = {}
    for key, some in places.items():
        least, most = min(line.left for line in some), max(line.left for line in some)
        prose = style.columns.get((-1, key[1]), (least, 0.0))[0]
        hangs = _HANGING * some[0].size < least - prose < 4 * some[0].size
        edges[key] = prose if most - least < _HANGING * some[0].size and hangs else least
    return edges


def _is_apart(last: Line, line: Line) -> bool:
    """Return True if two lines have more space between them than lines of one entry."""
    same = (last.page, last.column) == (line.page, line.column)
    return same and line.baseline - last.baseline > 1.45 * line.size


def label_length(label: str, text: str) -> int:
    """Return the length of the printed label that begins an entry's text, with its brackets."""
    match = _SQUARE.match(text) or _DOT.match(text)
    return match.end() if label and match and match[1] == label else 0


# --- Running text ---------------------------------------------------------------------------------

_FORMULA = re.compile("[\ufb00-\ufb06\u210e\u00b5\u00a0\U0001d400-\U0001d7ff]+")
_RAISED = str.maketrans("0123456789-–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_FOOTNOTE = re.compile(r"[\d*†‡§¶,;–-]{1,40}")
_NO_BLANK = 0.16
"""In font sizes: a smaller gap before a sub- or superscript is not a blank."""
_LOOSE = re.compile(r"(?<=[\w)\]”\"’]) +(?=[,.;:)\]](?:\s|$|[,.;:)\]]))")
_ACCENT = re.compile("([´`¨˜ˆˇ˚¸˙˝¯]) ?([A-Za-zıȷ])")
_COMBINING = dict(
    zip(
        "´`¨˜ˆˇ˚¸˙˝¯",
        "\u0301\u0300\u0308\u0303\u0302\u030c\u030a\u0327\u0307\u030b\u0304",
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
    raw = ["\n".join(map(_line_text, group)) for group in pieces]
    whole = join_hyphens(_BETWEEN.join(raw)).split("\0")
    return [
        _align(" ".join(text.split()), [piece for line in group for piece in line])
        for text, group in zip(whole, pieces, strict=True)
    ]


def _line_text(pieces: Sequence[_Piece]) -> str:
    """Join the pieces of a line, without the blanks that footnote numbers leave before stops."""
    return _LOOSE.sub("", "".join(piece.text for piece in pieces).strip())


def _pieces(line: Line, raised_cite: bool) -> Iterator[_Piece]:
    """Yield the words of a line as pieces of text; a blank belongs to the word before it."""
    tall = line.size
    for number, word in enumerate(line.words):
        text = _plain(word.text)
        small = word.size < 0.85 * tall and word.baseline < line.baseline - 0.15 * tall
        raised = len(word.text) if small else word.raised
        if raised and number:
            text = _with_raised(text, min(raised, len(text)), raised_cite)
        elif raised and raised < len(text):
            text = _with_raised(text, raised, raised_cite)
        box = Box(
            line.page,
            word.left,
            word.baseline - 0.8 * tall,
            word.right,
            word.baseline + 0.25 * tall,
        )
        yield _Piece(text + _blank(line, number), box)


def _plain(text: str) -> str:
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
    near = after.left - word.right < _NO_BLANK * line.size
    return "" if is_script and near else " "


def _with_raised(text: str, raised: int, raised_cite: bool) -> str:
    base, above = text[: len(text) - raised], text[len(text) - raised :]
    if not _FOOTNOTE.fullmatch(above):
        return text
    return base + above.translate(_RAISED) if raised_cite else base


def _align(text: str, pieces: Sequence[_Piece]) -> PlacedText:
    """Return the text with the positions of its pieces; they differ in hyphens and blanks only."""
    starts: list[int] = []
    at = 0
    for piece in pieces:
        word = piece.text.strip()
        at += text.startswith(" ", at)
        if word and text.startswith(word, at):
            starts.append(at)
            at += len(word)
        else:
            start, at = _align_word(text, at, word)
            starts.append(start)
    return PlacedText(text, tuple(starts), tuple(piece.place for piece in pieces))


def _align_word(text: str, at: int, word: str) -> tuple[int, int]:
    """Return the start and end of a word that is in the text with other hyphens or blanks."""
    start = -1
    for char in word:
        ahead = at + text.startswith(" ", at)
        if not char.isspace() and text.startswith(char, ahead):
            start = ahead if start < 0 else start
            at = ahead + 1
    return (start if start >= 0 else at), at


def count_raised_numbers(lines: Sequence[Line]) -> int:
    """Count the words that end in raised numbers."""
    return sum(
        word.raised > 0 and word.text[-word.raised :].rstrip(",.").replace(",", "").isdigit()
        for line in lines
        for word in line.words
    )
