"""CSL-JSON, as Zotero, Pandoc and the Crossref API write it.

Arrays of items, ``{"items": […]}``, a single work, ``{"message": {"items": […]}}`` and JSON
Lines are all understood. See https://docs.citationstyles.org/ and https://api.crossref.org/.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from citebed.collection.formats.fields import page_range
from citebed.collection.formats.jsonfiles import json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import (
    Json,
    as_int,
    as_text,
    doi_of,
    keywords_of,
    list_of,
    markup_of,
    name_of,
    names_of,
    object_of,
    objects_of,
    text_of,
    unknown_object,
)
from citebed.records import Document, Link, Problem
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, iso_date, unique

_TYPES = {
    "article": "article article-journal article-magazine article-newspaper journal-article review "
    "review-book letter editorial erratum peer-review",
    "inproceedings": "paper-conference proceedings-article",
    "proceedings": "proceedings conference",
    "incollection": "chapter book-chapter book-section book-part book-track entry "
    "entry-encyclopedia entry-dictionary reference-entry",
    "book": "book monograph edited-book reference-book book-set book-series",
    "phdthesis": "thesis dissertation",
    "techreport": "report report-component report-series standard",
    "unpublished": "manuscript",
}
_BIBTEX = {name: bibtex for bibtex, names in _TYPES.items() for name in names.split()}


def bibtex_type(name: str | None) -> str:
    """The BibTeX entry type of a CSL, Crossref or OpenAlex type; ``misc`` for all others."""
    return _BIBTEX.get((name or "").lower(), "misc")


def _type(item: Json) -> str:
    found = bibtex_type(text_of(item, "type"))
    masters = found == "phdthesis" and "master" in (text_of(item, "genre") or "").lower()
    return "mastersthesis" if masters else found


def _person(value: Any) -> str:
    """A name from its CSL parts; one that has none (``literal``, ``name``) is a group's."""
    is_group = isinstance(value, dict) and not {"family", "given"} & value.keys()
    return name_from_parts(text_of(value, "literal", "name")) if is_group else name_of(value)


def _date(value: Any) -> str | None:
    """The ISO date of a CSL date: ``date-parts``, or a text in ``raw`` or ``literal``."""
    if not isinstance(value, dict):
        return date_in(as_text(value))
    parts = next((part for part in list_of(value, "date-parts") if isinstance(part, list)), [])
    numbers = [as_int(part) for part in parts[:3]] + [None, None, None]
    date = iso_date(numbers[0], numbers[1], numbers[2])
    return date or date_in(text_of(value, "raw", "literal", "date-time"))


_DATES = ("issued", "published-print", "published", "published-online")


def _issued(item: Json) -> str | None:
    return next((date for name in _DATES if (date := _date(item.get(name)))), None)


def _title(item: Json) -> str:
    """Title and subtitle with a colon between, unless the title has the subtitle already."""
    title, subtitle = markup_of(item, "title") or "", markup_of(item, "subtitle")
    if not subtitle or title.lower().endswith(subtitle.lower()):
        return title
    return f"{title.rstrip(' :')}: {subtitle}" if title else subtitle


_ABSTRACT_HEADING = re.compile(
    r"^\s*<(?:\w+:)?title>\s*(?:abstract|summary)\s*</(?:\w+:)?title>", re.IGNORECASE
)


def _abstract(item: Json) -> str | None:
    """The abstract without its markup and without a heading that only says so."""
    text = text_of(item, "abstract")
    return markup_of({"abstract": _ABSTRACT_HEADING.sub("", text)}, "abstract") if text else None


def _links(item: Json) -> tuple[Link, ...]:
    """The references that have a DOI (Crossref's ``reference``)."""
    dois = (doi_of(entry, "DOI", "doi") or "" for entry in objects_of(item, "reference"))
    return tuple(Link(doi) for doi in unique(dois))


def _record(line: int, item: Json) -> Document | Problem:
    doi = doi_of(item, "DOI", "doi")
    doc_id = text_of(item, "id") or doi or text_of(item, "DOI", "citation-key", "citekey")
    if doc_id is None:
        return unknown_object(line, item, "a CSL-JSON item with 'id', 'DOI' or 'citation-key'")
    return _document(item, doc_id)._replace(doi=doi, line=line)


def _document(item: Json, doc_id: str) -> Document:
    date = _issued(item)
    return Document(
        doc_id=doc_id,
        type=_type(item),
        title=_title(item),
        authors=names_of(item, "author", _person),
        editors=names_of(item, "editor", _person),
        year=int(date[:4]) if date else None,
        date=date,
        venue=markup_of(item, "container-title") or text_of(object_of(item, "event"), "name"),
        volume=text_of(item, "volume"),
        number=text_of(item, "issue", "number"),
        pages=page_range(text_of(item, "page", "article-number")),
        publisher=markup_of(item, "publisher"),
        url=text_of(item, "URL", "url"),
        abstract=_abstract(item),
        keywords=keywords_of(item, "keyword", "subject"),
        language=text_of(item, "language"),
        links=_links(item),
    )


_ITEMS = partial(json_records, into=frozenset({"items", "message"}))
CSL_JSON = json_format("csl-json", "CSL-JSON and Crossref works", _ITEMS, _record)
