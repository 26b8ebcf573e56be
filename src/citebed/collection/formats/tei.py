"""GROBID's TEI full text: a document, and a citing paper where the text cites by number or key.

What has neither title nor text but a list of references (what GROBID makes of a bibliography, its
training files, Zotero's export) is a bibliography: a document for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import MAX_XML_BYTES, Chunk, Format
from citebed.collection.formats.fields import (
    arxiv_id,
    cite_keys,
    made_up_id,
    one_word,
    page_range,
    people_in,
)
from citebed.collection.formats.fulltext import FullText, Marks, full_text_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    below,
    child,
    children,
    file_stem,
    first_text,
    has_root,
    inner_text,
    line_of,
    open_root,
    text_at,
)
from citebed.records import Document, Problem, Record, Reference
from citebed.text.identifiers import arxiv_of, normalise_doi
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, filled, fold, unique, year_in

_SKIP = frozenset(("figure", "note", "table"))


_PAPERS = ("TEI", "TEI.2", "tei")
_ROOTS = (*_PAPERS, "teiCorpus", "listBibl", "biblStruct")


def _parse(chunk: Chunk) -> Iterator[Record]:
    """For each paper the document, then the citing paper if it has one; or a bibliography."""
    root, problems = open_root(chunk, *_ROOTS)
    yield from problems
    papers = list(below(root, *_PAPERS))
    for paper in papers:
        yield from _paper(paper, chunk)
    if root is not None and not papers:
        yield from _bibliography(root, root, chunk)


def _paper(root: Element, chunk: Chunk) -> Iterator[Record]:
    document, text = _document(root, chunk), child(root, "text")
    body = child(text, "body")
    how = FullText("div", "head", _SKIP, _marks)
    if body is None or not inner_text(body):  # GROBID's training files have no body
        body, how = text, how._replace(skip=_SKIP | {"front", "back", "listBibl"})
    records = list(full_text_records(document, body, tuple(_references(root)), how))
    whole = next((record for record in records if isinstance(record, Document)), document)
    head = (whole.title, whole.authors, whole.venue, whole.doi, whole.abstract, whole.keywords)
    yield from records if any(head) or whole.sections else _bibliography(text, root, chunk)


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
        title=_title(child(file_desc, "titleStmt"))
        or _title(child(source, "analytic"))
        or first_text(below(child(root, "text"), "docTitle")),
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
        arxiv=arxiv_id(doi, eprint=_idno(source, "ARXIV")),
        abstract=_abstract(root),
        keywords=_keywords(root),
        language=next(filter(None, marked), None),
        line=line_of(root, chunk),
    )


def _abstract(root: Element) -> str | None:
    marked = inner_text(child(root, "teiHeader", "profileDesc", "abstract"), _SKIP)
    front = below(child(root, "text", "front"), "div")
    return marked or first_text(e for e in front if e.get("type") == "abstract") or None


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
    return filled(name for author in below(parent, "author") for name in _names(author))


def _names(author: Element) -> Iterator[str]:
    """The names of an author element: marked as persons, in parts, or as a line of text."""
    if people := list(below(author, "persName")):
        yield from map(_name, people)
    elif child(author, "surname") is not None:
        yield _name(author)
    elif len(author) == 0:
        yield from people_in(inner_text(author))


def _name(person: Element) -> str:
    given = " ".join(inner_text(name) for name in children(person, "forename"))
    family = " ".join(inner_text(name) for name in children(person, "surname"))
    return name_from_parts(family, given, text_at(person, "genName"))


def _date(parent: Element | None) -> str | None:
    """The first date under an element that can be read: of publication, where that is marked."""
    dates = sorted(below(parent, "date"), key=lambda date: date.get("type") != "published")
    readings = (date_in(attribute(date, "when") or inner_text(date)) for date in dates)
    return next(filter(None, readings), None)


_UNITS = {"vol": "volume", "pp": "page", "pages": "page"}


def _scope(monograph: Element | None, unit: str) -> str | None:
    """A volume, an issue or pages: the text, or ``from–to``."""
    for scope in below(monograph, "biblScope"):
        kind = scope.get("unit") or scope.get("type") or ""
        if _UNITS.get(kind, kind) == unit:
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
            arxiv=arxiv_of(_idno(entry, "ARXIV")),
            author=next(iter(_authors(entry)), None),
        )


# --- Bibliographies -------------------------------------------------------------------------

_COUNTED = re.compile(r"b\d+")


def _bibliography(within: Element | None, root: Element, chunk: Chunk) -> Iterator[Record]:
    """A document for each entry of the references; a problem where there is none."""
    nested = below(within, "biblStruct", "bibl")
    entries = [e for e in nested if next(e.iterancestors("{*}biblStruct", "{*}bibl"), None) is None]
    for number, entry in enumerate(entries, 1):
        yield _listed(entry, number, chunk)
    if not entries:
        what = "a TEI file without a title, an abstract, a text or a list of references"
        yield Problem(line_of(root, chunk), what)


def _listed(entry: Element, number: int, chunk: Chunk) -> Document | Problem:
    """A reference as a document; its parts may stand in order or in running text."""
    monograph = child(entry, "monogr")
    within = entry if monograph is None else monograph
    of_level = {t.get("level", ""): inner_text(t) for t in reversed([*below(entry, "title")])}
    title = of_level.get("a") or _title(child(entry, "analytic")) or of_level.get("m")
    title = title or _title(within)
    venue = next(filter(None, (of_level.get("j"), of_level.get("m"), _title(monograph))), None)
    authors = _authors(entry)
    date, doi = _date(within), normalise_doi(_idno(entry, "DOI"))
    key, stem = attribute(entry, "id"), file_stem(chunk.source)
    own = "" if _COUNTED.fullmatch(key) else key
    if not (title or authors):
        return Problem(line_of(entry, chunk), "a reference without a title or an author")
    made_up = made_up_id(authors, date[:4] if date else None, title)
    return Document(
        doc_id=doi or one_word(own) or made_up or f"{stem}-{number}".lstrip("-"),
        type=_type(within) if venue and venue != title else "misc",
        title=title,
        authors=authors,
        year=year_in(date),
        date=date,
        venue=venue if venue != title else None,
        volume=_scope(within, "volume"),
        number=_scope(within, "issue"),
        pages=page_range(_scope(within, "page")),
        publisher=first_text(below(within, "publisher")) or None,
        doi=doi,
        arxiv=arxiv_id(doi, eprint=_idno(entry, "ARXIV")),
        keys=cite_keys(ids=[own]),
        line=line_of(entry, chunk),
    )


def _marks(element: Element) -> Marks:
    refs = (ref for ref in below(element, "ref") if ref.get("type") == "bibr")
    targets = ((ref, attribute(ref, "target").split()) for ref in refs)
    return {ref: tuple(name.removeprefix("#") for name in names) for ref, names in targets}


TEI = Format(*("tei", "GROBID TEI full text", has_root(*_ROOTS)), _parse, limit=MAX_XML_BYTES)
