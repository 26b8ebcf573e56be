"""The SMART format of the classic test collections: Cranfield, CACM, CISI, MED …

A record starts with ``.I number``; a line with a dot and one capital letter opens a field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from citebed.collection.formats.base import Chunk, Format, cut_before, of_text
from citebed.collection.formats.fields import names_in, without_zeros
from citebed.records import Document, Link, Problem, Query, Record
from citebed.text.normalise import MONTHS, date_in, fold, fold_or_none, iso_date, unique

_START = re.compile(r"\.I[ \t]+([\w-]{0,20}\d[\w.-]{0,40})[ \t]*")
_MARKER = re.compile(r"\.([A-Z])[ \t]*")
_HEAD = re.compile(
    r"\s*\.I[ \t]+[\w-]{0,20}\d[\w.-]{0,40}[ \t]*\r?\n(?:\d+[ \t]*\r?\n)?\.[A-Z][ \t]*\r?\n"
)
_HEAD_MARKERS = re.compile(r"^\.([A-Z])[ \t]*\r?$", re.MULTILINE)
_LONG_TEXT = 600
_LINKS = {"4": "coupled", "5": "linked", "6": "cocited"}
_COUNT = re.compile(r"[0-9]{1,6}")
_LINK_ORDER = ("linked", "coupled", "cocited")
_DATE_AT_END = re.compile(rf"\b(?:{'|'.join(MONTHS)})[\s,.]*\d{{4}}[\s.]*$", re.IGNORECASE)
_YEAR = re.compile(r"(?:(?<![^\s,(])|(?<=[a-z]{3}\.))19\d\d(?!\d)")


class _Entry(NamedTuple):
    """A record in reading: its number, its line, and the lines of each field."""

    number: str
    line: int
    fields: dict[str, list[str]]

    def text(self, field: str) -> str:
        """A field in one line, ``""`` where it is missing."""
        return fold(" ".join(self.fields.get(field, ())))


def _records_in(head: str) -> list[set[str]]:
    """The fields that each record in a head has; the last record may be cut off."""
    if not _HEAD.match(head):
        return []
    return [set(_HEAD_MARKERS.findall(part)) for part in head.lstrip().split("\n.I ")]


def sniff_documents(head: str) -> bool:
    """Whether the file starts with a SMART record and its records have titles or sources.

    Where they have texts alone, as MED's have, they are documents if those are long.
    """
    records = _records_in(head)
    markers = set().union(*records)
    if "W" not in markers:
        return bool(markers & set("ATBX"))
    titled = sum(bool(record & set("TBX")) for record in records)
    return "X" in markers or 2 * titled > len(records) or len(head) > _LONG_TEXT * len(records)


def sniff_queries(head: str) -> bool:
    """Whether the file starts with a SMART record and has short texts, few with titles.

    A query may name authors (CACM's do), so ``.A`` does not make it a document.
    """
    return any("W" in record for record in _records_in(head)) and not sniff_documents(head)


def leaves_doubt(head: str) -> bool:
    """Whether queries may look like this: CISI's have titles and sources now and then."""
    records = _records_in(head)
    return not any("X" in record for record in records) and not all(
        "B" in record for record in records[:-1] or records
    )


@of_text
def parse_documents(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of a SMART file; an empty one is kept, as judgements may name it."""
    items = list(_entries(text, chunk))
    counted = _counts_cocitations(item for item in items if isinstance(item, _Entry))
    for item in items:
        yield item if isinstance(item, Problem) else _document(item, counted)


@of_text
def parse_queries(text: str, chunk: Chunk) -> Iterator[Record]:
    """The queries of a SMART file, each with the number it has there."""
    for item in _entries(text, chunk):
        if isinstance(item, Problem):
            yield item
        elif text := item.text("W") or item.text("T"):
            title = item.text("T") or None
            yield Query(without_zeros(item.number), text, title, line=item.line)
        else:
            yield Problem(item.line, f"query {item.number} has no text (.W)")


# --- Records --------------------------------------------------------------------------------


def _entries(text: str, chunk: Chunk) -> Iterator[_Entry | Problem]:
    """The records, each after the problems found in it; text before the first is reported."""
    start, number, lines = chunk.line, "", list[str]()
    for place, line in enumerate(text.split("\n"), chunk.line):
        if not line.startswith(".I") or (match := _START.fullmatch(line)) is None:
            lines.append(line)
            continue
        yield from _finish(number, start, lines)
        start, number, lines = place, match[1], []
    yield from _finish(number, start, lines)


def _finish(number: str, start: int, lines: list[str]) -> Iterator[_Entry | Problem]:
    """The record with this number and the lines after its ``.I``.

    A line of digits before the first field belongs to the number (CACM's 2856 is broken so).
    """
    if not number:
        if any(line.strip() for line in lines):
            yield Problem(start, "text before the first '.I number' line")
        return
    if lines and lines[0].strip().isdecimal() and _MARKER.fullmatch("".join(lines[1:2])):
        number += lines.pop(0).strip()
        yield Problem(start, f"the number {number} was broken over two lines", "mended")
    fields, strays = _fields(lines)
    if strays:
        names = ", ".join(f".{name}" for name in strays)
        yield Problem(start, f"record {number}: second {names} taken as part of the text", "mended")
    yield _Entry(number, start, fields)


def _fields(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The lines of each field, and the markers that came a second time inside another field.

    Such a marker is a slip (Cranfield's 240): what follows belongs to the field around it.
    """
    fields: dict[str, list[str]] = {}
    strays: list[str] = []
    name = ""
    for line in lines:
        match = _MARKER.fullmatch(line) if line.startswith(".") else None
        if match is None:
            fields.setdefault(name, []).append(line)
        elif match[1] not in fields:
            name = match[1]
            fields[name] = []
        elif match[1] != name:
            strays.append(match[1])
    return fields, strays


def _document(entry: _Entry, counted: bool) -> Document:
    doc_id = without_zeros(entry.number)
    venue, date = _source(entry.text("B"))
    keywords = (fold(keyword) for keyword in re.split(r"[,;]", entry.text("K")))
    return Document(
        doc_id=doc_id,
        type="article",
        title=entry.text("T"),
        authors=unique(name for line in _author_lines(entry) for name in names_in(line)),
        year=int(date[:4]) if date else None,
        date=date,
        venue=venue,
        abstract=_abstract(entry),
        keywords=unique(keywords),
        links=_links(entry.fields.get("X", []), doc_id, counted),
        line=entry.line,
    )


def _source(text: str) -> tuple[str | None, str | None]:
    """Venue and date: ``CACM`` and ``1958-12`` of ``CACM December, 1958``.

    Any other text is the venue as a whole, and its year the last free-standing number of the
    twentieth century: ``naca tn.1813, 1949.`` is of 1949.
    """
    if (match := _DATE_AT_END.search(text)) is not None:
        return text[: match.start()].rstrip(" ,") or None, date_in(match[0])
    years = _YEAR.findall(text)
    return text or None, iso_date(int(years[-1])) if years else None


def _abstract(entry: _Entry) -> str | None:
    """The text, without the title where its first lines only repeat it."""
    title, lines = entry.text("T"), entry.fields.get("W", [])
    place = 0
    for count, line in enumerate(map(fold, lines) if title else (), 1):
        if line and not title.startswith(line, place):
            break
        place += len(line) + 1 if line else 0
        if place > len(title):
            return fold_or_none(" ".join(lines[count:]))
    return fold_or_none(" ".join(lines))


def _counts_cocitations(entries: Iterable[_Entry]) -> bool:
    """Whether the middle column of ``.X`` counts co-citations (CISI): then it is seldom one of
    CACM's three codes."""
    lines = (line.split() for entry in entries for line in entry.fields.get("X", ()))
    coded = [parts[1] in _LINKS for parts in lines if len(parts) == 3]
    return 2 * sum(coded) < len(coded)


def _links(lines: list[str], doc_id: str, counted: bool) -> tuple[Link, ...]:
    """Ties of ``target type source`` lines; a repeated line adds to the weight.

    In ``target count source`` lines the count is the weight.
    """
    weights: Counter[tuple[str, str]] = Counter()
    for line, times in Counter(lines).items():
        parts = line.split()
        if len(parts) != 3 or not parts[0].isdecimal():
            continue
        target = without_zeros(parts[0])
        if counted and _COUNT.fullmatch(parts[1]):
            weights["cocited", target] = max(weights["cocited", target], int(parts[1]))
        elif not counted and parts[1] in _LINKS:
            weights[_LINKS[parts[1]], target] += times
    ties = [Link(target, kind, float(n)) for (kind, target), n in weights.items()]
    others = (link for link in ties if link.target != doc_id)
    return tuple(sorted(others, key=lambda link: _LINK_ORDER.index(link.kind)))


# --- Authors --------------------------------------------------------------------------------


def _author_lines(entry: _Entry) -> list[str]:
    """The author field by lines; one that ends in ``and`` goes on in the next."""
    text = "\n".join(map(fold, entry.fields.get("A", ())))
    return re.sub(r"\band\n", "and ", text).split("\n")


_CUT = cut_before(b"\n.I ")
SMART = Format(
    *("smart", "SMART documents (Cranfield, CACM)", sniff_documents, parse_documents, _CUT),
    leaves_doubt=leaves_doubt,
)
SMART_QUERIES = Format(
    *("smart-queries", "SMART queries (Cranfield, CACM)", sniff_queries, parse_queries, _CUT),
    leaves_doubt=leaves_doubt,
)
