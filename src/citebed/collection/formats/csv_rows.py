"""Rows of a CSV file: where they end, what separates their fields, which of them are broken.

A quotation mark that never closes would swallow all rows behind it: a row that spans lines and
does not fit the header is read again as the one line that it starts with.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES
from citebed.records import Problem
from citebed.text.normalise import fold

SEPARATORS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"sep=(.)\Z")
_LONGEST_ROW = 1 << 20
_OTHER = re.compile(r"[^0-9a-z]+")


class Header(NamedTuple):
    """The first row: its separator, its names in lower case with blanks, and its line."""

    separator: str
    names: tuple[str, ...]
    line: int


class Row(NamedTuple):
    """A row that fits the header: its line and its fields by name, none empty."""

    line: int
    fields: dict[str, str]


def plain_name(name: str) -> str:
    """``author s id`` of ``Author(s)_ID``."""
    return _OTHER.sub(" ", name.lower()).strip()


def headers(text: str) -> Iterator[Header]:
    """What the header may be: one of the first lines, split in one of the usual ways.

    Excel may name the separator in a line of its own, Dimensions puts a note first.
    """
    lines = text.lstrip("\n").split("\n", 3)
    skipped = len(text) - len(text.lstrip("\n"))
    for place, line in enumerate(lines[:3]):
        for separator in SEPARATORS:
            names = tuple(map(plain_name, _fields(line.strip(), separator)))
            if len(names) > 1:
                yield Header(separator, names, skipped + place + 1)


def _fields(line: str, separator: str) -> list[str]:
    csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        return next(csv.reader([line.replace("\r", " ")], delimiter=separator), [])
    except csv.Error:
        return []


def rows(lines: list[str], header: Header, first_line: int) -> Iterator[Row | Problem]:
    """The rows of some lines; one that does not fit the header is a problem."""
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        end = _end(lines, at)
        for stop in dict.fromkeys((end, at + 1)):
            fields = _fields_of(lines[at:stop], header)
            if fields is not None:
                break
        yield _row(fields, header, first_line + at, lines[at])
        at = stop


def _end(lines: list[str], start: int) -> int:
    """The line after the one in which the quotation marks of a row are closed."""
    marks = 0
    for at in range(start, len(lines)):
        marks += lines[at].count('"')
        if marks % 2 == 0:
            return at + 1
    return start + 1


def _fields_of(lines: list[str], header: Header) -> list[str] | None:
    """The fields of a row; ``None`` where there are not as many as the header has."""
    try:
        found = next(csv.reader(iter(_with_ends(lines)), delimiter=header.separator))
    except (csv.Error, StopIteration):
        return None
    while len(found) > len(header.names) and not found[-1].strip():
        found.pop()
    return found if len(found) == len(header.names) else None


def _with_ends(lines: list[str]) -> list[str]:
    return [f"{line}\n".replace("\r", " ") for line in lines]


def _row(fields: list[str] | None, header: Header, line: int, text: str) -> Row | Problem:
    if fields is None:
        found, expected = len(_fields(text, header.separator)), len(header.names)
        return Problem(line, f"a row of {found} fields: expected {expected}, as in the header")
    pairs = zip(header.names, map(_unguarded, map(fold, fields)), strict=True)
    named: dict[str, str] = {}
    for name, value in pairs:
        if value:
            named.setdefault(name, value)
    return Row(line, named)


_GUARDED = re.compile(r"'(?=[=+\-@])")


def _unguarded(value: str) -> str:
    """A text without the apostrophe that keeps a spreadsheet from running it."""
    return _GUARDED.sub("", value, count=1) if value.startswith("'") else value


def cut(data: bytes) -> int:
    """The last line end outside of quotation marks; one that never closes does not count."""
    last = end = data.rfind(b"\n") + 1
    is_inside = data.count(b'"', 0, end) % 2
    while is_inside and end:
        before = data.rfind(b"\n", 0, end - 1) + 1
        is_inside ^= data.count(b'"', before, end) % 2
        end = before
    return end or (last if last > _LONGEST_ROW else 0)
