"""LaTeX source code: ends of groups, line numbers, and macros."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from citebed.drafts.records import Place
from citebed.drafts.tex import commands
from citebed.drafts.tex.commands import NOTE, is_citation
from citebed.text.regex import compile_regex

_BRACE = compile_regex(r"\\.|%[^\n]*+|[{}]", re.DOTALL)
_END = re.compile(r"\\end[ \t]*\{([^{}\n]{1,60})\}")
_GAP = compile_regex(r"[ \t]*+(?:%[^\n]*+\n[ \t]*+)*+(?:\n[ \t]*+(?!\n))?+")
_OPTIONS = compile_regex(rf"\*?(?:[ \t]*+{NOTE})*+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_ONE_PARAGRAPH = 4000
"""Most characters of a title, label or length; a longer one has an unclosed brace."""


class Cursor:
    """A source text and the current offset in it.

    The ends of all groups and environments are found in one pass, so unclosed braces cost no second
    scan. The text of a macro has one ``place``: that of the macro's use.
    """

    def __init__(
        self,
        text: str,
        source: str = "",
        place: Place | None = None,
        path: Path | None = None,
    ) -> None:
        self.text = text
        self.source = source
        self.path = path
        self.at = 0
        self._place = place
        self._line, self._line_start, self._counted = 1, 0, 0

    def place_at(self, at: int) -> Place:
        """Return the position of an offset; offsets must not decrease between calls."""
        if self._place is not None:
            return self._place
        if at > self._counted:
            if lines := self.text.count("\n", self._counted, at):
                self._line += lines
                self._line_start = self.text.rindex("\n", self._counted, at) + 1
            self._counted = at
        return Place(self.source, self._line, max(at - self._line_start, 0) + 1)

    def has(self, text: str, at: int) -> bool:
        """Return True if the file has exactly this text at this offset."""
        return self._place is None and self.text.startswith(text, at)

    @cached_property
    def _closes(self) -> dict[int, int]:
        closes: dict[int, int] = {}
        opened: list[int] = []
        for match in _BRACE.finditer(self.text):
            if match[0] == "{":
                opened.append(match.start())
            elif match[0] == "}" and opened:
                closes[opened.pop()] = match.start()
        return closes

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        ends: dict[str, list[int]] = {}
        for match in _END.finditer(self.text):
            ends.setdefault(match[1], []).append(match.start())
        return ends

    def end_of(self, environment: str, at: int) -> int | None:
        """Return the offset of the next ``\\end`` of an environment."""
        ends = self._ends.get(environment, [])
        index = bisect_left(ends, at)
        return ends[index] if index < len(ends) else None

    def after_options(self, at: int) -> int:
        """Return the offset after a star and ``[options]``."""
        match = _OPTIONS.match(self.text, at)
        return match.end() if match else at

    def _after_gap(self, at: int) -> int:
        gap = _GAP.match(self.text, at)
        return gap.end() if gap else at

    def group(self, at: int) -> tuple[int, int] | None:
        """Return start and end of the contents of the next ``{…}``, if it is closed."""
        opening = self._after_gap(at)
        closing = self._closes.get(opening)
        return None if closing is None else (opening + 1, closing)

    def argument(self, at: int) -> tuple[int, int] | None:
        """Return the next group if it is at most one paragraph, as most arguments must be."""
        group = self.group(at)
        if group is None or group[1] - group[0] > _ONE_PARAGRAPH:
            return None
        return None if _BLANK_LINE.search(self.text, *group) else group

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern here, and move after it."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match

    def take_group(self) -> str | None:
        """Return the contents of the next group, and move after it."""
        group = self.group(self.at)
        if group is None:
            return None
        self.at = group[1] + 1
        return self.text[slice(*group)]

    def is_open(self, at: int) -> bool:
        """Return True if a brace comes next, closed or not."""
        return self.text.startswith("{", self._after_gap(at))


# --- Simple macros: a name, arguments, a text -----------------------------------------------

_DEEPEST = 40
_FREE = 1 << 18
"""Characters that macros may expand to, in addition to four times the text itself."""

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
    """The macros of a draft; ``notes`` reports endless expansion."""

    def __init__(self) -> None:
        self._known: dict[str, _Macro] = {}
        self._left = _FREE
        self.notes: list[str] = []

    def allow(self, characters: int) -> None:
        """Allow more expansion after reading this many characters."""
        self._left += 4 * characters

    def define(self, kind: str, cursor: Cursor) -> None:
        """Read the definition after ``\\kind``, and move after it."""
        if (match := cursor.take(_NAME)) is None:
            return
        if kind == "let":
            cursor.take(_LET)
        elif kind.endswith("DocumentCommand"):
            cursor.take_group()
            cursor.take_group()
        else:
            self._read_body(kind, match[1] or match[2], cursor)

    def _read_body(self, kind: str, name: str, cursor: Cursor) -> None:
        arguments, default = 0, None
        if kind.endswith("def"):
            match = cursor.take(_PARAMETERS)
            arguments = match[1].count("#") if match else 0
        elif match := cursor.take(_COUNT):
            arguments, default = int(match[1]), match[2]
        body = cursor.take_group()
        # The reader handles known commands better than their definitions would.
        known = name in commands.KNOWN or name in commands.ASIDES or name in commands.SECTIONS
        if body is not None and not known and not is_citation(name):
            self._known[name] = _Macro(arguments, default, body)

    def expansion(self, name: str, cursor: Cursor, depth: int) -> str | None:
        """Return the text of a macro with its arguments; ``None`` for an unknown macro."""
        macro = self._known.get(name)
        if macro is None:
            return None
        if depth > _DEEPEST or self._left < 0:
            self.notes = [f"macros that expand endlessly, such as \\{name}, were skipped"]
            return None
        values = _arguments(macro, cursor)
        if values is None:
            return None
        body = macro.body
        if values:
            # Check the size before building a text with a hundred copies of a long argument.
            by_slot = {str(slot): value for slot, value in enumerate(values, 1)}
            self._left -= sum(len(by_slot.get(slot, "")) for slot in _SLOT.findall(body))
            if self._left < 0:
                return None
            body = _SLOT.sub(lambda m: by_slot.get(m[1], ""), body)
        self._left -= len(macro.body) + 1
        return body


def _arguments(macro: _Macro, cursor: Cursor) -> list[str] | None:
    values, start = [], cursor.at
    if macro.default is not None:
        option = cursor.take(_OPTION)
        values.append(option[1] if option else macro.default)
    while len(values) < macro.arguments:
        if (value := cursor.take_group()) is None:
            cursor.at = start
            return None
        values.append(value)
    return values
