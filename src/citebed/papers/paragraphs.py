"""Paragraphs of a paper's prose, under their headings, whole over columns and pages.

A paragraph begins where a line is indented, stands off from the one above, or follows one that
ended early. What lies between, figures and notes and heads of pages, is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from citebed.papers.lines import Line
from citebed.papers.structure import Kind, Style, is_references, plain_heading

_BULLET = re.compile(r"(?:[•◦▪■●∙‣–—*]|\(?(?:\d{1,2}|[ivx]{1,4}|[a-z])[).])(?=\s|$)")
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
    references: list[Line] = []
    section, listing, before = "", False, _Before()
    rows = _rows(lines)
    for line, kind in zip(lines, kinds, strict=True):
        if kind is Kind.HEADING:
            listing = is_references(line.text)
            section = (
                _joined_heading(section, line, before)
                if before.heading
                else plain_heading(line.text)
            )
            before = _Before(heading=line)
        elif listing and kind in (Kind.PROSE, Kind.NOTE, Kind.OTHER):
            references.append(line)
        elif kind is Kind.PROSE and id(line) not in rows and is_prose(line, style):
            if not paragraphs or before.line is None or _begins(line, before, style):
                item = _BULLET.match(line.text) is not None
                paragraphs.append(Paragraph(section, [line], item))
            else:
                paragraphs[-1].lines.append(line)
            before = _Before(line=line)
        elif kind is not Kind.RUNNING:
            before.interrupted = True
    return Body(paragraphs, references)


@dataclass
class _Before:
    """What stood before a line."""

    line: Line | None = None
    heading: Line | None = None
    interrupted: bool = False


def _joined_heading(section: str, line: Line, before: _Before) -> str:
    """A heading of two lines is one, two headings are the second."""
    above = before.heading
    assert above is not None
    near = 0 < line.baseline - above.baseline < 1.4 * line.size and above.page == line.page
    alike = abs(above.size - line.size) < 0.3
    numbered = plain_heading(line.text) != line.text.strip(" .:")
    if near and alike and not numbered and not before.interrupted:
        return f"{section} {plain_heading(line.text)}"
    return plain_heading(line.text)


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
    """Whether a line in the prose's size stands where prose does: near its column's left edge."""
    left, right = style.edges(line)
    offset = line.left - left
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
    if _BULLET.match(line.text) and _looks_ended(last):
        return True
    if (line.page, line.column) != (last.page, last.column) or before.interrupted:
        return indented and not _hangs(line, last, style) and _looks_ended(last)
    step = line.baseline - last.baseline
    if step > style.leading + 0.25 * style.size and _looks_ended(last):
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
