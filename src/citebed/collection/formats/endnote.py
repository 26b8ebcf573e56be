"""EndNote's exports: its XML, and tagged lines (``.enw``), which is refer's format.

EndNote's tagged export (``.enw``), which is refer's format: lines of ``%A``, ``%T``, ``%D`` …

A record begins with ``%0``; in files that have none, after a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, cut_after, read_text, with_newlines
from citebed.collection.formats.fields import arxiv_id, bibtex_type, cite_keys, made_up_id, one_word
from citebed.collection.formats.tagged import (
    Entry,
    best_date,
    blocks,
    date_in_words,
    entry_of,
    pages_of,
    people,
)
from citebed.collection.formats.xml import (
    Element,
    below,
    child,
    children,
    inner_text,
    root_in,
    text_at,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.normalise import fold, unique

_RECORDS = re.compile(r"<records?\b[^<>]*>\s*<(?:record|database|source-app)\b")


def _xml_sniff(head: str) -> bool:
    name, rest = root_in(head)
    return name in ("xml", "records") and _RECORDS.search(rest) is not None


def _read(record: Element, line: int) -> Iterator[Record]:
    """The document of a record; one without title, author or identifier is skipped."""
    document = _xml_document(record)
    if document.doc_id:
        yield document._replace(line=line)
    else:
        yield Problem(line, "record without title, author or identifier")


def _xml_document(record: Element) -> Document:
    kind, title = _type(record), text_at(record, "titles", "title")
    authors, editors = _people(record, "authors"), _people(record, "secondary-authors")
    date = _date(record)
    doi = _doi(record)
    label, number = text_at(record, "label"), text_at(record, "accession-num")
    doc_id = label or doi or number
    if not doc_id and (title or authors or editors):
        doc_id = made_up_id(authors or editors, date[:4] if date else None, title)
    venue = text_at(record, "titles", "secondary-title")
    venue = venue or text_at(record, "periodical", "full-title")
    return Document(
        doc_id=one_word(doc_id),
        type=kind,
        title=title,
        authors=authors,
        editors=editors,
        year=int(date[:4]) if date else None,
        date=date,
        venue=venue or text_at(record, "alt-periodical", "full-title") or None,
        volume=text_at(record, "volume") or None,
        number=text_at(record, "number") or None,
        pages=pages_of(text_at(record, "pages")),
        publisher=text_at(record, "publisher") or None,
        doi=doi,
        arxiv=arxiv_id(doi, *_urls(record)),
        url=next(_urls(record), None),
        abstract=text_at(record, "abstract") or None,
        keywords=_keywords(record),
        language=text_at(record, "language") or None,
        keys=cite_keys(ids=[label], notes=[text_at(record, "notes")]),
    )


def _type(record: Element) -> str:
    named = child(record, "ref-type")
    return bibtex_type(named.get("name") or inner_text(named) if named is not None else None)


def _people(record: Element, role: str) -> tuple[str, ...]:
    listed = children(child(record, "contributors", role), "author")
    return people(filter(None, map(inner_text, listed)))


def _date(record: Element) -> str | None:
    dates = child(record, "dates")
    year = best_date(text_at(dates, "year"))
    exact = (date_in_words(f"{inner_text(e)} {year[:4]}") for e in below(dates, "date") if year)
    return max(filter(None, (year, *exact)), key=len, default=None)


def _urls(record: Element) -> Iterator[str]:
    """The addresses of a record, without those of files on its owner's disk."""
    places = children(child(record, "urls"), "related-urls", "web-urls")
    values = (inner_text(url).partition(" ")[0] for place in places for url in below(place, "url"))
    return filter(None, values)


def _doi(record: Element) -> str | None:
    values = (text_at(record, "electronic-resource-num"), *_urls(record))
    return next(filter(None, map(normalise_doi, values)), None)


def _keywords(record: Element) -> tuple[str, ...]:
    """The keywords, which some write into one element, in lines or with ``;`` between them."""
    texts = ("".join(map(str, e.itertext())) for e in below(record, "keyword"))
    return unique(fold(word) for text in texts for word in re.split(r"[;\n\r]", text))


ENDNOTE_XML = xml_records(
    *("endnote-xml", "EndNote XML", _xml_sniff),
    Names(("record",), ("xml", "records")),
    _read,
)


# --- Tagged lines -----------------------------------------------------------------------------


_LINE = r"%[0-9A-Z@!#$&()*+<=>?\[~] [^\n]*\n"
_HEAD = re.compile(rf"\s*(?:%0 [A-Z][^\n]*\n{_LINE}|(?:%[A-Z] [^\n]*\n){{2}})")
_PARTED = re.compile(rb"\n\r?\n(?=%)")
_TAG = re.compile(r"%([0-9A-Z@!#$&()*+<=>?\[~^])(?:[ \t]+(.*)|[ \t]*)$")
_START = re.compile(r"%0(?:[ \t]|$)")


def _enw_sniff(head: str) -> bool:
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
            yield _enw_document(entry_of(line, pairs))
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


def _enw_document(entry: Entry) -> Document | Problem:
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


ENW = Format("enw", "EndNote and refer records (.enw)", _enw_sniff, _parse, _cut)
