"""Tables with a header, as CSV or TSV: Scopus, IEEE Xplore, Web of Science, Zotero, CORD-19's
metadata, citebed's own exports, and any table with a column of titles.

Columns are recognised by name, in lower case; other columns are ignored. A quotation mark that
never closes would swallow all further rows: a row that spans lines and does not fit the header is
read again as a single line.
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
    normalise_newlines,
    text_parser,
)
from citebed.collection.formats.fields import (
    check_doi,
    collect_cite_keys,
    find_arxiv_id,
    generate_key,
    make_document,
    parse_name_list,
    parse_pages,
    pick_date,
    remove_spaces,
    to_bibtex_type,
)
from citebed.collection.formats.tagged import (
    WOS_LISTS,
    make_entry,
    make_wos_document,
    pubmed_doc_id,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import arxiv_of, normalise_doi
from citebed.text.normalise import fold, html_to_text, unique, year_before_1

# --- Headers and rows -------------------------------------------------------------------------

_SEPARATORS = (",", ";", "\t", "|")
_HEAD_BYTES = 64 << 10
_MAX_ROW = 1 << 20
_NO_LETTER = re.compile(r"[^0-9a-z]+")
_ESCAPED = re.compile(r"'(?=[=+\-@])")
_COLUMNS = {
    "id": "doc id|id|key|citation key|citekey|bibtex key|cord uid|eid|lens id|publication id"
    "|accession number|ut unique wos id|paper id",
    "pmid": "pmid|pubmed id",
    "type": "item type|document type|publication type|entry type|itemtype|type",
    "title": "title|document title|article title|paper title|titles",
    "authors": "author full names|author sort|authors|author|author s|author names|creators",
    "editors": "editors|editor|book editors",
    "year": "publication year|year|pub year|pubyear|year published",
    "date": "date|publication date|publish time|cover date|date published|online date|pubdate",
    "venue": "source title|journal|publication title|journal title|venue|journal book"
    "|source title anthology title|book title|booktitle|conference name|conference|journal name"
    "|container title",
    "volume": "volume|vol",
    "number": "issue|number|issue number",
    "pages": "pages|page range|pagination|page s",
    "first page": "page start|start page|first page|beginning page",
    "last page": "page end|end page|last page|ending page",
    "article": "art no|article number",
    "publisher": "publisher",
    "doi": "doi|doi link|digital object identifier",
    "arxiv": "arxiv|arxiv id",
    "url": "url|urls|link|article url|pdf link|dimensions url|source linkout",
    "abstract": "abstract|abstract note|summary",
    "keywords": "author keywords|index keywords|keywords|manual tags|automatic tags|tags"
    "|mesh terms|subjects|labels filed in",
    "language": "language of original document|language",
    "place": "place|place of publication|publisher location|publisher city|publisher address",
    "edition": "edition",
    "groups": "folders filed in|groups",
    "isbn": "isbn|issn",
}
_NAMES = {field: names.split("|") for field, names in _COLUMNS.items()}
_KEYS = ("cite key", "citation key", "citekey", "bibtex key", "key", "doc id", "id")
_WITH_TITLE = ("id", "authors", "year", "date", "doi", "abstract", "venue")


class _Header(NamedTuple):
    """A separator, the names of the columns in lower case, and the line of the header."""

    separator: str
    names: tuple[str, ...]
    line: int


class _Row(NamedTuple):
    """A row that fits the header: its line and its non-empty fields by name."""

    line: int
    fields: dict[str, str]

    def first(self, field: str) -> str:
        """Return the value of the first column of a field that has one."""
        return next((self.fields[name] for name in _NAMES[field] if name in self.fields), "")


def _find_header(text: str) -> _Header | None:
    """Return the header: one of the first three lines, with a column of titles and another one.

    Excel may name the separator in a line before it, Dimensions adds a note.
    """
    stripped = text.lstrip("\n")
    for place, line in enumerate(stripped.split("\n", 3)[:3], len(text) - len(stripped) + 1):
        for separator in _SEPARATORS:
            fields = _split_line(line.strip(), separator)
            names = tuple(_NO_LETTER.sub(" ", name.lower()).strip() for name in fields)
            if len(names) > 1:
                known = {field for field, many in _NAMES.items() if set(many) & set(names)}
                is_wos = names[0] == "pt" and {"ti", "so", "ut"} <= set(names)
                is_titled = "title" in known and bool(known.intersection(_WITH_TITLE))
                if is_wos or (is_titled and names[0] != "pt"):
                    return _Header(separator, names, place)
    return None


def _split_line(line: str, separator: str) -> list[str]:
    csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        return next(csv.reader([line.replace("\r", " ")], delimiter=separator), [])
    except csv.Error:
        return []


def _read_rows(lines: list[str], header: _Header, first_line: int) -> Iterator[_Row | Problem]:
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        marks, end = 0, at + 1  # of a row: the line that closes its quotation marks
        for place in range(at, len(lines)):
            marks += lines[place].count('"')
            if marks % 2 == 0:
                end = place + 1
                break
        for stop in dict.fromkeys((end, at + 1)):
            fields = _split_row(lines[at:stop], header)
            if fields is not None:
                break
        if fields is None:
            number, expected = len(_split_line(lines[at], header.separator)), len(header.names)
            what = f"a row of {number} fields: expected {expected}, as in the header"
            yield Problem(first_line + at, what)
        else:
            named: dict[str, str] = {}
            for name, value in zip(header.names, map(fold, fields), strict=True):
                # An apostrophe keeps a spreadsheet from running a formula.
                text = _ESCAPED.sub("", value, count=1) if value.startswith("'") else value
                if text:
                    named.setdefault(name, text)
            yield _Row(first_line + at, named)
        at = stop


def _split_row(lines: list[str], header: _Header) -> list[str] | None:
    """Return the fields of a row, or ``None`` if there are not as many as in the header."""
    try:
        with_ends = [f"{line}\n".replace("\r", " ") for line in lines]
        fields = next(csv.reader(with_ends, delimiter=header.separator))
    except (csv.Error, StopIteration):
        return None
    while len(fields) > len(header.names) and not fields[-1].strip():
        fields.pop()
    return fields if len(fields) == len(header.names) else None


def _split(data: bytes) -> int:
    """Split after the last line end outside quotation marks, if these are closed."""
    last = end = data.rfind(b"\n") + 1
    is_inside = data.count(b'"', 0, end) % 2
    while is_inside and end:
        before = data.rfind(b"\n", 0, end - 1) + 1
        is_inside ^= data.count(b'"', before, end) % 2
        end = before
    return end or (last if last > _MAX_ROW else 0)


# --- Documents --------------------------------------------------------------------------------


def _sniff(head: str) -> bool:
    head = normalise_newlines(head)
    return head[:1] not in "<{[@%" and _find_header(head.removeprefix("\ufeff")) is not None


def _collect_header(data: bytes, context: dict[str, str]) -> None:
    if "header" not in context:
        header = _find_header(normalise_newlines(decode(data[:_HEAD_BYTES])[0]))
        context["header"] = f"{header.separator}{'|'.join(header.names)}" if header else ""


@text_parser
def _parse(text: str, chunk: Chunk) -> Iterator[Record]:
    lines, known = text.split("\n"), chunk.context.get("header")
    if known:
        header = _Header(known[0], tuple(known[1:].split("|")), 0)
    else:
        first = _find_header(text[:_HEAD_BYTES])
        if first is None:
            yield Problem(chunk.line, "no header with a column of titles: expected id, title, …")
            return
        header = first
    for row in _read_rows(lines[header.line :], header, chunk.line + header.line):
        if isinstance(row, Problem):
            yield row
            continue
        record = _wos_document(row) if header.names[0] == "pt" else _document(row)
        yield record
        yield from check_doi(record, row.first("doi"))


def _wos_document(row: _Row) -> Document | Problem:
    """Return the document of a row of Web of Science, whose columns are its tags."""
    tags = [name.upper() for name in row.fields]
    pairs = zip(tags, row.fields.values(), strict=True)
    values = [value.replace("; ", "\n") if tag in WOS_LISTS else value for tag, value in pairs]
    return make_wos_document(make_entry(row.line, tags, values, WOS_LISTS))


_SEPARATED = re.compile(r"\s*[;|]\s*")


def _document(row: _Row) -> Document | Problem:
    title = html_to_text(row.first("title"))
    calibre = row.fields.get("author sort", "").replace(" & ", "; ")  # Doe, Jo & Roe, Al
    authors = parse_name_list(calibre or row.first("authors"))
    date = pick_date(*filter(None, (row.first("year"), row.first("date"))))
    doi, venue = normalise_doi(row.first("doi")), row.first("venue")
    arxiv, url, pmid = row.first("arxiv"), row.first("url"), row.first("pmid")
    doc_id = ""
    if title or authors or doi or "abstract" in row.fields:
        doc_id = (
            row.first("id")
            or (pubmed_doc_id(pmid) if pmid.isdecimal() else doi)
            or generate_key(authors, date[:4] if date else None, title)
        )
    stated_type = row.first("type")
    kind = to_bibtex_type(stated_type.partition(";")[0])
    pages = (
        parse_pages(row.first("pages"))
        or parse_pages(row.first("first page"), row.first("last page"))
        or row.first("article")
    )
    texts = [row.fields[name] for name in _NAMES["keywords"] if name in row.fields]
    words = (_SEPARATED.split(t) if ";" in t or "|" in t else t.split(",") for t in texts)
    return make_document(
        row.line,
        remove_spaces(doc_id),
        "a row without a title, an author, a DOI or an abstract",
        type="article" if kind == "misc" and not stated_type and venue else kind,
        title=title,
        authors=authors,
        editors=parse_name_list(row.first("editors")),
        date=date,
        year=None if date else year_before_1(row.first("year") or row.first("date")),
        venue=venue,
        pages=pages,
        doi=doi,
        arxiv=find_arxiv_id(doi, url, eprint=arxiv) if arxiv_of(arxiv) else find_arxiv_id(doi, url),
        url=url,
        abstract=html_to_text(row.first("abstract")),
        keywords=unique(word.strip() for several in words for word in several),
        keys=collect_cite_keys(ids=map(row.fields.get, _KEYS)),
        groups=unique(_SEPARATED.split(row.first("groups"))),
        **{name: row.first(name) for name in ("volume", "number", "publisher", "language")},
        **{name: row.first(name) for name in ("place", "edition", "isbn")},
    )


CSV = Format("csv", "a table (CSV, TSV)", _sniff, _parse, _split, _collect_header)
