"""The records that all packages share: documents, citing papers, queries, judgements.

The records are named tuples: immutable, typed, equal by value, and quick to turn into columns. Text
fields hold clean Unicode (no LaTeX, no HTML) with white space collapsed; an unknown field is
``None`` (or ``""`` for a title, ``()`` for a list).
"""

from __future__ import annotations

from typing import NamedTuple


class Section(NamedTuple):
    """A piece of full text under its heading (``""`` if it has none)."""

    heading: str
    text: str


class Link(NamedTuple):
    """A relation from one document to another.

    ``kind`` is ``cites`` (a reference), ``linked`` (one cites the other, direction unknown),
    ``coupled`` (``weight`` references in common) or ``cocited`` (cited together ``weight`` times).
    ``target`` is a document id or a DOI.
    """

    target: str
    kind: str = "cites"
    weight: float = 1.0


class Document(NamedTuple):
    """A paper that can be recommended.

    ``type`` is the lower-case BibTeX entry type. Names have the form ``Family, Given`` (a name
    without a comma is an organisation or a single name). ``date`` is ISO 8601, perhaps incomplete:
    ``2010``, ``2010-08`` or ``2010-08-15``. ``doi`` is lower-case, without a resolver in front.
    ``arxiv`` is the arXiv id, in lower case and without a version. ``bibtex`` is the original entry
    if the source was BibTeX. ``crossref`` names the record to inherit fields from, and is empty
    after that. ``place`` is the publisher's place, ``isbn`` an ISBN or ISSN. ``keys`` are the
    citation keys from all sources, its own first. ``groups`` are paths of a reference
    manager's collections: ``Thesis/Chapter 2``.
    """

    doc_id: str
    type: str = "misc"
    title: str = ""
    authors: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()
    year: int | None = None
    date: str | None = None
    venue: str | None = None
    volume: str | None = None
    number: str | None = None
    pages: str | None = None
    publisher: str | None = None
    doi: str | None = None
    arxiv: str | None = None
    url: str | None = None
    abstract: str | None = None
    keywords: tuple[str, ...] = ()
    language: str | None = None
    place: str | None = None
    edition: str | None = None
    isbn: str | None = None
    bibtex: str | None = None
    crossref: str | None = None
    keys: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    line: int = 1


class Reference(NamedTuple):
    """An entry of a citing paper's reference list; ``ref_id`` is its number or key in the list.
    ``doc_id`` is set if the source gives the id of the cited document; ``raw`` is the source's
    exact identifier, including spaces, if it has one; ``author`` is the first author, as ``Family,
    Given``.
    """

    ref_id: str
    doi: str | None = None
    url: str | None = None
    doc_id: str | None = None
    title: str | None = None
    raw: str | None = None
    arxiv: str | None = None
    author: str | None = None


class Sentence(NamedTuple):
    """A sentence of citing text: the references that it cites (repeated for repeated citations),
    and whether cited authors' names were removed; ``None`` if that is unknown."""

    text: str
    cites: tuple[str, ...] = ()
    anonymised: bool | None = False


class Context(NamedTuple):
    """A paragraph of a citing paper; ``context_id`` is unique within its paper."""

    context_id: str
    section: str
    sentences: tuple[Sentence, ...]


class CitingPaper(NamedTuple):
    """A paper whose paragraphs become queries and whose references are the relevant documents."""

    paper_id: str
    doi: str | None = None
    title: str = ""
    abstract: str | None = None
    year: int | None = None
    date: str | None = None
    contexts: tuple[Context, ...] = ()
    references: tuple[Reference, ...] = ()
    line: int = 1


class ReferenceList(NamedTuple):
    """References of a citing paper from a separate file (ACM-CR's ``.dois``)."""

    references: tuple[Reference, ...]
    line: int = 1


class Query(NamedTuple):
    """A search topic that comes with a collection; ``text`` is the query text."""

    query_id: str
    text: str
    title: str | None = None
    line: int = 1


class Judgement(NamedTuple):
    """The relevance of a document to a query; higher is better, 0 is not relevant."""

    query_id: str
    doc_id: str
    relevance: int
    line: int = 1


class Problem(NamedTuple):
    """A part of a source that citebed skipped or repaired, and where. ``kind`` is ``skipped`` (the
    record is lost), ``mended`` (repaired by a guess) or ``ignored`` (a whole file that citebed does
    not read).
    """

    line: int
    what: str
    kind: str = "skipped"


Record = Document | CitingPaper | ReferenceList | Query | Judgement | Problem
