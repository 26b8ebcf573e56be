"""Reading JSON of any source, by line or as one document, without raising.

A document is read element by element: a truncated download still gives its complete records, and
every record has its line. Reading takes time linear in the input. `JsonObject` has getters that
accept any type; their text is folded and encodes as UTF-8.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    NOT_UTF8,
    TOO_LONG,
    WIDE_MARKS,
    Chunk,
    Format,
    decode,
    read_text,
)
from citebed.collection.formats.detection import json_format_name
from citebed.collection.formats.fields import check_doi
from citebed.records import Problem, Record, Reference
from citebed.text.identifiers import doi_of, normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import (
    date_in,
    fold,
    fold_or_none,
    html_to_text,
    iso_date,
    unique,
    year_before_1,
    year_in,
)
from citebed.text.regex import compile_regex

_T = TypeVar("_T")
_MAX_INT = 10**15
_MAX_FLOAT = (2 - 2**-23) * 2.0**127  # of 32 bits

# --- Objects --------------------------------------------------------------------------------


def as_text(value: Any) -> str | None:
    """Return a string, a number, or the first of a list of them as text; else ``None``."""
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, str | int | float)), None)
    if isinstance(value, str):
        return fold_or_none(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < _MAX_INT else repr(value)
    return str(value)


def as_int(value: Any) -> int | None:
    """Return a whole number below 10^15 from a number or its digits; else ``None``."""
    text = as_text(value)
    if text is None or re.fullmatch(r"[-+]?[0-9]{1,16}", text) is None:
        return None
    number = int(text)
    return number if abs(number) < _MAX_INT else None


class JsonObject(NamedTuple):
    """An object of a JSON file and the line where it starts."""

    line: int
    values: dict[str, Any]

    def text(self, *names: str) -> str | None:
        """Return the text of the first of these members that has any."""
        for name in names:
            if (text := as_text(self.values.get(name))) is not None:
                return text
        return None

    def markup(self, *names: str) -> str | None:
        """Return ``text`` without its HTML or JATS markup."""
        text = self.text(*names)
        return html_to_text(text) or None if text else None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the distinct texts of a list of strings or numbers, or of a single one."""
        value = self.values.get(name)
        values = value if isinstance(value, list) else [value]
        return unique(as_text(item) or "" for item in values if not isinstance(item, list))

    def keywords(self, *names: str) -> tuple[str, ...]:
        """Return keywords from lists, or from strings separated by semicolons, else by commas."""
        items: list[str] = []
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str):
                items += map(fold, value.split(";" if ";" in value else ","))
            else:
                items += self.texts(name)
        return unique(items)

    def object(self, name: str) -> JsonObject:
        """Return the object under a name; without one, an empty object."""
        return as_object(self.values.get(name), self.line)

    def elements(self, name: str) -> list[Any]:
        """Return the list under a name; a single value that is not null is a list of one."""
        value = self.values.get(name)
        if isinstance(value, list):
            return value
        return [] if value is None else [value]

    def objects(self, name: str) -> list[JsonObject]:
        """Return the objects in the list under a name."""
        items = self.elements(name)
        return [JsonObject(self.line, item) for item in items if isinstance(item, dict)]

    def people(self, name: str, parse: Callable[[Any], str] | None = None) -> tuple[str, ...]:
        """Return the names in a list, each parsed by ``parse`` (default: `parse_person`)."""
        return tuple(filter(None, map(parse or parse_person, self.elements(name))))

    def number(self, name: str, default: float) -> float:
        """Return a number that fits a table, or ``default``."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return default
        return float(value) if abs(value) <= _MAX_FLOAT else default

    def doi(self, *names: str) -> str | None:
        """Return the first DOI in these members: DOI fields, ids and URLs."""
        read = {name: doi_of if "doi" in name.lower() else normalise_doi for name in names}
        dois = (read[name](self.text(name)) for name in names)
        return next((fold(doi) for doi in dois if doi), None)

    def year(self, name: str) -> int | None:
        """Return a year from -9999 to 9999 given as a number, or a plausible one in a text."""
        value = self.values.get(name)
        number = None if isinstance(value, str) else as_int(value)
        if number is not None and number and -9999 <= number <= 9999:
            return number
        return year_in(as_text(value)) or year_before_1(as_text(value))

    def year_and_date(self, year: str, *dates: str) -> tuple[int | None, str | None]:
        """Return year and ISO date, each derived from the other; the date wins if they differ."""
        date = date_in(self.text(*dates)) or iso_date(self.year(year))
        return (int(date[:4]) if date else None), date

    def unexpected(self, expected: str) -> Problem:
        """Return the ``Problem`` that this object is not what the format expects."""
        names = ", ".join(fold(name)[:40] for name in [*self.values][:12])
        return Problem(self.line, f"expected {expected}; found the keys {names or '(none)'}")


def as_object(value: Any, line: int = 1) -> JsonObject:
    """Return a value as a `JsonObject`, empty if it is not an object."""
    return JsonObject(line, value if isinstance(value, dict) else {})


def parse_person(value: Any) -> str:
    """Return ``Family, Given`` for a printed name, or for parts as CSL or Semantic Scholar have.

    A particle that is never dropped (``van der``) belongs to the family name, a dropping one to
    the given name. ``literal`` (an organisation) stays as it is.
    """
    if not isinstance(value, dict):
        return name_from_display(as_text(value) or "")
    person = as_object(value)
    given = [person.text("given", "first"), *person.texts("middle")]
    given.append(person.text("dropping-particle"))
    family = [person.text("non-dropping-particle"), person.text("family", "last")]
    full_family, full_given = (" ".join(filter(None, words)) for words in (family, given))
    parts = name_from_parts(full_family, full_given, person.text("suffix"))
    return parts or person.text("literal") or name_from_display(person.text("name") or "")


def make_reference(cited: str) -> Reference:
    """Make a reference from the only id that a source has for it: a DOI, or a document id."""
    doi = normalise_doi(cited)
    return Reference(cited, doi=fold(doi)) if doi else Reference(cited, doc_id=cited)


# --- JSON Lines -----------------------------------------------------------------------------

# An integer of more than 18 digits stays text: it can only be an id.
_DECODER = json.JSONDecoder(
    strict=False, parse_int=lambda digits: int(digits) if len(digits) <= 18 else digits
)
_ERRORS = (ValueError, RecursionError)
_KINDS = {"NoneType": "null", "bool": "true or false", "str": "a string", "list": "an array"}


def _describe_error(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} at column {error.colno}"
    return f"not valid JSON: {error}"


def _to_utf8(data: bytes) -> bytes:
    """Convert UTF-16 and UTF-32 with a byte order mark to UTF-8; return other data as it is."""
    if data.startswith(tuple(WIDE_MARKS)):
        return decode(data)[0].encode("utf-8", errors="ignore")
    return data


def _object_or_problem(line: int, value: Any) -> JsonObject | Problem:
    if isinstance(value, dict):
        return JsonObject(line, value)
    kind = _KINDS.get(type(value).__name__, "a number")
    return Problem(line, f"expected a JSON object, found {kind}")


def json_lines(chunk: Chunk) -> Iterator[JsonObject | Problem]:
    """Yield the objects of JSON Lines, and a ``Problem`` for each bad line.

    Blank lines are skipped. Bytes that are not UTF-8 are reported once per chunk.
    """
    is_reported = False
    for line, raw in enumerate(io.BytesIO(_to_utf8(chunk.data)), chunk.line):
        if len(raw) > MAX_RECORD_BYTES:
            yield Problem(line, TOO_LONG)
            continue
        text, repaired = decode(raw)
        if repaired and not is_reported:
            is_reported = True
            yield Problem(line, NOT_UTF8, "mended")
        if text and not text.isspace():
            try:
                value = _DECODER.decode(text.strip())
            except _ERRORS as error:
                yield Problem(line, _describe_error(error))
            else:
                yield _object_or_problem(line, value)


_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*([\[{])")
_NEXT_OBJECT = re.compile(rb"\n[ \t\r]*\{")
_BLANK_REST = re.compile(rb"[ \t\r\n]*\Z")


def _opens_document(data: bytes) -> bool:
    """Return True if JSON text starts as a document over several lines, not as JSON Lines."""
    start = _OPENING.match(data)
    if start is None or start[1] == b"[":
        return start is not None
    end = data.find(b"\n", start.end())
    first = data[start.start(1) : end if end >= 0 else len(data)].rstrip()
    return end >= 0 and first.endswith((b"{", b"[", b","))


def split_json_lines(buffer: bytes) -> int:
    """Split after the last line end between two objects; return 0 for a JSON document.

    A comma before the line end means that both objects are inside a document. So this also works
    if the buffer starts in the middle of an object.
    """
    end = 0 if _opens_document(buffer) else len(buffer)
    while (end := buffer.rfind(b"\n", 0, end)) >= 0:
        is_object_end = buffer[max(0, end - 64) : end].rstrip().endswith(b"}")
        if is_object_end and _NEXT_OBJECT.match(buffer, end):
            return end + 1
    return 0


# --- Documents ------------------------------------------------------------------------------


class Member(NamedTuple):
    """An element of a JSON document; ``key`` is its name in an object, ``None`` in an array."""

    line: int
    key: str | None
    value: Any


_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:[^"\\]++|\\.)*+'
# A string that is not closed runs to the end, so that no character is read twice.
_TOKEN = compile_regex(rf'{_STRING}(?:"|\\?\Z)|[\[\]{{}},]', re.DOTALL)
_KEY = compile_regex(rf'({_STRING}")[ \t\r\n]*:', re.DOTALL)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class _Walker:
    """Reads a JSON text element by element, and enters the members named in ``into``.

    As long as the text is valid, the decoder finds the end of each element. After the first error
    the walker finds the ends itself, so that an error costs one element and not the rest of the
    file.
    """

    def __init__(self, text: str, line: int, into: tuple[str, ...]) -> None:
        self.text, self.pos, self.into = text, 0, into
        self.lists_entered = 0
        self._line, self._counted = line, 0
        self._is_careful = self._is_end_reported = False

    def line(self) -> int:
        """Return the line number of the current position."""
        self._line += self.text.count("\n", self._counted, self.pos)
        self._counted = self.pos
        return self._line

    def peek(self) -> str:
        """Skip white space; return the next character, ``""`` at the end."""
        space = _SPACE.match(self.text, self.pos)
        self.pos = space.end() if space else self.pos
        return self.text[self.pos : self.pos + 1]

    def elements(self, depth: int = 0) -> Iterator[Member | Problem]:
        """Yield the elements of the array or object that opens here."""
        is_keyed = self.text[self.pos] == "{"
        self.pos += 1
        while (mark := self.peek()) not in ("", "]", "}"):
            if mark == ",":
                self.pos += 1
            else:
                yield from self._element(is_keyed, depth)
        if mark:
            self.pos += 1
        elif not self._is_end_reported:
            self._is_end_reported = True
            yield Problem(self.line(), "truncated JSON; records before the break were imported")

    def _element(self, is_keyed: bool, depth: int) -> Iterator[Member | Problem]:
        line, start = self.line(), self.pos
        try:
            key = self._key() if is_keyed else None
            enters = key in self.into and depth < 2 and self.peek() in ("[", "{")
            value = None if enters else self._value()
        except _ERRORS as error:
            if self.pos < len(self.text):
                yield Problem(line, _describe_error(error))
            return
        if enters:
            self.lists_entered += self.text[self.pos] == "["
            yield from self.elements(depth + 1)
        elif self.pos - start > MAX_RECORD_BYTES:
            yield Problem(line, TOO_LONG)
        else:
            yield Member(line, key, value)

    def _key(self) -> str:
        match = _KEY.match(self.text, self.pos)
        if match is None:
            self._take_element()
            raise ValueError("expected a name in quotes and a colon")
        self.pos = match.end()
        return str(_DECODER.decode(match[1]))

    def _value(self) -> Any:
        self.peek()
        if not self._is_careful:
            try:
                value, self.pos = _DECODER.raw_decode(self.text, self.pos)
                return value
            except _ERRORS:
                self._is_careful = True
        return _DECODER.decode(self._take_element())

    def _take_element(self) -> str:
        """Move past the current element, to the comma or closing bracket; return its text."""
        start, depth = self.pos, 0
        self.pos = len(self.text)
        for token in _TOKEN.finditer(self.text, start):
            mark = self.text[token.start()]
            if depth == 0 and mark in ",]}":
                self.pos = token.start()
                break
            depth += _STEP.get(mark, 0)
        return self.text[start : self.pos]


def json_members(chunk: Chunk) -> Iterator[Member | Problem]:
    """Yield the elements of a JSON array or the members of a JSON object, with their lines.

    A truncated document gives its complete elements, then a ``Problem``; an error inside an
    element costs only that element.
    """
    return _walk(chunk, (), _Walker.elements)


def json_records(chunk: Chunk, into: tuple[str, ...] = ()) -> Iterator[JsonObject | Problem]:
    """Yield the objects of JSON Lines, of a JSON array, or of the arrays wrapped under ``into``.

    An object without such a wrapper is itself the record.
    """
    data = _to_utf8(chunk.data)
    end = data.find(b"\n")
    if end < 0 or _opens_document(data) or _BLANK_REST.match(data, end):  # one, or on one line
        yield from _walk(chunk, into, _container_records)
        return
    for item in json_lines(chunk):
        yield from [item] if isinstance(item, Problem) else _unwrap(item, into)


def _walk(
    chunk: Chunk, into: tuple[str, ...], read: Callable[[_Walker], Iterator[_T]]
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
        is_too_long = walker.pos - start > MAX_RECORD_BYTES
        yield Problem(line, TOO_LONG) if is_too_long else JsonObject(line, rest)


def _unwrap(record: JsonObject, into: tuple[str, ...]) -> Iterator[JsonObject | Problem]:
    """Yield the records of one line: the ones under its wrappers, else the line itself."""
    line, value = record
    wrapped = [value[name] for name in into if isinstance(value.get(name), list | dict)]
    for inner in wrapped[:1]:
        deeper = [inner[name] for name in into if isinstance(inner, dict) and name in inner]
        inside = next((d for d in deeper if isinstance(d, list)), inner)
        for item in inside if isinstance(inside, list) else [inside]:
            yield _object_or_problem(line, item)
    if not wrapped:
        yield record


# --- Formats --------------------------------------------------------------------------------


def sniff_json(name: str) -> Callable[[str], bool]:
    """Make a ``sniff`` for the JSON format of this name."""
    return lambda head: json_format_name(head) == name


def json_format(
    name: str,
    title: str,
    parse_object: Callable[[JsonObject], Record],
    *,
    into: tuple[str, ...] = (),
    items: Callable[[Chunk], Iterator[JsonObject | Problem]] | None = None,
    **options: Any,
) -> Format:
    """Make a format whose records are JSON objects, in a document or in lines.

    ``items`` yields the objects of a chunk (default: `json_records` with the wrappers ``into``);
    ``options`` are fields of `Format`.
    """
    read_items = items or partial(json_records, into=into)

    def parse(chunk: Chunk) -> Iterator[Record]:
        for item in read_items(chunk):
            yield from parse_item(item, parse_object)

    fields: dict[str, Any] = {"split": split_json_lines, "allow_unsplit": True, **options}
    return Format(name, title, sniff_json(name), parse, **fields)


def parse_item(
    item: JsonObject | Problem, parse_object: Callable[[JsonObject], Record]
) -> Iterator[Record]:
    """Yield the record of an object, and a problem if its DOI field has no DOI."""
    if isinstance(item, Problem):
        yield item
        return
    record = parse_object(item)
    yield record
    yield from check_doi(record, item.text("DOI", "doi"))
