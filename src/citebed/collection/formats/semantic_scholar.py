"""Semantic Scholar: papers of the Graph API and of the datasets, the older Open Research Corpus,
and S2ORC metadata.

The sources differ in the capitals of their names (``externalIds``, ``externalids``), so names
are compared in lower case. See https://api.semanticscholar.org/api-docs/ and
https://github.com/allenai/s2orc.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from citebed.collection.formats.fields import page_range
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import (
    Json,
    as_text,
    doi_of,
    list_of,
    markup_of,
    names_of,
    object_of,
    text_of,
    texts_of,
    unknown_object,
    when,
    year_of,
)
from citebed.records import Document, Link, Problem
from citebed.text.normalise import unique

_TYPES = {
    "conference": "inproceedings",
    "journalarticle": "article",
    "booksection": "incollection",
    "book": "book",
    "review": "article",
}


def _lower(value: Json) -> Json:
    return {name.lower(): member for name, member in value.items()}


def _paper(value: Json) -> Json:
    """The paper in lower-case names, taken out of what the API or an old release wraps it in."""
    paper = _lower(value)
    for name in ("citedpaper", "citingpaper"):
        if isinstance(paper.get(name), dict):
            return _lower(paper[name])
    if "paper_id" in paper and isinstance(paper.get("metadata"), dict):
        return {**_lower(paper["metadata"]), **paper}
    return paper


def _target(value: Any) -> str | None:
    """The id by which a reference names the cited paper, or else its DOI."""
    if not isinstance(value, dict):
        return as_text(value)
    paper = _paper(value)
    own = text_of(paper, "paperid", "corpusid", "paper_id")
    return own or doi_of(_lower(object_of(paper, "externalids")), "doi")


def _links(paper: Json) -> tuple[Link, ...]:
    names = ("references", "outbound_citations", "outcitations")
    cited = (_target(value) or "" for name in names for value in list_of(paper, name))
    return tuple(Link(target) for target in unique(cited))


def _type(paper: Json, has_journal: bool) -> str:
    named = {name.lower() for name in texts_of(paper, "publicationtypes")}
    for name, bibtex in _TYPES.items():
        if name in named:
            return bibtex
    if text_of(paper, "acl_id"):
        return "inproceedings"
    return "article" if has_journal else "misc"


def _url(paper: Json, ids: Json) -> str | None:
    """The given address, else that of the arXiv or ACL Anthology page."""
    arxiv = text_of(paper, "arxiv_id") or text_of(ids, "arxiv")
    acl = text_of(paper, "acl_id") or text_of(ids, "acl")
    given = text_of(paper, "url", "s2_url", "s2url")
    if given or not (arxiv or acl):
        return given
    return f"https://arxiv.org/abs/{arxiv}" if arxiv else f"https://aclanthology.org/{acl}"


def _abstract(paper: Json) -> str | None:
    """The abstract; S2ORC's ``:::`` between its paragraphs becomes a blank."""
    abstract = markup_of(paper, "abstract", "paperabstract")
    return " ".join(abstract.replace(":::", " ").split()) or None if abstract else None


def _record(line: int, value: Json) -> Document | Problem:
    paper = _paper(value)
    ids = _lower(object_of(paper, "externalids"))
    doi = doi_of(ids, "doi") or doi_of(paper, "doi")
    own_id = text_of(paper, "paperid", "corpusid", "paper_id", "id")
    doc_id = own_id or text_of(ids, "corpusid") or doi
    if doc_id is None:
        return unknown_object(line, value, "a paper with 'paperId', 'corpusid' or 'paper_id'")
    return _document(paper, ids, doc_id)._replace(doi=doi, line=line)


def _document(paper: Json, ids: Json, doc_id: str) -> Document:
    journal = object_of(paper, "journal")
    year, date = when(text_of(paper, "publicationdate"), year_of(paper, "year"))
    in_journal = text_of(journal, "name") or markup_of(paper, "journal", "journalname")
    in_venue = markup_of(paper, "venue") or text_of(object_of(paper, "publicationvenue"), "name")
    return Document(
        doc_id=doc_id,
        type=_type(paper, in_journal is not None),
        title=markup_of(paper, "title") or "",
        authors=names_of(paper, "authors"),
        year=year,
        date=date,
        venue=in_venue or in_journal,
        volume=text_of(journal, "volume") or text_of(paper, "journalvolume"),
        pages=page_range(text_of(journal, "pages") or text_of(paper, "journalpages")),
        url=_url(paper, ids),
        abstract=_abstract(paper),
        links=_links(paper),
    )


SEMANTIC_SCHOLAR = json_format(
    "semantic-scholar",
    "Semantic Scholar and S2ORC",
    partial(json_records, into=frozenset({"data", "recommendedPapers"})),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)
