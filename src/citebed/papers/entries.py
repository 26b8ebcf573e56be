"""A reference list cut into its entries: by labels that count up, or by lines that hang."""

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


@dataclass
class Entry:
    """Lines of one reference; the label is no part of its text."""

    label: str
    lines: list[Line]


def entries_of(lines: Sequence[Line], style: Style) -> list[Entry]:
    """The entries of a reference list, in its order."""
    if not lines:
        return []
    for pattern in (_SQUARE, _DOT):
        labelled = _by_label(lines, pattern)
        if len(labelled) >= 3 or (labelled and len(lines) < 12):
            return labelled
    return _by_place(lines, style)


def _by_label(lines: Sequence[Line], pattern: re.Pattern[str]) -> list[Entry]:
    """Entries whose labels count up; a number that does not follow is no label."""
    entries: list[Entry] = []
    for line in lines:
        match = pattern.match(line.text)
        if match and _follows(entries, match[1]):
            entries.append(Entry(match[1], [line]))
        elif entries:
            entries[-1].lines.append(line)
    return entries


def _follows(entries: Sequence[Entry], label: str) -> bool:
    """Whether a label may stand behind those before it."""
    if not label.isdigit():
        return all(entry.label != label for entry in entries)
    if not entries:
        return int(label) <= 2
    last = entries[-1].label
    return last.isdigit() and 0 < int(label) - int(last) <= 3


def _by_place(lines: Sequence[Line], style: Style) -> list[Entry]:
    """Entries whose first lines stand further left than the others."""
    entries: list[Entry] = []
    left = _lefts(lines, style)
    hanging = any(line.left - left[line.page, line.column] > _HANGING * line.size for line in lines)
    for line in lines:
        flush = line.left - left[line.page, line.column] < _HANGING * line.size
        if not entries or (flush if hanging else _stands_off(entries[-1].lines[-1], line)):
            entries.append(Entry("", [line]))
        else:
            entries[-1].lines.append(line)
    return entries


def _lefts(lines: Sequence[Line], style: Style) -> dict[tuple[int, int], float]:
    """Where entries begin in each column of each page.

    A column may have but the end of one entry: then it is where the paper's prose begins.
    """
    places: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in lines:
        places[line.page, line.column].append(line)
    found = {}
    for key, some in places.items():
        least, most = min(line.left for line in some), max(line.left for line in some)
        prose = style.columns.get((-1, key[1]), (least, 0.0))[0]
        hangs = _HANGING * some[0].size < least - prose < 4 * some[0].size
        found[key] = prose if most - least < _HANGING * some[0].size and hangs else least
    return found


def _stands_off(last: Line, line: Line) -> bool:
    """Whether there is more room between two lines than inside an entry."""
    same = (last.page, last.column) == (line.page, line.column)
    return same and line.baseline - last.baseline > 1.45 * line.size


def text_behind(label: str, text: str) -> int:
    """Where the text of an entry begins, behind its label."""
    match = _SQUARE.match(text) or _DOT.match(text)
    return match.end() if label and match and match[1] == label else 0
