"""EndNote's tagged export (``.enw``), which is refer's format: lines of ``%A``, ``%T``, ``%D`` …

A record begins with ``%0``; in files that have none, after a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, cut_after, read_text, with_newlines
from citebed.collection.formats.entry_types import bibtex_type
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, one_word
from citebed.collection.formats.tagged import (
    Entry,
    best_date,
    blocks,
    date_in_words,
    entry_of,
    pages_of,
    people,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi

_LINE = r"%[0-9A-Z@!#$&()*+<=>?\[~] [^\n]*\n"
_HEAD = re.compile(rf"\s*(?:%0 [A-Z][^\n]*\n{_LINE}|(?:%[A-Z] [^\n]*\n){{2}})")
_PARTED = re.compile(rb"\n\r?\n(?=%)")
_TAG = re.compile(r"%([0-9A-Z@!#$&()*+<=>?\[~^])(?:[ \t]+(.*)|[ \t]*)$")
_START = re.compile(r"%0(?:[ \t]|$)")


def _sniff(head: str) -> bool:
    """Whether a file starts with tagged lines, among them one for a title."""
    head = with_newlines(head)
    return _HEAD.match(head) is not None and re.search(r"^%[TB] ", head, re.MULTILINE) is not None


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a file."""
    text, problems = read_text(chunk)
    yield from problems
    lines = with_newlines(text).split("\n")
    numbered = any(map(_START.match, lines))
    parted = blocks(lines, _START, chunk.line) if numbered else _parted(lines, chunk.line)
    for line, block in parted:
        pairs = list(_pairs(block))
        if any(tag for tag, _ in pairs):
            yield _document(entry_of(line, pairs))
        elif any(map(str.strip, block)):
            yield Problem(line, "text before the first record: expected a line with '%0'")


def _parted(lines: list[str], line: int) -> Iterator[tuple[int, list[str]]]:
    """Records that blank lines part."""
    start = 0
    for place, text in enumerate([*lines, ""]):
        after = lines[place + 1] if place + 1 < len(lines) else "%"
        if not text.strip() and (after.startswith("%") or place == len(lines)):
            if any(map(str.strip, lines[start:place])):
                yield line + start, lines[start:place]
            start = place + 1


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Tags and values; other lines go on with the value before them, keywords as a list."""
    tag, values = "", list[str]()
    for line in lines:
        match = _TAG.match(line)
        if match is not None:
            yield tag, (";" if tag == "K" else " ").join(values)
            tag, values = match[1], [match[2] or ""]
        elif line.strip():
            values.append(line.strip())
    yield tag, (";" if tag == "K" else " ").join(values)


def _document(entry: Entry) -> Document | Problem:
    kind = bibtex_type(entry.first("0")) if entry.first("0") else _kind(entry)
    title = entry.first("T") or (entry.first("B") if kind == "book" else "")
    authors, editors = people(entry.all("A", "?")), people(entry.all("E", "Y"))
    date = best_date(*entry.all("D")) or None
    exact = date_in_words(f"{entry.first('8')} {date[:4]}") if date and entry.first("8") else None
    doi = next(filter(None, map(normalise_doi, entry.all("R", "U", "3"))), None)
    doc_id = entry.first("F", "1") or doi or entry.first("M")
    doc_id = doc_id or made_up_id(authors or editors, date[:4] if date else None, title)
    if not doc_id:
        return Problem(entry.line, "record without title, author or identifier")
    return Document(
        doc_id=one_word(doc_id),
        type=kind,
        title=title,
        authors=authors,
        editors=editors,
        year=int(date[:4]) if date else None,
        date=max(filter(None, (date, exact)), key=len, default=None),
        venue=entry.first("J", "B", "S") or None if kind != "book" else entry.first("S") or None,
        volume=entry.first("V") or None,
        number=entry.first("N") or None,
        pages=pages_of(entry.first("P")),
        publisher=entry.first("I") or None,
        doi=doi,
        arxiv=arxiv_id(doi, *entry.all("U", "M", "J")),
        url=entry.first("U").partition(" ")[0] or None,
        abstract=" ".join(entry.all("X")) or None,
        keywords=entry.keywords("K"),
        language=entry.first("G") or None,
        keys=cite_keys(ids=entry.all("F", "1"), notes=entry.all("O", "Z")),
        line=entry.line,
    )


def _kind(entry: Entry) -> str:
    """The entry type of a record of refer, which names none: told by what it has."""
    for tag, kind in (("J", "article"), ("B", "incollection"), ("R", "techreport"), ("I", "book")):
        if entry.first(tag):
            return kind
    return "misc"


def _cut(data: bytes) -> int:
    """The start of the last record, since only the next one shows where it ends."""
    return data.rfind(b"\n%0 ") + 1 or cut_after(_PARTED)(data)


ENW = Format("enw", "EndNote and refer records (.enw)", _sniff, _parse, _cut)
