"""Walking through a JSON text element by element, whatever its mistakes, in linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES, TOO_LONG
from citebed.patterns import compiled
from citebed.records import Problem

ENDS_EARLY = "the JSON ends in the middle: what is whole before that was read"


class Member(NamedTuple):
    """An element of a JSON document; ``key`` is its name in an object, ``None`` in an array."""

    line: int
    key: str | None
    value: Any


def _int(digits: str) -> int | str:
    """An integer of up to 18 digits; a longer one stays text, since it can only be an id."""
    return int(digits) if len(digits) <= 18 else digits


DECODER = json.JSONDecoder(strict=False, parse_int=_int)
ERRORS = (ValueError, RecursionError)

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:[^"\\]++|\\.)*+'
# A string that is never closed runs to the end, so that no place is looked at twice.
_TOKEN = compiled(rf'{_STRING}(?:"|\\?\Z)|[\[\]{{}},]', re.DOTALL)
_KEY = compiled(rf'({_STRING}")[ \t\r\n]*:', re.DOTALL)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def why(error: Exception) -> str:
    """What is wrong with a piece of JSON, for people."""
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} at column {error.colno}"
    return f"not valid JSON: {error}"


def _element_end(text: str, pos: int) -> int | None:
    """Where the element at ``pos`` ends: the comma or closing bracket after it, if any."""
    depth = 0
    for token in _TOKEN.finditer(text, pos):
        mark = text[token.start()]
        if depth == 0 and mark in ",]}":
            return token.start()
        depth += _STEP.get(mark, 0)
    return None


class Walker:
    """Reads one JSON text element by element, going into the members named in ``into``.

    While all is well the decoder finds where an element ends; from the first mistake on the
    end is looked for first, so that a mistake costs one element and not the rest of the file.
    """

    def __init__(self, text: str, line: int, into: frozenset[str]) -> None:
        self.text, self.pos, self.into = text, 0, into
        self.lists_entered = 0
        self._line, self._counted = line, 0
        self._careful = self._told_end = False

    def line(self) -> int:
        """The line number of the present place."""
        self._line += self.text.count("\n", self._counted, self.pos)
        self._counted = self.pos
        return self._line

    def peek(self) -> str:
        """The next character that is no white space, ``""`` at the end."""
        space = _SPACE.match(self.text, self.pos)
        self.pos = space.end() if space else self.pos
        return self.text[self.pos : self.pos + 1]

    def elements(self, depth: int = 0) -> Iterator[Member | Problem]:
        """The elements of the array or object that opens here."""
        keyed = self.text[self.pos] == "{"
        self.pos += 1
        while (mark := self.peek()) not in ("", "]", "}"):
            if mark == ",":
                self.pos += 1
            else:
                yield from self._element(keyed, depth)
        if mark:
            self.pos += 1
        elif not self._told_end:
            self._told_end = True
            yield Problem(self.line(), ENDS_EARLY)

    def _element(self, keyed: bool, depth: int) -> Iterator[Member | Problem]:
        line, start = self.line(), self.pos
        try:
            key = self._key() if keyed else None
            goes_in = key in self.into and depth < 2 and self.peek() in ("[", "{")
            value = None if goes_in else self._value()
        except ERRORS as error:
            if self.pos < len(self.text):
                yield Problem(line, why(error))
            return
        if goes_in:
            self.lists_entered += self.text[self.pos] == "["
            yield from self.elements(depth + 1)
        elif self.pos - start > MAX_RECORD_BYTES:
            yield Problem(line, TOO_LONG)
        else:
            yield Member(line, key, value)

    def _key(self) -> str:
        match = _KEY.match(self.text, self.pos)
        if match is None:
            self._piece()
            raise ValueError("expected a name in quotes and a colon")
        self.pos = match.end()
        return str(DECODER.decode(match[1]))

    def _value(self) -> Any:
        self.peek()
        if not self._careful:
            try:
                value, self.pos = DECODER.raw_decode(self.text, self.pos)
                return value
            except ERRORS:
                self._careful = True
        return DECODER.decode(self._piece())

    def _piece(self) -> str:
        """The text of the element here, which is then behind us."""
        start, end = self.pos, _element_end(self.text, self.pos)
        self.pos = len(self.text) if end is None else end
        return self.text[start : self.pos]
