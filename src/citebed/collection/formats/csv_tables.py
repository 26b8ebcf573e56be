"""Tables with a header, as CSV or TSV: Scopus, IEEE Xplore, Web of Science, Zotero, CORD-19's
metadata, citebed's own, or anybody's with a column of titles.

Columns go by their names, in lower case; those that no field is made of are not kept.

Rows of a CSV file: where they end, what separates their fields, which of them are broken.

A quotation mark that never closes would swallow all rows behind it: a row that spans lines and
does not fit the header is read again as the one line that it starts with.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    Chunk,
    Format,
    decode,
    of_text,
    with_newlines,
)
from citebed.collection.formats.fields import (
    arxiv_id,
    best_date,
    bibtex_type,
    cite_keys,
    document,
    made_up_id,
    no_doi,
    one_word,
    pages_of,
    people_in,
)
from citebed.collection.formats.tagged import WOS_LISTS, entry_of, pubmed_id, wos_document
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import arxiv_of, normalise_doi
from citebed.text.normalise import fold, html_to_text, unique, year_before_1

SEPARATORS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"sep=(.)\Z")
_LONGEST_ROW = 1 << 20
_OTHER = re.compile(r"[^0-9a-z]+")


class Header(NamedTuple):
    """The first row: its separator, its names in lower case with blanks, and its line."""

    separator: str
    names: tuple[str, ...]
    line: int


class Row(NamedTuple):
    """A row that fits the header: its line and its fields by name, none empty."""

    line: int
    fields: dict[str, str]


def plain_name(name: str) -> str:
    """``author s id`` of ``Author(s)_ID``."""
    return _OTHER.sub(" ", name.lower()).strip()


def headers(text: str) -> Iterator[Header]:
    """What the header may be: one of the first lines, split in one of the usual ways.

    Excel may name the separator in a line of its own, Dimensions puts a note first.
    """
    lines = text.lstrip("\n").split("\n", 3)
    skipped = len(text) - len(text.lstrip("\n"))
    for place, line in enumerate(lines[:3]):
        for separator in SEPARATORS:
            names = tuple(map(plain_name, _fields(line.strip(), separator)))
            if len(names) > 1:
                yield Header(separator, names, skipped + place + 1)


def _fields(line: str, separator: str) -> list[str]:
    csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        return next(csv.reader([line.replace("\r", " ")], delimiter=separator), [])
    except csv.Error:
        return []


def rows(lines: list[str], header: Header, first_line: int) -> Iterator[Row | Problem]:
    """The rows of some lines; one that does not fit the header is a problem."""
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        end = _end(lines, at)
        for stop in dict.fromkeys((end, at + 1)):
            fields = _fields_of(lines[at:stop], header)
            if fields is not None:
                break
        yield _row(fields, header, first_line + at, lines[at])
        at = stop


def _end(lines: list[str], start: int) -> int:
    """The line after the one in which the quotation marks of a row are closed."""
    marks = 0
    for at in range(start, len(lines)):
        marks += lines[at].count('"')
        if marks % 2 == 0:
            return at + 1
    return start + 1


def _fields_of(lines: list[str], header: Header) -> list[str] | None:
    """The fields of a row; ``None`` where there are not as many as the header has."""
    try:
        with_ends = [f"{line}\n".replace("\r", " ") for line in lines]
        fields = next(csv.reader(with_ends, delimiter=header.separator))
    except (csv.Error, StopIteration):
        return None
    while len(fields) > len(header.names) and not fields[-1].strip():
        fields.pop()
    return fields if len(fields) == len(header.names) else None


def _row(fields: list[str] | None, header: Header, line: int, text: str) -> Row | Problem:
    if fields is None:
        number, expected = len(_fields(text, header.separator)), len(header.names)
        return Problem(line, f"a row of {number} fields: expected {expected}, as in the header")
    pairs = zip(header.names, map(_unguarded, map(fold, fields)), strict=True)
    named: dict[str, str] = {}
    for name, value in pairs:
        if value:
            named.setdefault(name, value)
    return Row(line, named)


_GUARDED = re.compile(r"'(?=[=+\-@])")


def _unguarded(value: str) -> str:
    """A text without the apostrophe that keeps a spreadsheet from running it."""
    return _GUARDED.sub("", value, count=1) if value.startswith("'") else value


def cut(data: bytes) -> int:
    """The last line end outside of quotation marks; one that never closes does not count."""
    last = end = data.rfind(b"\n") + 1
    is_inside = data.count(b'"', 0, end) % 2
    while is_inside and end:
        before = data.rfind(b"\n", 0, end - 1) + 1
        is_inside ^= data.count(b'"', before, end) % 2
        end = before
    return end or (last if last > _LONGEST_ROW else 0)


# --- Documents --------------------------------------------------------------------------------


_COLUMNS = {
    "id": "doc id|id|key|citation key|citekey|bibtex key|cord uid|eid|lens id|publication id"
    "|accession number|ut unique wos id|paper id",
    "pmid": "pmid|pubmed id",
    "type": "item type|document type|publication type|entry type|itemtype|type",
    "title": "title|document title|article title|paper title|titles",
    "authors": "author full names|authors|author|author s|author names|creators",
    "editors": "editors|editor|book editors",
    "year": "publication year|year|pub year|pubyear|year published",
    "date": "date|publication date|publish time|cover date|date published|online date",
    "venue": "source title|journal|publication title|journal title|venue|journal book"
    "|source title anthology title|book title|booktitle|conference name|conference|journal name"
    "|container title",
    "volume": "volume|vol",
    "number": "issue|number|issue number",
    "pages": "pages|page range|pagination",
    "first page": "page start|start page|first page|beginning page",
    "last page": "page end|end page|last page|ending page",
    "article": "art no|article number",
    "publisher": "publisher",
    "doi": "doi|doi link|digital object identifier",
    "arxiv": "arxiv|arxiv id",
    "url": "url|link|article url|pdf link|dimensions url|source linkout",
    "abstract": "abstract|abstract note|summary",
    "keywords": "author keywords|index keywords|keywords|manual tags|automatic tags|tags"
    "|mesh terms|subjects",
    "language": "language of original document|language",
    "place": "place|place of publication|publisher location|publisher city|publisher address",
    "edition": "edition",
    "isbn": "isbn|issn",
}
_NAMES = {field: names.split("|") for field, names in _COLUMNS.items()}
_KEYS = ("cite key", "citation key", "citekey", "bibtex key", "key", "doc id", "id")
_BESIDE_TITLE = ("id", "authors", "year", "date", "doi", "abstract", "venue")
_HEAD_BYTES = 64 << 10


def _header(text: str) -> Header | None:
    """The first row that names a column of titles and another that is known."""
    return next((header for header in headers(text) if _is_header(header)), None)


def _is_header(header: Header) -> bool:
    if header.names[0] == "pt":
        return {"ti", "so", "ut"} <= set(header.names)
    known = {field for field, names in _NAMES.items() if set(names) & set(header.names)}
    return "title" in known and bool(known.intersection(_BESIDE_TITLE))


def _sniff(head: str) -> bool:
    head = with_newlines(head)
    return head[:1] not in "<{[@%" and _header(head.removeprefix("\ufeff")) is not None


def _carry(data: bytes, known: dict[str, str]) -> None:
    """Keep the header for later pieces."""
    if "header" not in known:
        header = _header(with_newlines(decode(data[:_HEAD_BYTES])[0]))
        known["header"] = f"{header.separator}{'|'.join(header.names)}" if header else ""


@of_text
def _parse(text: str, chunk: Chunk) -> Iterator[Record]:
    """A document for each row."""
    lines, carried = text.split("\n"), chunk.macros.get("header")
    if carried:
        header, skipped = Header(carried[0], tuple(carried[1:].split("|")), 0), 0
    else:
        first = _header(text[:_HEAD_BYTES])
        if first is None:
            yield Problem(chunk.line, "no header with a column of titles: expected id, title, …")
            return
        header, skipped = first, first.line
    read = _of_wos if header.names[0] == "pt" else _document
    for row in rows(lines[skipped:], header, chunk.line + skipped):
        if isinstance(row, Problem):
            yield row
            continue
        record = read(row)
        yield record
        yield from no_doi(record, _first(row, "doi"))


def _of_wos(row: Row) -> Document | Problem:
    """A row of Web of Science's tab-delimited export, whose columns are its tags."""
    pairs = []
    for name, value in row.fields.items():
        tag = name.upper()
        pairs += [(tag, v) for v in (value.split("; ") if tag in WOS_LISTS else [value])]
    return wos_document(entry_of(row.line, pairs))


def _document(row: Row) -> Document | Problem:
    title = html_to_text(_first(row, "title"))
    authors = people_in(_first(row, "authors"))
    date = best_date(*filter(None, (_first(row, "year"), _first(row, "date"))))
    doi, venue = normalise_doi(_first(row, "doi")), _first(row, "venue")
    arxiv, url = _first(row, "arxiv"), _first(row, "url")
    number = _first(row, "pmid")
    doc_id = (
        _first(row, "id")
        or (pubmed_id(number) if number.isdecimal() else doi)
        or made_up_id(authors, date[:4] if date else None, title)
    )
    is_one = title or authors or doi or "abstract" in row.fields
    return document(
        row.line,
        one_word(doc_id) if is_one else "",
        "a row without a title, an author, a DOI or an abstract",
        type=_type(row, venue),
        title=title,
        authors=authors,
        editors=people_in(_first(row, "editors")),
        date=date,
        year=None if date else year_before_1(_first(row, "year") or _first(row, "date")),
        venue=venue,
        volume=_first(row, "volume"),
        number=_first(row, "number"),
        pages=_pages(row),
        publisher=_first(row, "publisher"),
        doi=doi,
        arxiv=arxiv_id(doi, url, eprint=arxiv) if arxiv_of(arxiv) else arxiv_id(doi, url),
        url=url,
        abstract=html_to_text(_first(row, "abstract")),
        keywords=_keywords(row),
        language=_first(row, "language"),
        **{name: _first(row, name) for name in ("place", "edition", "isbn")},
        keys=cite_keys(ids=map(row.fields.get, _KEYS)),
    )


def _first(row: Row, field: str) -> str:
    """The value of the first column of a field that has one."""
    return next((row.fields[name] for name in _NAMES[field] if name in row.fields), "")


def _type(row: Row, venue: str) -> str:
    """The entry type that is named, in words or as BibTeX has it; else told by the venue."""
    named = _first(row, "type")
    kind = bibtex_type(named.partition(";")[0])
    return "article" if kind == "misc" and not named and venue else kind


def _pages(row: Row) -> str | None:
    ends = pages_of(_first(row, "first page"), _first(row, "last page"))
    return pages_of(_first(row, "pages")) or ends or _first(row, "article")


_PARTED = re.compile(r"\s*[;|]\s*")


def _keywords(row: Row) -> tuple[str, ...]:
    texts = [row.fields[name] for name in _NAMES["keywords"] if name in row.fields]
    parted = [_PARTED.split(t) if ";" in t or "|" in t else t.split(",") for t in texts]
    return unique(word.strip() for words in parted for word in words)


CSV = Format("csv", "a table (CSV, TSV)", _sniff, _parse, cut, _carry)
