"""GROBID's TEI: a document, and a citing paper if its text cites by number or key.

A file with neither title nor text but with a list of references (GROBID's output for a
bibliography, its training files, Zotero's export) is a bibliography: a document per reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.fields import (
    collect_cite_keys,
    find_arxiv_id,
    format_pages,
    generate_key,
    parse_name_list,
    remove_spaces,
)
from citebed.collection.formats.full_text import FullText, Marks, full_text_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    child,
    children,
    descendants,
    file_stem,
    first_text,
    inner_text,
    source_line,
    text_at,
    xml_format,
)
from citebed.records import Document, Problem, Record, Reference
from citebed.text.identifiers import arxiv_of, normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, filled, fold, unique, year_in

_SKIP = frozenset(("figure", "note", "table"))
_PAPERS = ("TEI", "TEI.2", "tei")
_ROOTS = (*_PAPERS, "teiCorpus", "listBibl", "biblStruct")


def _parse(root: Element, chunk: Chunk) -> Iterator[Record]:
    papers = list(descendants(root, *_PAPERS))
    for paper in papers:
        document, text = _document(paper, chunk), child(paper, "text")
        body = child(text, "body")
        layout = FullText("div", "head", _SKIP, _find_marks)
        if body is None or not inner_text(body):  # GROBID's training files have no body
            body, layout = text, layout._replace(skip=_SKIP | {"front", "back", "listBibl"})
        records = list(full_text_records(document, body, tuple(_references(paper)), layout))
        whole = next((record for record in records if isinstance(record, Document)), document)
        head = (whole.title, whole.authors, whole.venue, whole.doi, whole.abstract, whole.keywords)
        if any(head) or whole.sections:
            yield from records
        else:
            yield from _parse_bibliography(text, paper, chunk)
    if not papers:
        yield from _parse_bibliography(root, root, chunk)


def _find_marks(element: Element) -> Marks:
    refs = (ref for ref in descendants(element, "ref") if ref.get("type") == "bibr")
    targets = ((ref, attribute(ref, "target").split()) for ref in refs)
    return {ref: tuple(name.removeprefix("#") for name in names) for ref, names in targets}


# --- The header -----------------------------------------------------------------------------


def _document(root: Element, chunk: Chunk) -> Document:
    """Return what the header says; the id is the DOI, else the file name, else the MD5 sum."""
    file_desc = child(root, "teiHeader", "fileDesc")
    source = child(file_desc, "sourceDesc", "biblStruct")
    monograph = child(source, "monogr")
    profile = child(root, "teiHeader", "profileDesc")
    doi = normalise_doi(_identifier(source, "DOI"))
    date = _date(monograph) or _date(file_desc)
    front = descendants(child(root, "text", "front"), "div")
    keywords = child(profile, "textClass", "keywords")
    words = unique(map(inner_text, descendants(keywords, "term")))
    if not words:  # GROBID did not separate the keywords
        listed = inner_text(keywords)
        separator = r"[;•·]" if re.search("[;•·]", listed) else ","
        words = unique(map(fold, re.split(separator, listed)))
    languages = (attribute(part, "lang") for part in children(root, "text", "teiHeader"))
    return Document(
        doc_id=doi or file_stem(chunk.source) or _identifier(source, "MD5"),
        type=_type(monograph),
        title=_title(child(file_desc, "titleStmt"))
        or _title(child(source, "analytic"))
        or first_text(descendants(child(root, "text"), "docTitle")),
        authors=_authors(source) or _authors(child(file_desc, "titleStmt")),
        year=year_in(date),
        date=date,
        venue=_title(monograph) or text_at(monograph, "meeting") or None,
        volume=_scope(monograph, "volume"),
        number=_scope(monograph, "issue"),
        pages=format_pages(_scope(monograph, "page")),
        publisher=text_at(monograph, "imprint", "publisher")
        or text_at(file_desc, "publicationStmt", "publisher")
        or None,
        doi=doi,
        arxiv=find_arxiv_id(doi, eprint=_identifier(source, "ARXIV")),
        abstract=inner_text(child(profile, "abstract"), _SKIP)
        or first_text(e for e in front if e.get("type") == "abstract")
        or None,
        keywords=words,
        language=next(filter(None, languages), None),
        line=source_line(root, chunk),
    )


def _title(parent: Element | None) -> str:
    """Return the main title of an element, or else an abbreviation."""
    titles = list(children(parent, "title"))
    main = [title for title in titles if title.get("type") in (None, "main")]
    return first_text(main + titles)


def _type(monograph: Element | None) -> str:
    levels = [title.get("level") for title in children(monograph, "title")]
    if "j" in levels:
        return "article"
    is_proceedings = "m" in levels or child(monograph, "meeting") is not None
    return "inproceedings" if is_proceedings else "misc"


def _authors(parent: Element | None) -> tuple[str, ...]:
    """Return the authors: marked as persons, in parts, or as a line of text.

    GROBID also writes authors that have only an address.
    """
    names: list[str] = []
    for author in descendants(parent, "author"):
        people = list(descendants(author, "persName"))
        if not people and child(author, "surname") is not None:
            people = [author]
        for person in people:
            given = " ".join(inner_text(name) for name in children(person, "forename"))
            family = " ".join(inner_text(name) for name in children(person, "surname"))
            names.append(name_from_parts(family, given, text_at(person, "genName")))
        if not people and len(author) == 0:
            names += parse_name_list(inner_text(author))
    return filled(names)


def _date(parent: Element | None) -> str | None:
    """Return the first readable date under an element, dates of publication first."""
    dates = sorted(descendants(parent, "date"), key=lambda date: date.get("type") != "published")
    readings = (date_in(attribute(date, "when") or inner_text(date)) for date in dates)
    return next(filter(None, readings), None)


_UNITS = {"vol": "volume", "pp": "page", "pages": "page"}


def _scope(monograph: Element | None, unit: str) -> str | None:
    """Return a volume, an issue or pages: the text, or ``from–to``."""
    for scope in descendants(monograph, "biblScope"):
        kind = scope.get("unit") or scope.get("type") or ""
        if _UNITS.get(kind, kind) == unit:
            ends = format_pages(attribute(scope, "from"), attribute(scope, "to"))
            return inner_text(scope) or ends
    return None


def _identifier(parent: Element | None, kind: str) -> str:
    return first_text(e for e in descendants(parent, "idno") if e.get("type", "").upper() == kind)


# --- References -----------------------------------------------------------------------------


def _references(root: Element) -> Iterator[Reference]:
    """Yield the reference list, with ``xml:id`` as key, else ``b0``, ``b1`` …"""
    lists = descendants(child(root, "text"), "listBibl")
    entries = (entry for listed in lists for entry in descendants(listed, "biblStruct"))
    for number, entry in enumerate(entries):
        addresses = (attribute(ptr, "target") for ptr in descendants(entry, "ptr"))
        title = _title(child(entry, "analytic")) or _title(child(entry, "monogr"))
        yield Reference(
            ref_id=attribute(entry, "id") or f"b{number}",
            doi=normalise_doi(_identifier(entry, "DOI")),
            url=next(filter(None, addresses), None),
            title=title or None,
            arxiv=arxiv_of(_identifier(entry, "ARXIV")),
            author=next(iter(_authors(entry)), None),
        )


# --- Bibliographies -------------------------------------------------------------------------

_COUNTED = re.compile(r"b\d+")


def _parse_bibliography(within: Element | None, root: Element, chunk: Chunk) -> Iterator[Record]:
    """Yield a document for each reference, or a problem without references."""
    nested = descendants(within, "biblStruct", "bibl")
    entries = [e for e in nested if next(e.iterancestors("{*}biblStruct", "{*}bibl"), None) is None]
    for number, entry in enumerate(entries, 1):
        yield _parse_reference(entry, number, chunk)
    if not entries:
        what = "a TEI file without a title, an abstract, a text or a list of references"
        yield Problem(source_line(root, chunk), what)


def _parse_reference(entry: Element, number: int, chunk: Chunk) -> Document | Problem:
    """Return a reference as a document; its parts are in fields or in running text."""
    monograph = child(entry, "monogr")
    within = entry if monograph is None else monograph
    titles = reversed([*descendants(entry, "title")])
    by_level = {title.get("level", ""): inner_text(title) for title in titles}
    title = by_level.get("a") or _title(child(entry, "analytic")) or by_level.get("m")
    title = title or _title(within)
    venues = (by_level.get("j"), by_level.get("m"), _title(monograph))
    venue = next(filter(None, venues), None)
    authors = _authors(entry)
    date, doi = _date(within), normalise_doi(_identifier(entry, "DOI"))
    key, stem = attribute(entry, "id"), file_stem(chunk.source)
    own_key = "" if _COUNTED.fullmatch(key) else key
    if not (title or authors):
        what = "a reference without a title or an author"
        return Problem(source_line(entry, chunk), what)
    generated = generate_key(authors, date[:4] if date else None, title)
    return Document(
        doc_id=doi or remove_spaces(own_key) or generated or f"{stem}-{number}".lstrip("-"),
        type=_type(within) if venue and venue != title else "misc",
        title=title,
        authors=authors,
        year=year_in(date),
        date=date,
        venue=venue if venue != title else None,
        volume=_scope(within, "volume"),
        number=_scope(within, "issue"),
        pages=format_pages(_scope(within, "page")),
        publisher=first_text(descendants(within, "publisher")) or None,
        doi=doi,
        arxiv=find_arxiv_id(doi, eprint=_identifier(entry, "ARXIV")),
        keys=collect_cite_keys(ids=[own_key]),
        line=source_line(entry, chunk),
    )


TEI = xml_format("tei", "GROBID TEI full text", _ROOTS, _parse)
