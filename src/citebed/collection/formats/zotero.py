"""Zotero's own exports: RDF, where items name the journals, books and series that they are part of,
and JSON as Better BibTeX exports it or the Zotero API gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format
from citebed.collection.formats.fields import (
    arxiv_id,
    bibtex_type,
    cite_keys,
    document,
    made_up_id,
    one_word,
    page_range,
)
from citebed.collection.formats.json_objects import JsonObject, json_format
from citebed.collection.formats.jsonfiles import json_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    below,
    child,
    children,
    first_text,
    has_root,
    inner_text,
    line_of,
    local,
    open_root,
    text_at,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import looks_like_url, normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, filled, unique, year_before_1, year_in

_CONTAINERS = frozenset(("Journal", "Series"))
_NO_ITEMS = _CONTAINERS | {"Attachment", "Collection", "Memo"}
_RDF_NO_DOCUMENTS = frozenset(("attachment", "note"))
_TYPES = {
    "Article": "article",
    "Book": "book",
    "BookSection": "incollection",
    "Thesis": "phdthesis",
    "Report": "techreport",
    "Manuscript": "unpublished",
}

Known = dict[str, Element]
"""What other elements name by its address."""


def _parse(chunk: Chunk) -> Iterator[Record]:
    """A document for each item; containers, notes, files and collections are none."""
    root, problems = open_root(chunk, "RDF")
    yield from problems
    items = [] if root is None else [item for item in root if local(item)]
    known = {about: item for item in items if (about := attribute(item, "about"))}
    named = {attribute(part, "resource") for i in items for part in children(i, "isPartOf")}
    others = 0
    for item in items:
        kind = text_at(item, "itemType")
        if kind in _RDF_NO_DOCUMENTS or local(item) in _NO_ITEMS:
            others += local(item) not in _CONTAINERS
        elif kind or attribute(item, "about") not in named:
            yield _document(item, kind, known, line_of(item, chunk))
    if others:
        what = f"notes, files and collections are no documents: {others:,} of them"
        yield Problem(chunk.line, what, "ignored")


def _document(item: Element, kind: str, known: Known, line: int) -> Document | Problem:
    within = list(_containers(item, known))
    title, date = text_at(item, "title"), date_in(text_at(item, "date"))
    authors, ids = _rdf_people(item, "authors"), list(_identifiers([item, *within]))
    doi = next(filter(None, map(normalise_doi, (i.removeprefix("DOI ") for i in ids))), None)
    url = next(filter(looks_like_url, (*ids, attribute(item, "about"))), None)
    key, year = text_at(item, "citationKey"), year_in(date) or year_before_1(text_at(item, "date"))
    doc_id = key or doi or made_up_id(authors, year, title)
    first = partial(_first, [item, *within])
    return document(
        line,
        one_word(doc_id),
        "an item without a title, an author or an identifier",
        # What Zotero calls the item, else the name of its element.
        type=_TYPES.get(local(item), "misc") if bibtex_type(kind) == "misc" else bibtex_type(kind),
        title=title,
        authors=authors,
        editors=_rdf_people(item, "editors"),
        year=year,
        date=date,
        venue=_first(within, "title"),
        volume=first("volume"),
        number=first("number"),
        pages=page_range(text_at(item, "pages")),
        publisher=first_text(below(child(item, "publisher"), "name")),
        place=first_text(below(child(item, "publisher"), "locality")),
        edition=text_at(item, "edition"),
        isbn=next((i.split(" ", 1)[1] for i in ids if i.startswith(("ISBN ", "ISSN "))), None),
        doi=doi,
        arxiv=arxiv_id(doi, url),
        url=url,
        abstract=text_at(item, "abstract"),
        keywords=unique(_value(subject) for subject in children(item, "subject")),
        language=text_at(item, "language"),
        keys=cite_keys([key], notes=[text_at(item, "description")]),
    )


def _containers(item: Element, known: Known) -> Iterator[Element]:
    """What an item is part of, written inside it or elsewhere; a series before its book is not."""
    for part in children(item, "isPartOf"):
        named = known.get(attribute(part, "resource"))
        yield from part if named is None else [named]


def _first(elements: Iterable[Element], name: str) -> str:
    return first_text(child for element in elements for child in children(element, name))


def _rdf_people(item: Element, role: str) -> tuple[str, ...]:
    return filled(
        name_from_parts(text_at(person, "surname"), text_at(person, "givenName"))
        for person in below(child(item, role), "Person")
    )


def _identifiers(elements: Iterable[Element]) -> Iterator[str]:
    """Numbers and addresses: bare, or as the value of something (``<dcterms:URI>``)."""
    for element in elements:
        for identifier in children(element, "identifier"):
            yield _value(identifier)


def _value(element: Element) -> str:
    return first_text(below(element, "value")) or inner_text(element)


_NAMESPACES = r"zotero\.org/namespaces/export|purl\.org/net/biblio"
ZOTERO_RDF = Format(
    *("zotero-rdf", "Zotero RDF", has_root("RDF", holding=_NAMESPACES)), _parse, limit=MAX_XML_BYTES
)


# --- JSON -------------------------------------------------------------------------------------


_JSON_NO_DOCUMENTS = frozenset(("attachment", "note", "annotation"))
_AUTHORS = frozenset(
    ("author", "artist", "inventor", "programmer", "presenter", "director", "podcaster")
)
_VENUES = (
    *("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "websiteTitle"),
    *("blogTitle", "forumTitle", "encyclopediaTitle", "dictionaryTitle", "repository", "series"),
)


def _record(whole: JsonObject) -> Document | Problem:
    """The document of an item, which the API wraps in ``data``."""
    item = whole.object("data") if whole.object("data").values else whole
    kind = item.text("itemType") or ""
    if kind in _JSON_NO_DOCUMENTS:
        return Problem(whole.line, f"an item of the type {kind} is no document", "ignored")
    title, date = item.markup("title") or "", date_in(item.text("date"))
    authors, doi = _json_people(item, authors=True), item.doi("DOI")
    keys = (item.text("citationKey", "citekey"), item.text("key", "itemKey"))
    doc_id = keys[0] or doi or keys[1] or made_up_id(authors, date[:4] if date else None, title)
    if not doc_id:
        return whole.unknown("an item with 'citationKey', 'DOI', 'key', 'title' or 'creators'")
    return document(
        *(whole.line, one_word(doc_id)),
        type=bibtex_type(kind),
        title=title,
        authors=authors,
        editors=_json_people(item, authors=False),
        date=date,
        year=None if date else year_before_1(item.text("date")),
        venue=item.markup(*_VENUES),
        volume=item.text("volume"),
        number=item.text("issue", "number"),
        pages=page_range(item.text("pages")),
        publisher=item.text("publisher", "university", "institution"),
        place=item.text("place"),
        edition=item.text("edition"),
        isbn=item.text("ISBN", "ISSN"),
        doi=doi,
        arxiv=arxiv_id(doi, item.text("url"), item.text("archiveID"), item.text("extra")),
        url=item.text("url"),
        abstract=item.markup("abstractNote"),
        keywords=unique(tag.text("tag") or "" for tag in item.objects("tags")),
        language=item.text("language"),
        keys=cite_keys(keys[:1], notes=[item.text("extra")]),
    )


def _json_people(item: JsonObject, *, authors: bool) -> tuple[str, ...]:
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
