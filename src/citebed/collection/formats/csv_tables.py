"""Tables with a header, as CSV or TSV: Scopus, IEEE Xplore, Web of Science, Zotero, CORD-19's
metadata, citebed's own, or anybody's with a column of titles.

Columns go by their names, in lower case; those that no field is made of are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, decode, read_text, with_newlines
from citebed.collection.formats.csv_rows import Header, Row, cut, headers, rows
from citebed.collection.formats.entry_types import bibtex_type
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, no_doi, one_word
from citebed.collection.formats.nbib import pubmed_id
from citebed.collection.formats.tagged import best_date, entry_of, pages_of, people_in
from citebed.collection.formats.web_of_science import LISTS, wos_document
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import arxiv_of, normalise_doi
from citebed.text.normalise import html_to_text, unique

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
}
_NAMES = {field: names.split("|") for field, names in _COLUMNS.items()}
_KEYS = ("citation key", "citekey", "bibtex key", "key", "doc id", "id")
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


def _parse(chunk: Chunk) -> Iterator[Record]:
    """A document for each row."""
    text, problems = read_text(chunk)
    yield from problems
    text = with_newlines(text)
    lines, carried = text.split("\n"), chunk.macros.get("header")
    if carried:
        header, skipped = Header(carried[0], tuple(carried[1:].split("|")), 0), 0
    else:
        found = _header(text[:_HEAD_BYTES])
        if found is None:
            yield Problem(chunk.line, "no header with a column of titles: expected id, title, …")
            return
        header, skipped = found, found.line
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
        pairs += [(tag, v) for v in (value.split("; ") if tag in LISTS else [value])]
    return wos_document(entry_of(row.line, pairs))


def _document(row: Row) -> Document | Problem:
    title = html_to_text(_first(row, "title"))
    authors = people_in(_first(row, "authors"))
    date = best_date(*filter(None, (_first(row, "year"), _first(row, "date"))))
    doi, venue = normalise_doi(_first(row, "doi")), _first(row, "venue") or None
    arxiv, url = _first(row, "arxiv"), _first(row, "url")
    number = _first(row, "pmid")
    doc_id = (
        _first(row, "id")
        or (pubmed_id(number) if number.isdecimal() else doi)
        or made_up_id(authors, date[:4] if date else None, title)
    )
    if not doc_id or not (title or authors or doi or row.fields.keys() & {"abstract"}):
        return Problem(row.line, "a row without a title, an author, a DOI or an abstract")
    return Document(
        doc_id=one_word(doc_id),
        type=_type(row, venue),
        title=title,
        authors=authors,
        editors=people_in(_first(row, "editors")),
        year=int(date[:4]) if date else None,
        date=date,
        venue=venue,
        volume=_first(row, "volume") or None,
        number=_first(row, "number") or None,
        pages=_pages(row),
        publisher=_first(row, "publisher") or None,
        doi=doi,
        arxiv=arxiv_id(doi, url, eprint=arxiv) if arxiv_of(arxiv) else arxiv_id(doi, url),
        url=url or None,
        abstract=html_to_text(_first(row, "abstract")) or None,
        keywords=_keywords(row),
        language=_first(row, "language") or None,
        keys=cite_keys(ids=map(row.fields.get, _KEYS)),
        line=row.line,
    )


def _first(row: Row, field: str) -> str:
    """The value of the first column of a field that has one."""
    return next((row.fields[name] for name in _NAMES[field] if name in row.fields), "")


def _type(row: Row, venue: str | None) -> str:
    """The entry type that is named, in words or as BibTeX has it; else told by the venue."""
    named = _first(row, "type")
    found = bibtex_type(named.partition(";")[0])
    return "article" if found == "misc" and not named and venue else found


def _pages(row: Row) -> str | None:
    ends = pages_of(_first(row, "first page"), _first(row, "last page"))
    return pages_of(_first(row, "pages")) or ends or _first(row, "article") or None


_PARTED = re.compile(r"\s*[;|]\s*")


def _keywords(row: Row) -> tuple[str, ...]:
    texts = [row.fields[name] for name in _NAMES["keywords"] if name in row.fields]
    parted = [_PARTED.split(t) if ";" in t or "|" in t else t.split(",") for t in texts]
    return unique(word.strip() for words in parted for word in words)


CSV = Format("csv", "a table (CSV, TSV)", _sniff, _parse, cut, _carry)
