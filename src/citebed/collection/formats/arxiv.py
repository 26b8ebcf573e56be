"""arXiv's metadata: Atom feeds of its API, and JSON Lines, as the snapshot on Kaggle has it."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from citebed.collection.formats.fields import arxiv_id, people_in
from citebed.collection.formats.json_objects import JsonObject, as_text, json_format
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.collection.formats.xml import (
    Element,
    attribute,
    children,
    has_root,
    text_at,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import arxiv_of, doi_of_arxiv, normalise_doi
from citebed.text.latex import latex_to_text
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import date_in, filled, fold, iso_date, month_in, unique

_FEED = (
    *("feed", "link", "title", "id", "updated", "author", "name", "uri", "generator", "rights"),
    *("totalResults", "startIndex", "itemsPerPage", "subtitle", "published"),
)


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


def _read(entry: Element, line: int) -> Record:
    address = text_at(entry, "id")
    number = arxiv_of(address) or arxiv_id(None, address)
    if number is None:
        what = f"an entry without the address of a paper: found '{address[:60]}'"
        return Problem(line, what if address else "an entry without an id")
    paper = arxiv_document(number, text_at(entry, "title"), text_at(entry, "summary"))
    date = date_in(text_at(entry, "published"))
    names = (text_at(author, "name") for author in children(entry, "author"))
    return published_as(
        paper, normalise_doi(text_at(entry, "doi")), text_at(entry, "journal_ref") or None
    )._replace(
        authors=filled(map(name_from_display, names)),
        year=int(date[:4]) if date else None,
        date=date,
        keywords=unique(attribute(term, "term") for term in children(entry, "category")),
        line=line,
    )


ARXIV_ATOM = xml_records(
    *("arxiv-atom", "arXiv Atom feed", has_root("feed", "entry", holding="//arxiv.org/")),
    Names(("entry",), _FEED),
    _read,
)


# --- JSON Lines -------------------------------------------------------------------------------


_CREATED = re.compile(r"\b(\d{1,2}) ([A-Za-z]{3}) (\d{4})\b")


def _record(paper: JsonObject) -> Document | Problem:
    number = arxiv_of(paper.text("id") or "")
    if number is None:
        return paper.unknown("a paper of arXiv with its 'id'")
    date = _date(paper)
    preprint = arxiv_document(number, paper.text("title") or "", paper.text("abstract") or "")
    return published_as(preprint, paper.doi("doi"), paper.text("journal-ref"))._replace(
        # The names in parts, else those in the line of authors; both are written in TeX.
        authors=filled(map(_name, paper.elements("authors_parsed")))
        or people_in(_plain(paper.text("authors"))),
        year=int(date[:4]) if date else None,
        date=date,
        keywords=unique((paper.text("categories") or "").split()),
        line=paper.line,
    )


def _date(paper: JsonObject) -> str | None:
    """When the first version was submitted, else when the record was last changed."""
    first = next(iter(paper.objects("versions")), paper).text("created") or ""
    if (match := _CREATED.search(first)) is not None:
        return iso_date(int(match[3]), month_in(match[2]), int(match[1]))
    return date_in(paper.text("update_date"))


def _name(value: Any) -> str:
    parts = [_plain(as_text(part)) for part in value[:3]] if isinstance(value, list) else []
    return name_from_parts(*parts) if parts else ""


def _plain(text: str | None) -> str:
    return fold(latex_to_text(text or ""))


ARXIV_JSON = json_format(
    "arxiv-json",
    "arXiv metadata (JSON)",
    partial(json_records, into=frozenset()),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)
