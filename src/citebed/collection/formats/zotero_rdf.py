"""Zotero's RDF export: items, and the journals, books and series that they are part of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format
from citebed.collection.formats.entry_types import bibtex_type
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, one_word, page_range
from citebed.collection.formats.xml import (
    Element,
    attribute,
    below,
    child,
    children,
    first_text,
    inner_text,
    line_of,
    local,
    open_root,
    root_in,
    text_at,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import looks_like_url, normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, filled, unique, year_in

_CONTAINERS = frozenset(("Journal", "Series"))
_NO_ITEMS = _CONTAINERS | {"Attachment", "Collection", "Memo"}
_NO_DOCUMENTS = frozenset(("attachment", "note"))
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


def _sniff(head: str) -> bool:
    name, rest = root_in(head)
    known = ("zotero.org/namespaces/export", "purl.org/net/biblio")
    return name == "RDF" and any(address in rest for address in known)


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
        if kind in _NO_DOCUMENTS or local(item) in _NO_ITEMS:
            others += local(item) not in _CONTAINERS
        elif kind or attribute(item, "about") not in named:
            yield _document(item, kind, known, line_of(item, chunk))
    if others:
        what = f"notes, files and collections are no documents: {others:,} of them"
        yield Problem(chunk.line, what, "ignored")


def _document(item: Element, kind: str, known: Known, line: int) -> Document | Problem:
    within = list(_containers(item, known))
    title, date = text_at(item, "title"), date_in(text_at(item, "date"))
    authors, ids = _people(item, "authors"), list(_identifiers([item, *within]))
    doi = next(filter(None, map(normalise_doi, (i.removeprefix("DOI ") for i in ids))), None)
    url = next(filter(looks_like_url, (*ids, attribute(item, "about"))), None)
    key, year = text_at(item, "citationKey"), year_in(date)
    doc_id = key or doi or made_up_id(authors, year, title)
    if not doc_id:
        return Problem(line, "an item without a title, an author or an identifier")
    first = partial(_first, [item, *within])
    return Document(
        doc_id=one_word(doc_id),
        type=_type(item, kind),
        title=title,
        authors=authors,
        editors=_people(item, "editors"),
        year=year,
        date=date,
        venue=_first(within, "title"),
        volume=first("volume"),
        number=first("number"),
        pages=page_range(text_at(item, "pages")),
        publisher=first_text(below(child(item, "publisher"), "name")) or None,
        doi=doi,
        arxiv=arxiv_id(doi, url),
        url=url,
        abstract=text_at(item, "abstract") or None,
        keywords=unique(_value(subject) for subject in children(item, "subject")),
        language=text_at(item, "language") or None,
        keys=cite_keys([key], notes=[text_at(item, "description")]),
        line=line,
    )


def _type(item: Element, kind: str) -> str:
    """The entry type: what Zotero calls the item, else the name of its element."""
    found = bibtex_type(kind)
    return found if found != "misc" else _TYPES.get(local(item), "misc")


def _containers(item: Element, known: Known) -> Iterator[Element]:
    """What an item is part of, written inside it or elsewhere; a series before its book is not."""
    for part in children(item, "isPartOf"):
        named = known.get(attribute(part, "resource"))
        yield from part if named is None else [named]


def _first(elements: Iterable[Element], name: str) -> str | None:
    return first_text(child for element in elements for child in children(element, name)) or None


def _people(item: Element, role: str) -> tuple[str, ...]:
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


ZOTERO_RDF = Format("zotero-rdf", "Zotero RDF", _sniff, _parse, limit=MAX_XML_BYTES)
