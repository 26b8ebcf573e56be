"""Reading JSON that others wrote: by line or as one document, without ever raising.

A document is read element by element, so that a truncated download still gives the records
that are whole and every record knows its line. All of this takes time linear in the input.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    NOT_UTF8,
    TOO_LONG,
    WIDE_MARKS,
    Chunk,
    decode,
    read_text,
)
from citebed.collection.formats.json_objects import JsonObject
from citebed.records import Problem
from citebed.text.regex import compile_regex

_T = TypeVar("_T")
ENDS_EARLY = "truncated JSON; records before the break were imported"


class Member(NamedTuple):
    """An element of a JSON document; ``key`` is its name in an object, ``None`` in an array."""

    line: int
    key: str | None
    value: Any


# An integer of more than 18 digits stays text, since it can only be an id.
_DECODER = json.JSONDecoder(
    strict=False, parse_int=lambda digits: int(digits) if len(digits) <= 18 else digits
)
_ERRORS = (ValueError, RecursionError)

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:[^"\\]++|\\.)*+'
# A string that is never closed runs to the end, so that no place is looked at twice.
_TOKEN = compile_regex(rf'{_STRING}(?:"|\\?\Z)|[\[\]{{}},]', re.DOTALL)
_KEY = compile_regex(rf'({_STRING}")[ \t\r\n]*:', re.DOTALL)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def _why(error: Exception) -> str:
    """What is wrong with a piece of JSON, for people."""
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} at column {error.colno}"
    return f"not valid JSON: {error}"


def _utf8(data: bytes) -> bytes:
    """The data as UTF-8 where a byte order mark says UTF-16 or UTF-32; else untouched."""
    if data.startswith(tuple(WIDE_MARKS)):
        return decode(data)[0].encode("utf-8", errors="ignore")
    return data


# --- JSON Lines -----------------------------------------------------------------------------


def json_lines(chunk: Chunk) -> Iterator[JsonObject | Problem]:
    """The objects of a JSON Lines chunk with their line numbers; a bad line is a ``Problem``.

    Blank lines are skipped. Bytes that are not UTF-8 are reported once per chunk.
    """
    is_noted = False
    for line, raw in enumerate(io.BytesIO(_utf8(chunk.data)), chunk.line):
        if len(raw) > MAX_RECORD_BYTES:
            yield Problem(line, TOO_LONG)
            continue
        text, mended = decode(raw)
        if mended and not is_noted:
            is_noted = True
            yield Problem(line, NOT_UTF8, "mended")
        if text and not text.isspace():
            yield _line_object(line, text)


def _line_object(line: int, text: str) -> JsonObject | Problem:
    try:
        value = _DECODER.decode(text.strip())
    except _ERRORS as error:
        return Problem(line, _why(error))
    return _object_or_problem(line, value)


def _object_or_problem(line: int, value: Any) -> JsonObject | Problem:
    if isinstance(value, dict):
        return JsonObject(line, value)
    kind = _KINDS.get(type(value).__name__, "a number")
    return Problem(line, f"expected a JSON object, found {kind}")


_KINDS = {"NoneType": "null", "bool": "true or false", "str": "a string", "list": "an array"}


_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*([\[{])")
_NEXT_OBJECT = re.compile(rb"\n[ \t\r]*\{")
_BLANK_REST = re.compile(rb"[ \t\r\n]*\Z")


def _opens_document(data: bytes) -> bool:
    """Whether JSON text starts as a document over several lines, not as JSON Lines."""
    start = _OPENING.match(data)
    if start is None or start[1] == b"[":
        return start is not None
    end = data.find(b"\n", start.end())
    first = data[start.start(1) : end if end >= 0 else len(data)].rstrip()
    return end >= 0 and first.endswith((b"{", b"[", b","))


def cut_lines_or_document(buffer: bytes) -> int:
    """The last line end between two objects; 0 for a JSON document, so that it is read whole.

    This also holds for a buffer that starts in the middle of an object or a document that is
    too large to be read: inside a document there is a comma between objects.
    """
    end = 0 if _opens_document(buffer) else len(buffer)
    while (end := buffer.rfind(b"\n", 0, end)) >= 0:
        ended = buffer[max(0, end - 64) : end].rstrip().endswith(b"}")
        if ended and _NEXT_OBJECT.match(buffer, end):
            return end + 1
    return 0


# --- element by element ---------------------------------------------------------------------


def _element_end(text: str, pos: int) -> int | None:
    """Where the element at ``pos`` ends: the comma or closing bracket after it, if any."""
    depth = 0
    for token in _TOKEN.finditer(text, pos):
        mark = text[token.start()]
        if depth == 0 and mark in ",]}":
            return token.start()
        depth += _STEP.get(mark, 0)
    return None


class _Walker:
    """Reads one JSON text element by element, going into the members named in ``into``.

    While all is well the decoder finds where an element ends; from the first mistake on the
    end is looked for first, so that a mistake costs one element and not the rest of the file.
    """

    def __init__(self, text: str, line: int, into: frozenset[str]) -> None:
        self.text, self.pos, self.into = text, 0, into
        self.lists_entered = 0
        self._line, self._counted = line, 0
        self._careful = self._noted_end = False

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
        elif not self._noted_end:
            self._noted_end = True
            yield Problem(self.line(), ENDS_EARLY)

    def _element(self, keyed: bool, depth: int) -> Iterator[Member | Problem]:
        line, start = self.line(), self.pos
        try:
            key = self._key() if keyed else None
            goes_in = key in self.into and depth < 2 and self.peek() in ("[", "{")
            value = None if goes_in else self._value()
        except _ERRORS as error:
            if self.pos < len(self.text):
                yield Problem(line, _why(error))
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
        return str(_DECODER.decode(match[1]))

    def _value(self) -> Any:
        self.peek()
        if not self._careful:
            try:
                value, self.pos = _DECODER.raw_decode(self.text, self.pos)
                return value
            except _ERRORS:
                self._careful = True
        return _DECODER.decode(self._piece())

    def _piece(self) -> str:
        """The text of the element here, which is then behind us."""
        start, end = self.pos, _element_end(self.text, self.pos)
        self.pos = len(self.text) if end is None else end
        return self.text[start : self.pos]


# --- documents ------------------------------------------------------------------------------


def json_document(chunk: Chunk) -> Iterator[Member | Problem]:
    """The elements of a JSON array or the members of a JSON object, in order, with their lines.

    A document that ends early gives the elements that are whole, then a ``Problem``; a mistake
    inside an element costs that element only.
    """
    return _walked(chunk, frozenset(), _Walker.elements)


def json_records(
    chunk: Chunk, into: frozenset[str] = frozenset()
) -> Iterator[JsonObject | Problem]:
    """The objects of JSON Lines, of a JSON array, or of the arrays wrapped under ``into``.

    An object without such a wrapper is itself the record.
    """
    data = _utf8(chunk.data)
    end = data.find(b"\n")
    if end < 0 or _opens_document(data) or _BLANK_REST.match(data, end):  # one, or on one line
        yield from _walked(chunk, into, _container_records)
        return
    for item in json_lines(chunk):
        yield from [item] if isinstance(item, Problem) else _unwrap(item, into)


def _walked(
    chunk: Chunk, into: frozenset[str], read: Callable[[_Walker], Iterator[_T]]
) -> Iterator[_T | Problem]:
    text, problems = read_text(chunk)
    yield from problems
    walker = _Walker(text, chunk.line, into)
    while (mark := walker.peek()) in ("[", "{"):
        yield from read(walker)
    if mark:
        yield Problem(walker.line(), "expected a JSON array or object here")


def _container_records(walker: _Walker) -> Iterator[JsonObject | Problem]:
    line, start, lists = walker.line(), walker.pos, walker.lists_entered
    is_list = walker.text[start] == "["
    rest: dict[str, Any] = {}
    for item in walker.elements():
        if isinstance(item, Problem):
            yield item
        elif item.key is not None:
            rest[item.key] = item.value
        else:
            yield _object_or_problem(item.line, item.value)
    if rest and not is_list and walker.lists_entered == lists:
        too_long = walker.pos - start > MAX_RECORD_BYTES
        yield Problem(line, TOO_LONG) if too_long else JsonObject(line, rest)


def _unwrap(record: JsonObject, into: frozenset[str]) -> Iterator[JsonObject | Problem]:
    """The records that one line holds: itself, or those under its wrappers."""
    line, value = record
    wrapped = [value[name] for name in into if isinstance(value.get(name), list | dict)]
    for inner in wrapped[:1]:
        deeper = [inner[name] for name in into if isinstance(inner, dict) and name in inner]
        inside = next((d for d in deeper if isinstance(d, list)), inner)
        for item in inside if isinstance(inside, list) else [inside]:
            yield _object_or_problem(line, item)
    if not wrapped:
        yield record
