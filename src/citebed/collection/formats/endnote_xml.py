"""EndNote's XML export: ``<xml><records><record>``, text often inside ``<style>``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.entry_types import bibtex_type
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, one_word
from citebed.collection.formats.tagged import best_date, date_in_words, pages_of, people
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


def _sniff(head: str) -> bool:
    name, rest = root_in(head)
    return name in ("xml", "records") and _RECORDS.search(rest) is not None


def _read(record: Element, line: int) -> Iterator[Record]:
    """The document of a record; one without title, author or identifier is skipped."""
    document = _document(record)
    if document.doc_id:
        yield document._replace(line=line)
    else:
        yield Problem(line, "record without title, author or identifier")


def _document(record: Element) -> Document:
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
    found = (inner_text(url).partition(" ")[0] for place in places for url in below(place, "url"))
    return filter(None, found)


def _doi(record: Element) -> str | None:
    values = (text_at(record, "electronic-resource-num"), *_urls(record))
    return next(filter(None, map(normalise_doi, values)), None)


def _keywords(record: Element) -> tuple[str, ...]:
    """The keywords, which some write into one element, in lines or with ``;`` between them."""
    texts = ("".join(map(str, e.itertext())) for e in below(record, "keyword"))
    return unique(fold(word) for text in texts for word in re.split(r"[;\n\r]", text))


ENDNOTE_XML = xml_records(
    *("endnote-xml", "EndNote XML", _sniff),
    Names(("record",), ("xml", "records")),
    _read,
)
