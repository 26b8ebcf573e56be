"""Zotero's own JSON: what Better BibTeX exports as JSON, and items of the Zotero API."""

from __future__ import annotations

from functools import partial

from citebed.collection.formats.entry_types import bibtex_type
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, one_word, page_range
from citebed.collection.formats.jsonfiles import json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import JsonObject
from citebed.records import Document, Problem
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, filled, unique

_NO_DOCUMENTS = frozenset(("attachment", "note", "annotation"))
_AUTHORS = frozenset(
    ("author", "artist", "inventor", "programmer", "presenter", "director", "podcaster")
)
_VENUES = (
    *("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "websiteTitle"),
    *("blogTitle", "forumTitle", "encyclopediaTitle", "dictionaryTitle", "repository", "series"),
)


def _record(given: JsonObject) -> Document | Problem:
    """The document of an item, which the API wraps in ``data``."""
    item = given.object("data") if given.object("data").values else given
    kind = item.text("itemType") or ""
    if kind in _NO_DOCUMENTS:
        return Problem(given.line, f"an item of the type {kind} is no document", "ignored")
    title, date = item.markup("title") or "", date_in(item.text("date"))
    authors, doi = _people(item, authors=True), item.doi("DOI")
    keys = (item.text("citationKey", "citekey"), item.text("key", "itemKey"))
    doc_id = keys[0] or doi or keys[1] or made_up_id(authors, date[:4] if date else None, title)
    if not doc_id:
        return given.unknown("an item with 'citationKey', 'DOI', 'key', 'title' or 'creators'")
    return Document(
        doc_id=one_word(doc_id),
        type=bibtex_type(kind),
        title=title,
        authors=authors,
        editors=_people(item, authors=False),
        year=int(date[:4]) if date else None,
        date=date,
        venue=item.markup(*_VENUES),
        volume=item.text("volume"),
        number=item.text("issue", "number"),
        pages=page_range(item.text("pages")),
        publisher=item.text("publisher", "university", "institution"),
        doi=doi,
        arxiv=arxiv_id(doi, item.text("url"), item.text("archiveID"), item.text("extra")),
        url=item.text("url"),
        abstract=item.markup("abstractNote"),
        keywords=unique(tag.text("tag") or "" for tag in item.objects("tags")),
        language=item.text("language"),
        keys=cite_keys(keys[:1], notes=[item.text("extra")]),
        line=given.line,
    )


def _people(item: JsonObject, *, authors: bool) -> tuple[str, ...]:
    """The creators who count as authors, or the editors."""
    roles = _AUTHORS if authors else {"editor"}
    chosen = (c for c in item.objects("creators") if (c.text("creatorType") or "author") in roles)
    return filled(
        name_from_parts(c.text("lastName"), c.text("firstName")) or c.text("name") or ""
        for c in chosen
    )


ZOTERO_JSON = json_format(
    "zotero-json",
    "Zotero's JSON (Better BibTeX, API)",
    partial(json_records, into=frozenset({"items"})),
    _record,
)
