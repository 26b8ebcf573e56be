"""GROBID's TEI full text: a document, and a citing paper where the text cites by number or key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format
from citebed.collection.formats.fields import page_range
from citebed.collection.formats.fulltext import FullText, Marks, full_text_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    below,
    child,
    children,
    file_stem,
    first_text,
    inner_text,
    line_of,
    open_root,
    root_in,
    text_at,
)
from citebed.records import Document, Record, Reference
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, fold, unique, year_in

_SKIP = frozenset(("figure", "note", "table"))


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The document, then the citing paper if it has one."""
    root, problems = open_root(chunk, "TEI", "TEI.2")
    yield from problems
    if root is None:
        return
    document, body = _document(root, chunk), child(root, "text", "body")
    how = FullText("div", "head", _SKIP, _marks)
    yield from full_text_records(document, body, tuple(_references(root)), how)


# --- The header -----------------------------------------------------------------------------


def _document(root: Element, chunk: Chunk) -> Document:
    """What the header says of the paper; the id is its DOI, else the file's name, else its MD5."""
    file_desc = child(root, "teiHeader", "fileDesc")
    source = child(file_desc, "sourceDesc", "biblStruct")
    monograph = child(source, "monogr")
    doi = normalise_doi(_idno(source, "DOI"))
    date = _date(monograph) or _date(file_desc)
    marked = (attribute(part, "lang") for part in children(root, "text", "teiHeader"))
    return Document(
        doc_id=doi or file_stem(chunk.source) or _idno(source, "MD5"),
        type=_type(monograph),
        title=_title(child(file_desc, "titleStmt")) or _title(child(source, "analytic")),
        authors=_authors(source) or _authors(child(file_desc, "titleStmt")),
        year=year_in(date),
        date=date,
        venue=_title(monograph) or text_at(monograph, "meeting") or None,
        volume=_scope(monograph, "volume"),
        number=_scope(monograph, "issue"),
        pages=page_range(_scope(monograph, "page")),
        publisher=text_at(monograph, "imprint", "publisher")
        or text_at(file_desc, "publicationStmt", "publisher")
        or None,
        doi=doi,
        abstract=inner_text(child(root, "teiHeader", "profileDesc", "abstract"), _SKIP) or None,
        keywords=_keywords(root),
        language=next(filter(None, marked), None),
        line=line_of(root, chunk),
    )


def _title(parent: Element | None) -> str:
    """The main title among the titles of an element; an abbreviation only where alone."""
    titles = list(children(parent, "title"))
    main = [title for title in titles if title.get("type") in (None, "main")]
    return first_text(main + titles)


def _type(monograph: Element | None) -> str:
    levels = [title.get("level") for title in children(monograph, "title")]
    if "j" in levels:
        return "article"
    proceedings = "m" in levels or child(monograph, "meeting") is not None
    return "inproceedings" if proceedings else "misc"


def _authors(parent: Element | None) -> tuple[str, ...]:
    """The authors with a name, in order; GROBID also writes authors that are only an address."""
    return unique(_name(person) for a in below(parent, "author") for person in below(a, "persName"))


def _name(person: Element) -> str:
    given = " ".join(inner_text(name) for name in children(person, "forename"))
    family = " ".join(inner_text(name) for name in children(person, "surname"))
    return name_from_parts(family, given, text_at(person, "genName"))


def _date(parent: Element | None) -> str | None:
    """The first date under an element that can be read: of publication, where that is marked."""
    dates = sorted(below(parent, "date"), key=lambda date: date.get("type") != "published")
    readings = (date_in(attribute(date, "when") or inner_text(date)) for date in dates)
    return next(filter(None, readings), None)


def _scope(monograph: Element | None, unit: str) -> str | None:
    """A volume, an issue or pages: the text, or ``from–to``."""
    for scope in children(child(monograph, "imprint"), "biblScope"):
        if scope.get("unit") == unit:
            ends = page_range(attribute(scope, "from"), attribute(scope, "to"))
            return inner_text(scope) or ends
    return None


def _keywords(root: Element) -> tuple[str, ...]:
    """The terms; where GROBID could not tell them apart, the text cut at semicolons or commas."""
    keywords = child(root, "teiHeader", "profileDesc", "textClass", "keywords")
    if terms := unique(map(inner_text, below(keywords, "term"))):
        return terms
    text = inner_text(keywords)
    return unique(map(fold, re.split(r"[;•·]" if re.search("[;•·]", text) else ",", text)))


def _idno(parent: Element | None, kind: str) -> str:
    return first_text(e for e in below(parent, "idno") if e.get("type", "").upper() == kind)


# --- References -----------------------------------------------------------------------------


def _references(root: Element) -> Iterator[Reference]:
    """The reference list, keyed by ``xml:id``, or by ``b0``, ``b1`` … where that is missing."""
    lists = below(child(root, "text"), "listBibl")
    listed = (entry for bibl in lists for entry in below(bibl, "biblStruct"))
    for number, entry in enumerate(listed):
        addresses = (attribute(ptr, "target") for ptr in below(entry, "ptr"))
        title = _title(child(entry, "analytic")) or _title(child(entry, "monogr"))
        yield Reference(
            ref_id=attribute(entry, "id") or f"b{number}",
            doi=normalise_doi(_idno(entry, "DOI")),
            url=next(filter(None, addresses), None),
            title=title or None,
        )


def _marks(element: Element) -> Marks:
    refs = (ref for ref in below(element, "ref") if ref.get("type") == "bibr")
    targets = ((ref, attribute(ref, "target").split()) for ref in refs)
    return {ref: tuple(name.removeprefix("#") for name in names) for ref, names in targets}


TEI = Format(
    "tei",
    "GROBID TEI full text",
    lambda head: root_in(head)[0] in ("TEI", "TEI.2"),
    _parse,
    limit=MAX_XML_BYTES,
)
