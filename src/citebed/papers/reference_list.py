"""Split a reference list into its entries: by labels that count up, or by hanging indents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from citebed.papers.lines import Line
from citebed.papers.structure import Style

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
