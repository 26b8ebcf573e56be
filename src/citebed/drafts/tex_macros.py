"""Macros that a draft defines for itself, of the simple kind: a name, arguments, a text."""

from __future__ import annotations

import re
from typing import NamedTuple

from citebed.drafts import tex_tables as tables
from citebed.drafts.tex_cites import is_citation
from citebed.drafts.tex_cursor import Cursor

_DEEPEST = 40
_FREE = 1 << 18
"""What macros may expand to, in characters, beyond four times the text itself."""

_NAME = re.compile(r"\*?\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))")
_COUNT = re.compile(r"\s*\[(\d)\](?:\s*\[([^][]*)\])?")
_PARAMETERS = re.compile(r"\s*((?:#\d)*)(?=\s*\{)")
_LET = re.compile(r"\s*=?\s*(?:\\[A-Za-z@]+|\\?.)")
_OPTION = re.compile(r"\s*\[([^][{}]*)\]")
_SLOT = re.compile(r"#(\d)")


class _Macro(NamedTuple):
    arguments: int
    default: str | None
    body: str


class Macros:
    """The macros of a draft; ``notes`` says when they expand without end."""

    def __init__(self) -> None:
        self._known: dict[str, _Macro] = {}
        self._left = _FREE
        self.notes: list[str] = []

    def allow(self, characters: int) -> None:
        """Text of so many characters was read: macros may expand to more."""
        self._left += 4 * characters

    def define(self, kind: str, cursor: Cursor) -> None:
        """Read the definition that ``\\kind`` begins, and move behind it."""
        match = _NAME.match(cursor.text, cursor.at)
        if match is None:
            return
        name, cursor.at = match[1] or match[2], match.end()
        if kind == "let":
            _move(cursor, _LET)
        elif kind.endswith("DocumentCommand"):
            self._skip_groups(2, cursor)
        else:
            self._read_body(kind, name, cursor)

    def _read_body(self, kind: str, name: str, cursor: Cursor) -> None:
        arguments, default = 0, None
        if kind.endswith("def"):
            match = _PARAMETERS.match(cursor.text, cursor.at)
            arguments = match[1].count("#") if match else 0
        elif match := _COUNT.match(cursor.text, cursor.at):
            arguments, default = int(match[1]), match[2]
        cursor.at = match.end() if match else cursor.at
        group = cursor.group(cursor.at)
        if group is None:
            return
        cursor.at = group[1] + 1
        if not _has_a_meaning(name):
            self._known[name] = _Macro(arguments, default, cursor.text[slice(*group)])

    @staticmethod
    def _skip_groups(count: int, cursor: Cursor) -> None:
        for _ in range(count):
            if (group := cursor.group(cursor.at)) is not None:
                cursor.at = group[1] + 1

    def expansion(self, name: str, cursor: Cursor, depth: int) -> str | None:
        """What the macro stands for here, its arguments put in; ``None`` if it is not one."""
        macro = self._known.get(name)
        if macro is None:
            return None
        if depth > _DEEPEST or self._left < 0:
            self.notes = [f"macros that expand without end, such as \\{name}, were left out"]
            return None
        values = _arguments(macro, cursor)
        if values is None:
            return None
        body = macro.body
        if values:
            # Sizes first: a hundred uses of a long argument must not be built to be refused.
            slots = [int(slot) - 1 for slot in _SLOT.findall(body)]
            self._left -= sum(len(values[slot]) for slot in slots if 0 <= slot < len(values))
            if self._left < 0:
                return None
            body = _SLOT.sub(lambda m: _value(values, int(m[1]) - 1), body)
        self._left -= len(macro.body) + 1
        return body


def _has_a_meaning(name: str) -> bool:
    """Whether the reader knows the command better than its definition does."""
    known = name in tables.KNOWN or name in tables.ASIDES or name in tables.SECTIONS
    return known or is_citation(name)


def _value(values: list[str], slot: int) -> str:
    return values[slot] if 0 <= slot < len(values) else ""


def _arguments(macro: _Macro, cursor: Cursor) -> list[str] | None:
    values, at = [], cursor.at
    if macro.default is not None:
        option = _OPTION.match(cursor.text, at)
        values.append(option[1] if option else macro.default)
        at = option.end() if option else at
    while len(values) < macro.arguments:
        group = cursor.group(at)
        if group is None:
            return None
        values.append(cursor.text[slice(*group)])
        at = group[1] + 1
    cursor.at = at
    return values


def _move(cursor: Cursor, pattern: re.Pattern[str]) -> None:
    if match := pattern.match(cursor.text, cursor.at):
        cursor.at = match.end()
