"""CSL-JSON, as Zotero, Pandoc and the Crossref API write it.

Arrays of items, ``{"items": […]}``, a single work, ``{"message": {"items": […]}}`` and JSON
Lines are all understood. See https://docs.citationstyles.org/ and https://api.crossref.org/.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from citebed.collection.formats.fields import arxiv_id, cite_keys, links_to, page_range
from citebed.collection.formats.jsonfiles import json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import JsonObject, as_int, as_object, as_text, name_of
from citebed.records import Document, Problem
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, html_to_text, iso_date

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


def _type(item: JsonObject) -> str:
    found = bibtex_type(item.text("type"))
    masters = found == "phdthesis" and "master" in (item.text("genre") or "").lower()
    return "mastersthesis" if masters else found


def _person(value: Any) -> str:
    """A name from its CSL parts; one that has none (``literal``, ``name``) is a group's."""
    is_group = isinstance(value, dict) and not {"family", "given"} & value.keys()
    return name_from_parts(as_object(value).text("literal", "name")) if is_group else name_of(value)


def _date(value: Any) -> str | None:
    """The ISO date of a CSL date: ``date-parts``, or a text in ``raw`` or ``literal``."""
    if not isinstance(value, dict):
        return date_in(as_text(value))
    given = as_object(value)
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


def _record(item: JsonObject) -> Document | Problem:
    doi = item.doi("DOI", "doi")
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


_ITEMS = partial(json_records, into=frozenset({"items", "message"}))
CSL_JSON = json_format("csl-json", "CSL-JSON and Crossref works", _ITEMS, _record)
