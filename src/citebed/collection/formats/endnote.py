"""EndNote's XML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.fields import (
    arxiv_id,
    bibtex_type,
    cite_keys,
    document,
    made_up_id,
    one_word,
)
from citebed.collection.formats.tagged import best_date, date_in_words, pages_of, people
from citebed.collection.formats.xml import (
    Element,
    below,
    child,
    children,
    has_root,
    inner_text,
    text_at,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Record
from citebed.text.identifiers import normalise_doi
from citebed.text.normalise import fold, unique

_RECORDS = r"<records?\b[^<>]*>\s*<(?:record|database|source-app)\b"
_PLAIN = ("volume", "number", "publisher", "abstract", "language")


def _read(record: Element, line: int) -> Record:
    """The document of a record; one without title, author or identifier is skipped."""
    named = child(record, "ref-type")
    kind = named.get("name") or inner_text(named) if named is not None else None
    title = text_at(record, "titles", "title")
    authors, editors = _people(record, "authors"), _people(record, "secondary-authors")
    date = _date(record)
    urls = list(_urls(record))
    stated = map(normalise_doi, (text_at(record, "electronic-resource-num"), *urls))
    doi = next(filter(None, stated), None)
    label, number = text_at(record, "label"), text_at(record, "accession-num")
    doc_id = label or doi or number
    if not doc_id and (title or authors or editors):
        doc_id = made_up_id(authors or editors, date[:4] if date else None, title)
    # Some write their keywords into one element, in lines or with ; between them.
    keywords = ("".join(map(str, e.itertext())) for e in below(record, "keyword"))
    return document(
        line,
        one_word(doc_id),
        type=bibtex_type(kind),
        title=title,
        authors=authors,
        editors=editors,
        date=date,
        venue=text_at(record, "titles", "secondary-title")
        or text_at(record, "periodical", "full-title")
        or text_at(record, "alt-periodical", "full-title"),
        **{name: text_at(record, name) for name in _PLAIN},
        pages=pages_of(text_at(record, "pages")),
        doi=doi,
        arxiv=arxiv_id(doi, *urls),
        url=next(iter(urls), None),
        keywords=unique(fold(word) for text in keywords for word in re.split(r"[;\n\r]", text)),
        keys=cite_keys(ids=[label], notes=[text_at(record, "notes")]),
    )


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


ENDNOTE_XML = xml_records(
    *("endnote-xml", "EndNote XML", has_root("xml", "records", holding=_RECORDS)),
    Names(("record",), ("xml", "records")),
    _read,
)
