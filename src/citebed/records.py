"""What every room of citebed talks about: documents, citing papers, queries, judgements.

The records are named tuples: immutable, typed, equal by value, and quick to turn into columns.
Text fields hold clean Unicode (no LaTeX, no HTML), white space folded; an unknown field is
``None`` (or ``""`` for a title, ``()`` for a list).
"""

from __future__ import annotations

from typing import NamedTuple


class Section(NamedTuple):
    """A piece of full text under its heading (``""`` where the source gives none)."""

    heading: str
    text: str


class Link(NamedTuple):
    """A tie from one document to another.

    ``kind`` is ``cites`` (a reference), ``linked`` (one cites the other, direction unknown),
    ``coupled`` (``weight`` references in common) or ``cocited`` (cited together ``weight`` times).
    ``target`` is a document id or a DOI.
    """

    target: str
    kind: str = "cites"
    weight: float = 1.0


class Document(NamedTuple):
    """A paper that can be recommended.

    ``type`` is the lower-case BibTeX entry type. Names stand as ``Family, Given`` (a name
    without a comma is an organisation or a single name). ``date`` is ISO 8601 as far as known:
    ``2010``, ``2010-08`` or ``2010-08-15``. ``doi`` is lower-case, without a resolver in front.
    ``arxiv`` is the id there, in lower case and without a version.
    ``bibtex`` is the entry as it was read, where it was read from BibTeX. ``crossref`` names
    the record that lends its fields and is empty once that has happened.
    ``keys`` are the cite keys that sources gave it, its own first: what one types in a draft.
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
    bibtex: str | None = None
    crossref: str | None = None
    keys: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    line: int = 1


class Reference(NamedTuple):
    """An entry of a citing paper's reference list; ``ref_id`` is its number or key there.

    ``doc_id`` is set where the source names the cited document by an id of its own; ``raw`` is
    the identifier to the letter, blanks included, where the source gives one; ``author`` is the
    first author, as ``Family, Given``.
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
    """A sentence of citing text: which references it cites, each as often as it does, and
    whether the cited authors' names were taken out of it; ``None`` where nobody has looked."""

    text: str
    cites: tuple[str, ...] = ()
    anonymised: bool | None = False


class Context(NamedTuple):
    """A paragraph of a citing paper; ``context_id`` is unique within its paper."""

    context_id: str
    section: str
    sentences: tuple[Sentence, ...]


class CitingPaper(NamedTuple):
    """A paper whose paragraphs are queries and whose references are the answers."""

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
    """References of a citing paper that stand in a file of their own (ACM-CR's ``.dois``)."""

    references: tuple[Reference, ...]
    line: int = 1


class Query(NamedTuple):
    """A search topic that comes with a collection; ``text`` is what is searched for."""

    query_id: str
    text: str
    title: str | None = None
    line: int = 1


class Judgement(NamedTuple):
    """How relevant a document is to a query; higher is better, 0 is not at all."""

    query_id: str
    doc_id: str
    relevance: int
    line: int = 1


class Problem(NamedTuple):
    """Something in a source that was skipped or mended, and where.

    ``kind`` is ``skipped`` (a record was lost), ``mended`` (kept, with a guess) or ``ignored``
    (a whole file that is not ours to read).
    """

    line: int
    what: str
    kind: str = "skipped"


Record = Document | CitingPaper | ReferenceList | Query | Judgement | Problem
