"""The SMART format of the classic test collections: Cranfield, CACM, CISI, MED …

A record starts with ``.I number``; a line with a dot and one capital letter starts a field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import Chunk, Format, split_before, text_parser
from citebed.collection.formats.fields import parse_catalogue_names, strip_zeros
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

# --- Recognising ----------------------------------------------------------------------------


def _head_markers(head: str) -> list[set[str]]:
    """Return the fields of each record in a head; the last record may be incomplete."""
    if not _HEAD.match(head):
        return []
    return [set(_HEAD_MARKERS.findall(part)) for part in head.lstrip().split("\n.I ")]


def _sniff_documents(head: str) -> bool:
    """Return True for SMART records with titles or sources, or (MED's) with long texts."""
    records = _head_markers(head)
    markers = set().union(*records)
    if "W" not in markers:
        return bool(markers & set("ATBX"))
    titled = sum(bool(record & set("TBX")) for record in records)
    return "X" in markers or 2 * titled > len(records) or len(head) > _LONG_TEXT * len(records)


def _sniff_queries(head: str) -> bool:
    """Return True for SMART records with short texts, few of them with titles.

    ``.A`` does not make a record a document: queries of CACM name authors.
    """
    return any("W" in record for record in _head_markers(head)) and not _sniff_documents(head)


def _is_ambiguous(head: str) -> bool:
    """Return True if queries may look like this: some of CISI's have titles and sources."""
    records = _head_markers(head)
    return not any("X" in record for record in records) and not all(
        "B" in record for record in records[:-1] or records
    )


# --- Records --------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """A record: its number, its line, and the lines of each field."""

    number: str
    line: int
    fields: dict[str, list[str]]

    def text(self, field: str) -> str:
        """Return a field in one line; ``""`` if it is missing."""
        return fold(" ".join(self.fields.get(field, ())))


def _read_entries(text: str, chunk: Chunk) -> Iterator[_Entry | Problem]:
    """Yield each record after the problems in it; text before the first is a problem."""
    start, number, lines = chunk.line, "", list[str]()
    for place, line in enumerate([*text.split("\n"), None], chunk.line):
        match = _START.fullmatch(line) if line is not None and line.startswith(".I") else None
        if line is not None and match is None:
            lines.append(line)
            continue
        if number:
            if lines and lines[0].strip().isdecimal() and _MARKER.fullmatch("".join(lines[1:2])):
                number += lines.pop(0).strip()
                yield Problem(start, f"the number {number} was broken over two lines", "mended")
            fields: dict[str, list[str]] = {}
            strays: list[str] = []
            field = ""
            for each in lines:
                marker = _MARKER.fullmatch(each) if each.startswith(".") else None
                if marker is None:
                    fields.setdefault(field, []).append(each)
                elif marker[1] not in fields:
                    field = marker[1]
                    fields[field] = []
                elif marker[1] != field:
                    strays.append(marker[1])
            if strays:
                names = ", ".join(f".{field}" for field in strays)
                yield Problem(
                    start, f"record {number}: second {names} taken as part of the text", "mended"
                )
            yield _Entry(number, start, fields)
        elif any(line.strip() for line in lines):
            yield Problem(start, "text before the first '.I number' line")
        start, number, lines = place, match[1] if match else "", []


@text_parser
def _parse_queries(text: str, chunk: Chunk) -> Iterator[Record]:
    for item in _read_entries(text, chunk):
        if isinstance(item, Problem):
            yield item
        elif text := item.text("W") or item.text("T"):
            title = item.text("T") or None
            yield Query(strip_zeros(item.number), text, title, line=item.line)
        else:
            yield Problem(item.line, f"query {item.number} has no text (.W)")


@text_parser
def _parse_documents(text: str, chunk: Chunk) -> Iterator[Record]:
    """Yield the documents; empty ones too, because judgements may name them."""
    items = list(_read_entries(text, chunk))
    entries = (item for item in items if isinstance(item, _Entry))
    rows = (line.split() for entry in entries for line in entry.fields.get("X", ()))
    coded = [parts[1] in _LINKS for parts in rows if len(parts) == 3]
    # CISI counts co-citations in the middle column of .X, which is seldom one of CACM's codes.
    is_counted = 2 * sum(coded) < len(coded)
    for item in items:
        yield item if isinstance(item, Problem) else _document(item, is_counted)


def _document(entry: _Entry, is_counted: bool) -> Document:
    doc_id = strip_zeros(entry.number)
    source = entry.text("B")
    if (match := _DATE_AT_END.search(source)) is not None:  # CACM December, 1958
        venue, date = source[: match.start()].rstrip(" ,") or None, date_in(match[0])
    else:  # naca tn.1813, 1949.
        years = _YEAR.findall(source)
        venue, date = source or None, iso_date(int(years[-1])) if years else None
    keywords = (fold(keyword) for keyword in re.split(r"[,;]", entry.text("K")))
    names = "\n".join(map(fold, entry.fields.get("A", ())))
    lines = re.sub(r"\band\n", "and ", names).split("\n")
    return Document(
        doc_id=doc_id,
        type="article",
        title=entry.text("T"),
        authors=unique(name for line in lines for name in parse_catalogue_names(line)),
        year=int(date[:4]) if date else None,
        date=date,
        venue=venue,
        abstract=_abstract(entry),
        keywords=unique(keywords),
        links=_links(entry.fields.get("X", []), doc_id, is_counted),
        line=entry.line,
    )


def _abstract(entry: _Entry) -> str | None:
    """Return the text without its first lines if they repeat the title."""
    title, lines = entry.text("T"), entry.fields.get("W", [])
    place = 0
    for count, line in enumerate(map(fold, lines) if title else (), 1):
        if line and not title.startswith(line, place):
            break
        place += len(line) + 1 if line else 0
        if place > len(title):
            return fold_or_none(" ".join(lines[count:]))
    return fold_or_none(" ".join(lines))


def _links(lines: list[str], doc_id: str, is_counted: bool) -> tuple[Link, ...]:
    """Return the links of ``target type source`` lines; the weight counts repeated lines.

    In ``target count source`` lines, the weight is the count.
    """
    weights: Counter[tuple[str, str]] = Counter()
    for line, times in Counter(lines).items():
        parts = line.split()
        if len(parts) != 3 or not parts[0].isdecimal():
            continue
        target = strip_zeros(parts[0])
        if is_counted and _COUNT.fullmatch(parts[1]):
            weights["cocited", target] = max(weights["cocited", target], int(parts[1]))
        elif not is_counted and parts[1] in _LINKS:
            weights[_LINKS[parts[1]], target] += times
    links = [Link(target, kind, float(n)) for (kind, target), n in weights.items()]
    others = (link for link in links if link.target != doc_id)
    return tuple(sorted(others, key=lambda link: _LINK_ORDER.index(link.kind)))


_SPLIT = split_before(b"\n.I ")
SMART = Format(
    "smart",
    "SMART documents (Cranfield, CACM)",
    _sniff_documents,
    _parse_documents,
    _SPLIT,
    is_ambiguous=_is_ambiguous,
)
SMART_QUERIES = Format(
    "smart-queries",
    "SMART queries (Cranfield, CACM)",
    _sniff_queries,
    _parse_queries,
    _SPLIT,
    is_ambiguous=_is_ambiguous,
)
