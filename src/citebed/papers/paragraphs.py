"""Paragraphs of a paper's prose, under their headings, whole over columns and pages.

A paragraph begins where a line is indented, stands off from the one above, or follows one that
ended early. What lies between, figures and notes and heads of pages, is passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from citebed.papers.lines import Line
from citebed.papers.structure import (
    Kind,
    Style,
    heading_level,
    is_like,
    is_references,
    plain_heading,
)
from citebed.text.headings import BELOW

_BULLET = re.compile(r"(?:[•◦▪■●∙‣–—*]|\(?(?:\d{1,2}|[ivx]{1,4}|[a-z])[).])(?=\s|$)")
_LABEL = re.compile(r"\[(\d{1,3})\]\s+\S")
_SIGNS = "•◦▪■●∙‣–—*"
_STOPS = (".", "!", "?")
_ENDS = (".", "!", "?", ":", ".”", '."', ".)", "?”", ".’")


@dataclass
class Paragraph:
    """Lines of prose that belong together."""

    section: str
    lines: list[Line] = field(default_factory=list)
    is_item: bool = False


@dataclass
class Body:
    """The paragraphs of a paper, and the lines of its reference list."""

    paragraphs: list[Paragraph]
    references: list[Line]


def body_of(lines: Sequence[Line], kinds: Sequence[Kind], style: Style) -> Body:
    """Paragraphs and references of a paper, in reading order."""
    paragraphs: list[Paragraph] = []
    references = _listed(lines, kinds)
    listed = set(map(id, references))
    headings, before = _Headings(), _Before()
    rows = _rows(lines)
    for line, kind in zip(lines, kinds, strict=True):
        if id(line) in listed:
            continue
        if kind is Kind.HEADING:
            headings.add(line, goes_on=before.heading is not None and not before.interrupted)
            before = _Before(heading=line)
        elif kind is Kind.PROSE and id(line) not in rows and is_prose(line, style):
            if not paragraphs or before.line is None or _begins(line, before, style):
                item = _BULLET.match(line.text) is not None
                paragraphs.append(Paragraph(headings.section, [line], item))
            else:
                paragraphs[-1].lines.append(line)
            before = _Before(line=line, is_item=paragraphs[-1].is_item)
        elif kind is not Kind.RUNNING:
            before.interrupted = True
    return Body(paragraphs, references)


def _listed(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Line]:
    """The lines of the reference list, in its own letters: notes at the foot of its pages are
    smaller, and prose beside it may be larger."""
    found, listing = [], False
    for line, kind in zip(lines, kinds, strict=True):
        if kind is Kind.HEADING:
            listing = is_references(line.text)
        elif listing and kind in (Kind.PROSE, Kind.NOTE, Kind.OTHER):
            found.append(line)
    found = found or _unheaded(lines, kinds)
    sizes: Counter[float] = Counter()
    for line in found:
        sizes[round(line.size, 1)] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 0.0
    return [line for line in found if is_like(line, size)]


def _unheaded(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Line]:
    """A list that no heading begins: labels that count up from 1, to the end of the paper."""
    at = [n for n, kind in enumerate(kinds) if kind in (Kind.PROSE, Kind.NOTE, Kind.OTHER)]
    labels = {n: int(label[1]) for n in at if (label := _LABEL.match(lines[n].text))}
    begin = max((n for n, number in labels.items() if number == 1), default=len(lines))
    counted = [number for n, number in sorted(labels.items()) if n >= begin]
    if counted[:3] != [1, 2, 3]:
        return []
    return [lines[n] for n in at if n >= begin and is_like(lines[n], lines[begin].size)]


class _Headings:
    """The headings that a line stands below, from the first level on."""

    def __init__(self) -> None:
        self._above: list[tuple[int, str, Line]] = []

    @property
    def section(self) -> str:
        return BELOW.join(text for _level, text, _line in self._above)

    def add(self, line: Line, goes_on: bool) -> None:
        """Take a heading, or the second line of the one before."""
        text, last = plain_heading(line.text), self._above[-1] if self._above else None
        numbered = heading_level(line.text)
        if last and goes_on and not numbered and _is_below(last[2], line):
            self._above[-1] = (last[0], f"{last[1]} {text}", line)
            return
        level = numbered or self._level(line)
        self._above = [above for above in self._above if above[0] < level]
        self._above.append((level, text, line))

    def _level(self, line: Line) -> int:
        """Of a heading without a number: below those in larger letters or capitals."""
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
class _Before:
    """What stood before a line."""

    line: Line | None = None
    heading: Line | None = None
    interrupted: bool = False
    is_item: bool = False


def _rows(lines: Sequence[Line]) -> set[int]:
    """Lines that are cells of a table or parts of a formula: others stand beside them."""
    found = set()
    for line, after in pairwise(lines):
        if (line.page, line.column) != (after.page, after.column):
            continue
        if abs(line.baseline - after.baseline) < 0.3 * line.size and after.left > line.right:
            found |= {id(line), id(after)}
    return found


def is_prose(line: Line, style: Style) -> bool:
    """Whether a line in the prose's size stands where prose does: at its column's left edge, or a
    little further in and of words."""
    left, right = style.edges(line)
    offset = line.left - left
    if abs(offset) < 0.35 * style.size:
        return True
    if offset > 4 * style.size or offset < -1.5 * style.size:
        return False
    letters = sum(map(str.isalpha, line.text))
    return letters > 0.4 * len(line.text) or line.right > right - style.size


def _begins(line: Line, before: _Before, style: Style) -> bool:
    """Whether a line begins a paragraph."""
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
    """Whether a line is inside an item of a list, further in than prose begins."""
    return (
        abs(line.left - last.left) < 0.3 * style.size
        and line.left - style.edges(line)[0] > 0.5 * style.size
    )


def _looks_ended(line: Line) -> bool:
    text = re.sub(r"\[[\d,;\s–-]+\]?$", "", line.text.rstrip()).rstrip()
    return text.endswith(_ENDS) or line.text.rstrip().endswith(_ENDS)


def sign_length(text: str) -> int:
    """How much of a text is the sign of a list's item, as "•"."""
    bullet = _BULLET.match(text)
    return bullet.end() if bullet and bullet[0] in _SIGNS else 0
