"""Join lines of prose to paragraphs, across columns and pages, and split the reference list.

A paragraph begins at a line that is indented, that has more space above, or that follows a short
last line. Figures, notes and running heads between two lines of a paragraph are skipped. The
entries of a reference list begin at labels that count up, or at hanging indents.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from citebed.papers.lines import Line
from citebed.papers.structure import (
    Kind,
    Style,
    has_size,
    heading_level,
    heads_references,
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
    rows = _rows(lines)
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


def _rows(lines: Sequence[Line]) -> set[int]:
    """Return the ``id`` of lines beside others: cells of a table or parts of a formula."""
    rows = set()
    for line, after in pairwise(lines):
        if (line.page, line.column) != (after.page, after.column):
            continue
        if abs(line.baseline - after.baseline) < 0.3 * line.size and after.left > line.right:
            rows |= {id(line), id(after)}
    return rows


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
        labelled = _split_by_label(lines, pattern)
        if len(labelled) >= 3 or (labelled and len(lines) < 12):
            return labelled
    return _split_by_indent(lines, style)


def _split_by_label(lines: Sequence[Line], pattern: re.Pattern[str]) -> list[Entry]:
    """Return entries whose labels count up; a number out of order is not a label."""
    entries: list[Entry] = []
    for line in lines:
        match = pattern.match(line.text)
        if match and _follows(entries, match[1]):
            entries.append(Entry(match[1], [line]))
        elif entries:
            entries[-1].lines.append(line)
    return entries


def _follows(entries: Sequence[Entry], label: str) -> bool:
    if not label.isdigit():
        return all(entry.label != label for entry in entries)
    if not entries:
        return int(label) <= 2
    last = entries[-1].label
    return last.isdigit() and 0 < int(label) - int(last) <= 3


def _split_by_indent(lines: Sequence[Line], style: Style) -> list[Entry]:
    """Return entries whose first lines begin further left than the others."""
    entries: list[Entry] = []
    left = _left_edges(lines, style)
    hanging = any(line.left - left[line.page, line.column] > _HANGING * line.size for line in lines)
    for line in lines:
        flush = line.left - left[line.page, line.column] < _HANGING * line.size
        if not entries or (flush if hanging else _is_apart(entries[-1].lines[-1], line)):
            entries.append(Entry("", [line]))
        else:
            entries[-1].lines.append(line)
    return entries


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
