"""Exports of Zotero: RDF, and JSON as Better BibTeX exports it or the Zotero API returns it.

In RDF, an item refers to the journal, book or series that contains it. Books of Calibre become
items of Zotero's API, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.fields import (
    collect_cite_keys,
    find_arxiv_id,
    format_pages,
    generate_key,
    make_document,
    remove_spaces,
    to_bibtex_type,
)
from citebed.collection.formats.json_files import JsonObject, as_object, as_text, json_format
from citebed.collection.formats.xml import (
    Element,
    attribute,
    child,
    children,
    descendants,
    first_text,
    inner_text,
    local_name,
    source_line,
    text_at,
    xml_format,
)
from citebed.records import Document, Problem, Record, Section
from citebed.text.identifiers import looks_like_url, normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import (
    date_in,
    filled,
    html_to_text,
    unique,
    year_before_1,
)
from citebed.wording import count

# --- RDF --------------------------------------------------------------------------------------

_CONTAINERS = frozenset(("Journal", "Series"))
_OTHER_ELEMENTS = frozenset(("Attachment", "Collection", "Memo"))
_OTHER_TYPES = frozenset(("attachment", "note", "annotation"))
_TYPES = {
    "Article": "journalArticle", "Book": "book", "BookSection": "bookSection", "Thesis": "thesis",
    "Report": "report", "Manuscript": "manuscript",
}  # fmt: skip
_NAMESPACES = r"zotero\.org/namespaces/export|purl\.org/net/biblio"


def _parse_rdf(root: Element, chunk: Chunk) -> Iterator[Record]:
    items = [item for item in root if local_name(item)]
    by_address = {about: item for item in items if (about := attribute(item, "about"))}
    parts = (part for item in items for part in children(item, "isPartOf"))
    containers = {attribute(part, "resource") for part in parts}
    others = 0
    for item in items:
        kind = text_at(item, "itemType")
        if local_name(item) in _CONTAINERS:
            continue
        if kind in ("attachment", "note") or local_name(item) in _OTHER_ELEMENTS:
            others += 1
        elif kind or attribute(item, "about") not in containers:
            yield _parse_rdf_item(item, kind, by_address, source_line(item, chunk))
    if others:
        what = f"{count(others, 'item')} ignored: notes, files and collections are not documents"
        yield Problem(chunk.line, what, "ignored")


def _parse_rdf_item(
    item: Element, kind: str, by_address: dict[str, Element], line: int
) -> Document | Problem:
    within: list[Element] = []  # inside the item or elsewhere; a book before its series
    for part in children(item, "isPartOf"):
        container = by_address.get(attribute(part, "resource"))
        within += part if container is None else [container]

    def first(name: str, elements: Iterable[Element] = (item, *within)) -> str:
        return first_text(kid for element in elements for kid in children(element, name))

    identifiers = (e for part in (item, *within) for e in children(part, "identifier"))
    ids = [*map(_text_or_value, identifiers)]
    publisher = child(item, "publisher")
    values = {
        "itemType": kind if to_bibtex_type(kind) != "misc" else _TYPES.get(local_name(item)),
        "title": text_at(item, "title"), "date": text_at(item, "date"),
        "creators": [
            {"creatorType": role.removesuffix("s"), "lastName": text_at(person, "surname"),
             "firstName": text_at(person, "givenName")}
            for role in ("authors", "editors")
            for person in descendants(child(item, role), "Person")
        ],
        "citationKey": text_at(item, "citationKey"), "extra": text_at(item, "description"),
        "publicationTitle": first("title", within), "volume": first("volume"),
        "issue": first("number"), "pages": text_at(item, "pages"),
        "publisher": first_text(descendants(publisher, "name")),
        "place": first_text(descendants(publisher, "locality")),
        "edition": text_at(item, "edition"),
        "ISBN": next((i.split(" ", 1)[1] for i in ids if i.startswith(("ISBN ", "ISSN "))), None),
        "DOI": next(filter(None, map(normalise_doi, (i.removeprefix("DOI ") for i in ids))), None),
        "url": next(filter(looks_like_url, (*ids, attribute(item, "about"))), None),
        "abstractNote": text_at(item, "abstract"), "language": text_at(item, "language"),
        "tags": [{"tag": _text_or_value(tag)} for tag in children(item, "subject")],
    }  # fmt: skip
    return _parse_json_item(JsonObject(line, values))


def _text_or_value(element: Element) -> str:
    """Return the text of an element, or of a value in it (``<dcterms:URI>``)."""
    return first_text(descendants(element, "value")) or inner_text(element)


ZOTERO_RDF = xml_format("zotero-rdf", "Zotero RDF", ("RDF",), _parse_rdf, _NAMESPACES)


# --- JSON -------------------------------------------------------------------------------------

_AUTHORS = frozenset((
    *("author", "artist", "inventor", "programmer", "presenter", "director", "podcaster"),
    *("cartographer", "interviewee", "performer", "composer", "sponsor"),
))  # fmt: skip
_VENUES = (
    *("publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "websiteTitle"),
    *("blogTitle", "forumTitle", "encyclopediaTitle", "dictionaryTitle", "programTitle", "code"),
    *("repository", "series"),
)
_DATES = ("date", "dateDecided", "dateEnacted", "issueDate")
_TITLES = ("title", "caseName", "nameOfAct", "subject")
_PUBLISHERS = (
    "publisher",
    "university",
    "institution",
    "company",
    "studio",
    "label",
    "distributor",
)
_DOI_IN_EXTRA = re.compile(r"^\s*DOI\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


def parse_attached_to(context: Mapping[str, str]) -> Document | None:
    """Return the item that a PDF is attached to, if its library says so."""
    values = json.loads(context.get("item", "null"))
    parent = _parse_json_item(JsonObject(1, values)) if values else None
    return parent if isinstance(parent, Document) else None


def _parse_json_item(whole: JsonObject) -> Document | Problem:
    item = whole.object("data") if whole.object("data").values else whole  # the API adds "data"
    kind = item.text("itemType") or ""
    if kind in _OTHER_TYPES:
        return Problem(whole.line, f"an item of the type {kind} is not a document", "ignored")

    def people(roles: frozenset[str]) -> tuple[str, ...]:
        creators = item.objects("creators")
        chosen = (c for c in creators if (c.text("creatorType") or "author") in roles)
        return filled(
            name_from_parts(c.text("lastName"), c.text("firstName")) or c.text("name") or ""
            for c in chosen
        )

    title, date = item.markup(*_TITLES) or "", date_in(item.text(*_DATES))
    extra = str(item.values.get("extra") or "")
    authors, stated_doi = people(_AUTHORS), _DOI_IN_EXTRA.search(extra)
    doi = item.doi("DOI") or (normalise_doi(stated_doi[1]) if stated_doi else None)
    cite_key, zotero_key = item.text("citationKey", "citekey"), item.text("key", "itemKey")
    generated = generate_key(authors, date[:4] if date else None, title)
    doc_id = cite_key or doi or zotero_key or generated
    if not doc_id:
        return whole.unexpected("an item with 'citationKey', 'DOI', 'key', 'title' or 'creators'")
    is_master = kind == "thesis" and "master" in (item.text("thesisType", "type") or "").lower()
    return make_document(
        whole.line,
        remove_spaces(doc_id),
        type="mastersthesis" if is_master else to_bibtex_type(kind),
        title=title,
        authors=authors,
        editors=people(frozenset(("editor",))),
        date=date,
        year=None if date else year_before_1(item.text(*_DATES)),
        venue=item.markup(*_VENUES),
        volume=item.text("volume"),
        number=item.text("issue", "number"),
        pages=format_pages(item.text("pages")),
        publisher=item.text(*_PUBLISHERS),
        place=item.text("place"),
        edition=item.text("edition"),
        isbn=item.text("ISBN", "ISSN"),
        doi=doi,
        arxiv=find_arxiv_id(doi, item.text("url"), item.text("archiveID"), *extra.splitlines()),
        url=item.text("url"),
        abstract=item.markup("abstractNote"),
        keywords=unique(tag.text("tag") or "" for tag in item.objects("tags")),
        language=item.text("language"),
        keys=collect_cite_keys([cite_key], notes=[item.text("extra")]),
        groups=item.texts("groups"),
        sections=(*_sections(item),),
    )


def _sections(item: JsonObject) -> Iterator[Section]:
    """Yield the user's notes on an item, and what the user highlighted in its PDFs."""
    for note in item.elements("notes"):
        html = note if isinstance(note, str) else as_object(note).text("note")
        if text := html_to_text(html or ""):
            yield Section("Note", text)
    for parts in item.elements("annotations"):
        texts = map(as_text, parts) if isinstance(parts, list) else ()
        if text := " – ".join(filter(None, texts)):
            yield Section("Annotation", text)


ZOTERO_JSON = json_format(
    "zotero-json",
    "Zotero's JSON (Better BibTeX, API)",
    _parse_json_item,
    into=("items",),
)

# --- Calibre ----------------------------------------------------------------------------------


def book_item(
    names: Iterable[str], ids: Mapping[str, str], tags: Iterable[str], date: str, **fields: str
) -> dict[str, Any]:
    """Return a book of Calibre in the form of Zotero's API; ``names`` are ``Smith, John``."""
    parts = [name.partition(", ") for name in names]
    return {
        "itemType": "book",
        "creators": [{"lastName": last, "firstName": first} if first else {"name": last}
                     for last, _, first in parts],
        # Calibre writes the year 101 if it does not know the date.
        "date": "" if date.startswith("0101") else date[:10],
        "tags": [{"tag": tag} for tag in tags], "ISBN": ids.get("isbn"), "DOI": ids.get("doi"),
        "url": ids.get("url") or ids.get("uri"), "archiveID": ids.get("arxiv"), **fields,
    }  # fmt: skip


def _parse_opf(root: Element, chunk: Chunk) -> Iterator[Record]:
    for book in children(root, "metadata"):
        names = [
            attribute(each, "file-as") or inner_text(each)
            for each in children(book, "creator")
            if attribute(each, "role") in ("", "aut")
        ]
        ids = {attribute(e, "scheme").lower(): inner_text(e) for e in children(book, "identifier")}
        series = [attribute(each, "content") for each in children(book, "meta")
                  if attribute(each, "name") == "calibre:series"]  # fmt: skip
        yield _parse_json_item(JsonObject(source_line(root, chunk), book_item(
            names, ids, map(inner_text, children(book, "subject")), text_at(book, "date"),
            title=text_at(book, "title"), publisher=text_at(book, "publisher"),
            series="; ".join(series), abstractNote=text_at(book, "description"),
            language=text_at(book, "language"),
        )))  # fmt: skip


OPF = xml_format("opf", "OPF (Calibre)", ("package",), _parse_opf, "idpf.org/2007/opf")
