"""What the API of arXiv answers: an Atom feed with an entry for each paper."""

from __future__ import annotations

from collections.abc import Iterator

from citebed.collection.formats.fields import arxiv_id
from citebed.collection.formats.xml import (
    Element,
    attribute,
    children,
    root_in,
    text_at,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import arxiv_of, doi_of_arxiv, normalise_doi
from citebed.text.latex import latex_to_text
from citebed.text.names import name_from_display
from citebed.text.normalise import date_in, filled, fold, unique

_FEED = (
    *("feed", "link", "title", "id", "updated", "author", "name", "uri", "generator", "rights"),
    *("totalResults", "startIndex", "itemsPerPage", "subtitle", "published"),
)


def _sniff(head: str) -> bool:
    name, rest = root_in(head)
    return name in ("feed", "entry") and "//arxiv.org/" in rest


def arxiv_document(number: str, title: str, abstract: str) -> Document:
    """A paper of arXiv, of which these are known; title and abstract are written in TeX."""
    return Document(
        doc_id=f"arXiv:{number}",
        type="misc",
        title=fold(latex_to_text(title)),
        venue="arXiv",
        doi=doi_of_arxiv(number),
        arxiv=number,
        url=f"https://arxiv.org/abs/{number}",
        abstract=fold(latex_to_text(abstract)) or None,
    )


def published_as(paper: Document, doi: str | None, journal: str | None) -> Document:
    """The paper under the DOI and in the journal where it was published, if it was."""
    venue = journal or paper.venue
    doi = doi or paper.doi
    return paper._replace(doi=doi, venue=venue, type="article" if journal else paper.type)


def _read(entry: Element, line: int) -> Iterator[Record]:
    address = text_at(entry, "id")
    number = arxiv_of(address) or arxiv_id(None, address)
    if number is None:
        what = f"an entry without the address of a paper: found '{address[:60]}'"
        yield Problem(line, what if address else "an entry without an id")
        return
    paper = arxiv_document(number, text_at(entry, "title"), text_at(entry, "summary"))
    date = date_in(text_at(entry, "published"))
    names = (text_at(author, "name") for author in children(entry, "author"))
    yield published_as(
        paper, normalise_doi(text_at(entry, "doi")), text_at(entry, "journal_ref") or None
    )._replace(
        authors=filled(map(name_from_display, names)),
        year=int(date[:4]) if date else None,
        date=date,
        keywords=unique(attribute(term, "term") for term in children(entry, "category")),
        line=line,
    )


ARXIV_ATOM = xml_records(
    *("arxiv-atom", "arXiv Atom feed", _sniff), Names(("entry",), _FEED), _read
)
