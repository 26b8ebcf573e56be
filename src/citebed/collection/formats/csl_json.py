"""CSL-JSON, as Zotero, Pandoc and the Crossref API write it.

Arrays of items, ``{"items": […]}``, a single work, ``{"message": {"items": […]}}``, JSON Lines
and items under their ids (``{"muster2010": {…}}``) are all understood.
See https://docs.citationstyles.org/ and https://api.crossref.org/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from citebed.collection.formats.base import Chunk, decode
from citebed.collection.formats.entry_types import bibtex_type
from citebed.collection.formats.fields import arxiv_id, cite_keys, links_to, page_range
from citebed.collection.formats.jsonfiles import Member, json_document, json_records
from citebed.collection.formats.jsonkinds import is_keyed, json_format, keys_in
from citebed.collection.formats.jsonvalues import JsonObject, as_int, as_object, as_text, name_of
from citebed.records import Document, Problem
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, html_to_text, iso_date


def _type(item: JsonObject) -> str:
    found = bibtex_type(item.text("type"))
    masters = found == "phdthesis" and "master" in (item.text("genre") or "").lower()
    return "mastersthesis" if masters else found


def _person(value: Any) -> str:
    """A name from its CSL parts; one that has none (``literal``, ``name``) is a group's."""
    is_group = isinstance(value, dict) and not {"family", "given"} & value.keys()
    return name_from_parts(as_object(value).text("literal", "name")) if is_group else name_of(value)


def _date(value: Any) -> str | None:
    """The ISO date of a CSL date: ``date-parts``, or a text in ``raw`` or ``literal``.

    Pandoc's older YAML has a list of ``year``, ``month`` and ``day``.
    """
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), value)
    if not isinstance(value, dict):
        return date_in(as_text(value))
    given = as_object(value)
    if "year" in value:
        return iso_date(*(as_int(value.get(name)) for name in ("year", "month", "day")))
    parts = next((part for part in given.elements("date-parts") if isinstance(part, list)), [])
    numbers = [as_int(part) for part in parts[:3]] + [None, None, None]
    date = iso_date(numbers[0], numbers[1], numbers[2])
    return date or date_in(given.text("raw", "literal", "date-time"))


def _title(item: JsonObject) -> str:
    """Title and subtitle with a colon between, unless the title has the subtitle already."""
    title, subtitle = item.markup("title") or "", item.markup("subtitle")
    if not subtitle or title.lower().endswith(subtitle.lower()):
        return title
    return f"{title.rstrip(' :')}: {subtitle}" if title else subtitle


def _arxiv(item: JsonObject, doi: str | None) -> str | None:
    """The arXiv id; a preprint of Zotero's has it as a number or as its place in the archive."""
    in_archive = "arxiv" in (item.text("archive", "publisher") or "").lower()
    named = [item.text(name) for name in ("URL", "number", "note", "container-title")]
    return arxiv_id(doi, *named, eprint=item.text("archive_location") if in_archive else None)


_KEYS = ("citation-key", "citationKey", "citekey")
_DATES = ("issued", "published-print", "published", "published-online")
# A heading of the abstract that only says so.
_HEADING = re.compile(
    r"^\s*<(?:\w+:)?title>\s*(?:abstract|summary)\s*</(?:\w+:)?title>", re.IGNORECASE
)


def csl_record(item: JsonObject) -> Document | Problem:
    """The document of a CSL item, whatever syntax it was written in."""
    doi = item.doi("DOI", "doi", "URL", "url")
    doc_id = item.text("id") or doi or item.text("DOI", *_KEYS)
    if doc_id is None:
        return item.unknown("a CSL-JSON item with 'id', 'DOI' or 'citation-key'")
    date = next(filter(None, (_date(item.values.get(name)) for name in _DATES)), None)
    return Document(
        doc_id=doc_id,
        type=_type(item),
        title=_title(item),
        authors=item.people("author", _person),
        editors=item.people("editor", _person),
        year=int(date[:4]) if date else None,
        date=date,
        venue=item.markup("container-title") or item.object("event").text("name"),
        volume=item.text("volume"),
        number=item.text("issue", "number"),
        pages=page_range(item.text("page", "article-number")),
        publisher=item.markup("publisher"),
        doi=doi,
        arxiv=_arxiv(item, doi),
        url=item.text("URL", "url"),
        abstract=html_to_text(_HEADING.sub("", item.text("abstract") or "")) or None,
        keywords=item.keywords("keyword", "subject"),
        language=item.text("language"),
        keys=cite_keys(map(item.text, _KEYS), [item.text("id")], map(item.text, ("note", "extra"))),
        links=links_to(entry.doi("DOI", "doi") for entry in item.objects("reference")),
        line=item.line,
    )


_HEAD_BYTES = 16 << 10


def _items(chunk: Chunk) -> Iterator[JsonObject | Problem]:
    keys = keys_in(decode(chunk.data[:_HEAD_BYTES])[0])
    if keys is not None and is_keyed(keys):
        return (
            item if isinstance(item, Problem) else _named(item) for item in json_document(chunk)
        )
    return json_records(chunk, into=frozenset({"items", "message"}))


def _named(member: Member) -> JsonObject | Problem:
    """An item that stands under its id."""
    if isinstance(member.value, dict):
        return JsonObject(member.line, {"id": member.key, **member.value})
    return Problem(member.line, f"expected a CSL-JSON item under the id '{member.key}'")


CSL_JSON = json_format("csl-json", "CSL-JSON and Crossref works", _items, csl_record)
