"""OpenAlex works: JSON Lines of the snapshot, or pages of the API (``{"results": […]}``).

See https://docs.openalex.org/api-entities/works/work-object.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from citebed.collection.formats.fields import arxiv_id, bibtex_type, links_to, page_range
from citebed.collection.formats.json_objects import JsonObject, as_object, as_text, json_format
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.records import Document, Problem
from citebed.text.names import name_from_display
from citebed.text.normalise import html_to_text, unique

_WORK = re.compile(r"(?:.*/)?(W[0-9]+)", re.IGNORECASE)


def short_id(text: str | None) -> str | None:
    """``W123`` from ``https://openalex.org/W123``; another id stays as it is."""
    match = _WORK.fullmatch(text) if text else None
    return match[1].upper() if match else text


def abstract_text(index: dict[str, Any]) -> str | None:
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
    entry = as_object(value)
    name = entry.object("author").text("display_name") or entry.text("raw_author_name")
    return name_from_display(name or "")


def _keywords(work: JsonObject) -> tuple[str, ...]:
    """The keywords' names, or where there are none those of the concepts."""
    for name in ("keywords", "concepts"):
        items = unique(
            as_text(item) or as_object(item).text("display_name", "keyword") or ""
            for item in work.elements(name)
        )
        if items:
            return items
    return ()


def _type(work: JsonObject, source: JsonObject) -> str:
    """Crossref's type where it is given; an article of a conference is a paper of it."""
    kind = bibtex_type(work.text("type_crossref", "type"))
    in_conference = kind == "article" and source.text("type") == "conference"
    return "inproceedings" if in_conference else kind


def _record(work: JsonObject) -> Document | Problem:
    ids, location, biblio = map(work.object, ("ids", "primary_location", "biblio"))
    doi = work.doi("doi") or ids.doi("doi")
    doc_id = short_id(work.text("id") or ids.text("openalex")) or doi
    if doc_id is None:
        return work.unknown("an OpenAlex work with 'id'")
    source = location.object("source")
    source = source if source.values else work.object("host_venue")
    places = [place.text("landing_page_url") for place in (location, *work.objects("locations"))]
    year, date = work.when("publication_year", "publication_date")
    abstract = abstract_text(work.object("abstract_inverted_index").values)
    return Document(
        doc_id=doc_id,
        type=_type(work, source),
        title=work.markup("title", "display_name") or "",
        authors=work.people("authorships", _author),
        year=year,
        date=date,
        venue=source.markup("display_name") or location.markup("raw_source_name"),
        volume=biblio.text("volume"),
        number=biblio.text("issue"),
        pages=page_range(biblio.text("first_page"), biblio.text("last_page")),
        publisher=source.text("host_organization_name", "publisher"),
        doi=doi,
        arxiv=arxiv_id(doi, *places),
        url=location.text("landing_page_url"),
        abstract=abstract or work.markup("abstract"),
        keywords=_keywords(work),
        language=work.text("language"),
        links=links_to(map(short_id, work.texts("referenced_works"))),
        line=work.line,
    )


OPENALEX = json_format(
    "openalex",
    "OpenAlex works",
    partial(json_records, into=frozenset({"results"})),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)
