"""XML of many records, read record by record: files of any size, in flat memory.

A file is cut behind records, and each record is parsed by itself, so that one that is broken
costs no other. What the file's head declares is not at hand in later pieces: its encoding is
carried along, entities are known by their names, and names count without their prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.xml import DECLARED, Element, as_utf8, parse_fragment
from citebed.records import Problem, Record
from citebed.wording import count

_COMMENT = r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
# What does not end runs to the end, so that no place is looked at twice.
_AROUND = re.compile(
    (_COMMENT + r"|<\?.*?(?:\?>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?(?:\]\s*>|\Z)|>|\Z)").encode(),
    re.DOTALL,
)
_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")

_ENDING = re.compile(rb"</(?:[\w.-]+:)?\Z")
_LONGEST = 80
"""No prefix is longer."""

Read = Callable[[Element, int], Record]
"""What a record, which stands in some line, gives."""


class Names(NamedTuple):
    """The names of elements: of the records, of what may stand around them, and of records that
    are no documents, which are counted and passed over."""

    records: tuple[str, ...]
    around: tuple[str, ...]
    passed_over: tuple[str, ...] = ()


def xml_records(
    name: str, title: str, sniff: Callable[[str], bool], names: Names, read: Read
) -> Format:
    """A format of XML files of records; an element beside them that has no known name is told."""
    elements = (*names.records, *names.passed_over)
    text = rf"{_COMMENT}|<(/?)(?:[\w.-]+:)?(?:{'|'.join(elements)})(?=[\s/>])[^<>]*>"
    pattern = re.compile(text.encode(), re.DOTALL)

    def parse(chunk: Chunk) -> Iterator[Record]:
        return _records(chunk, pattern, names, read)

    def cut(data: bytes) -> int:
        return max(_last_end(data, element.encode()) for element in elements)

    return Format(name, title, sniff, parse, cut, _carry)


def _last_end(data: bytes, element: bytes) -> int:
    """Where the last end of an element is over, whatever its prefix; 0 where there is none."""
    at = len(data)
    while (at := data.rfind(element + b">", 0, at)) >= 0:
        if _ENDING.search(data, max(0, at - _LONGEST), at):
            return at + len(element) + 1
    return 0


def _carry(data: bytes, known: dict[str, str]) -> None:
    """Keep the encoding that the head of a file declares."""
    if "encoding" not in known:
        declared = DECLARED.match(data[:200])
        known["encoding"] = declared[1].decode("ascii") if declared else ""


def _records(
    chunk: Chunk, pattern: re.Pattern[bytes], names: Names, read: Read
) -> Iterator[Record]:
    around = frozenset(name.encode() for name in names.around)
    passed = frozenset(name.encode() for name in names.passed_over)
    number = 0
    data, encoding = chunk.data, chunk.macros.get("encoding")
    if encoding:
        data = b'<?xml version="1.0" encoding="%s"?>' % encoding.encode() + data
    text, problems = as_utf8(data)
    yield from (problem._replace(line=chunk.line) for problem in problems)
    line, counted, end = chunk.line, 0, 0
    for start, stop in _spans(text, pattern):
        line, counted = line + text.count(b"\n", counted, start), start
        yield from _strangers(text[end:start], around, line)
        tag = _TAG.match(text, start)
        if tag is not None and tag[1] in passed:
            number += 1
        else:
            yield from _record(text[start:stop], line, read)
        end = stop
    yield from _strangers(text[end:], around, line + text.count(b"\n", counted, end))
    if number:
        what = f"{count(number, 'record')} of the kind {' or '.join(names.passed_over)}"
        yield Problem(chunk.line, f"{what}: no publications, passed over", "ignored")


def _record(text: bytes, line: int, read: Read) -> Iterator[Record]:
    root, problems = parse_fragment(text)
    yield from (problem._replace(line=line + problem.line - 1) for problem in problems)
    if root is not None:
        yield read(root, line)


def _spans(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Where each record starts and ends: one that does not close, where the next one starts."""
    start: int | None = None
    for tag in pattern.finditer(text):
        if tag[1] is None:  # a comment
            continue
        if start is not None:
            yield start, tag.end() if tag[1] else tag.start()
            start = None
        if not tag[1] and tag[0].endswith(b"/>"):
            yield tag.span()
        elif not tag[1]:
            start = tag.start()
    if start is not None:
        yield start, len(text)


def _strangers(text: bytes, around: frozenset[bytes], line: int) -> Iterator[Problem]:
    """A problem where an element between records is none that may stand there."""
    if b"<" in text:
        names: Any = dict.fromkeys(_TAG.findall(_AROUND.sub(b"", text)))
        strange = [name for name in names if name not in around]
        if strange:
            first = strange[0].decode("utf-8", "replace")
            yield Problem(line, f"<{first}> stands where a record was expected, and was not read")
