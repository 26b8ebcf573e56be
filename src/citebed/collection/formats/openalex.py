"""OpenAlex works: JSON Lines of the snapshot, or pages of the API (``{"results": […]}``).

See https://docs.openalex.org/api-entities/works/work-object.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from citebed.collection.formats.csl_json import bibtex_type
from citebed.collection.formats.fields import page_range
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import (
    Json,
    as_text,
    doi_of,
    list_of,
    markup_of,
    names_of,
    object_of,
    text_of,
    texts_of,
    unknown_object,
    when,
    year_of,
)
from citebed.records import Document, Link, Problem
from citebed.text.names import name_from_display
from citebed.text.normalise import html_to_text, unique

_WORK = re.compile(r"(?:.*/)?(W[0-9]+)", re.IGNORECASE)


def short_id(text: str | None) -> str | None:
    """``W123`` from ``https://openalex.org/W123``; another id stays as it is."""
    match = _WORK.fullmatch(text) if text else None
    return match[1].upper() if match else text


def abstract_text(index: Json) -> str | None:
    """The abstract that an inverted index (word to positions) spells out.

    Words are put in the order of their positions, so gaps and huge positions cost nothing;
    positions that are no whole numbers are left out.
    """
    placed = [
        (place, word)
        for word, places in index.items()
        for place in (places if isinstance(places, list) else [places])
        if isinstance(place, int) and not isinstance(place, bool)
    ]
    placed.sort(key=lambda pair: pair[0])
    return html_to_text(" ".join(word for _, word in placed)) or None


def _author(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    name = text_of(object_of(value, "author"), "display_name") or text_of(value, "raw_author_name")
    return name_from_display(name or "")


def _keywords(work: Json) -> tuple[str, ...]:
    """The keywords' names, or where there are none those of the concepts."""
    for name in ("keywords", "concepts"):
        found = unique(
            (text_of(item, "display_name", "keyword") if isinstance(item, dict) else as_text(item))
            or ""
            for item in list_of(work, name)
        )
        if found:
            return found
    return ()


def _pages(biblio: Json) -> str | None:
    return page_range(text_of(biblio, "first_page"), text_of(biblio, "last_page"))


def _type(work: Json, source: Json) -> str:
    """Crossref's type where it is given; an article of a conference is a paper of it."""
    found = bibtex_type(text_of(work, "type_crossref", "type"))
    in_conference = found == "article" and text_of(source, "type") == "conference"
    return "inproceedings" if in_conference else found


def _links(work: Json) -> tuple[Link, ...]:
    cited = (short_id(target) or "" for target in texts_of(work, "referenced_works"))
    return tuple(Link(target) for target in unique(cited))


def _record(line: int, work: Json) -> Document | Problem:
    doi = doi_of(work, "doi") or doi_of(object_of(work, "ids"), "doi")
    doc_id = short_id(text_of(work, "id") or text_of(object_of(work, "ids"), "openalex")) or doi
    if doc_id is None:
        return unknown_object(line, work, "an OpenAlex work with 'id'")
    return _document(work, doc_id)._replace(doi=doi, line=line)


def _document(work: Json, doc_id: str) -> Document:
    location, biblio = object_of(work, "primary_location"), object_of(work, "biblio")
    source = object_of(location, "source") or object_of(work, "host_venue")
    year, date = when(text_of(work, "publication_date"), year_of(work, "publication_year"))
    index = object_of(work, "abstract_inverted_index")
    return Document(
        doc_id=doc_id,
        type=_type(work, source),
        title=markup_of(work, "title", "display_name") or "",
        authors=names_of(work, "authorships", _author),
        year=year,
        date=date,
        venue=markup_of(source, "display_name") or markup_of(location, "raw_source_name"),
        volume=text_of(biblio, "volume"),
        number=text_of(biblio, "issue"),
        pages=_pages(biblio),
        publisher=text_of(source, "host_organization_name", "publisher"),
        url=text_of(location, "landing_page_url"),
        abstract=abstract_text(index) or markup_of(work, "abstract"),
        keywords=_keywords(work),
        language=text_of(work, "language"),
        links=_links(work),
    )


OPENALEX = json_format(
    "openalex",
    "OpenAlex works",
    partial(json_records, into=frozenset({"results"})),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)
