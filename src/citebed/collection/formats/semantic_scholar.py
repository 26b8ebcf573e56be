"""Semantic Scholar: papers of the Graph API and of the datasets, the older Open Research Corpus,
and S2ORC metadata.

The sources differ in the capitals of their names (``externalIds``, ``externalids``), so names
are compared in lower case. See https://api.semanticscholar.org/api-docs/ and
https://github.com/allenai/s2orc.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from citebed.collection.formats.fields import arxiv_id, links_to, page_range
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import JsonObject, as_object, as_text
from citebed.records import Document, Problem

_TYPES = {
    "conference": "inproceedings",
    "journalarticle": "article",
    "booksection": "incollection",
    "book": "book",
    "review": "article",
}


def _lower(obj: JsonObject) -> JsonObject:
    return obj._replace(values={name.lower(): value for name, value in obj.values.items()})


def _paper(given: JsonObject) -> JsonObject:
    """The paper in lower-case names, taken out of what the API or an old release wraps it in."""
    paper = _lower(given)
    for name in ("citedpaper", "citingpaper"):
        if isinstance(paper.values.get(name), dict):
            return _lower(paper.object(name))
    if "paper_id" in paper.values:
        lent = _lower(paper.object("metadata")).values
        return paper._replace(values={**lent, **paper.values})
    return paper


def _target(value: Any) -> str | None:
    """The id by which a reference names the cited paper, or else its DOI."""
    if not isinstance(value, dict):
        return as_text(value)
    paper = _paper(as_object(value))
    own = paper.text("paperid", "corpusid", "paper_id")
    return own or _lower(paper.object("externalids")).doi("doi")


def _type(paper: JsonObject, has_journal: bool) -> str:
    named = {name.lower() for name in paper.texts("publicationtypes")}
    for name, bibtex in _TYPES.items():
        if name in named:
            return bibtex
    if paper.text("acl_id"):
        return "inproceedings"
    return "article" if has_journal else "misc"


def _url(paper: JsonObject, ids: JsonObject) -> str | None:
    """The given address, else that of the arXiv or ACL Anthology page."""
    arxiv = paper.text("arxiv_id") or ids.text("arxiv")
    acl = paper.text("acl_id") or ids.text("acl")
    given = paper.text("url", "s2_url", "s2url")
    if given or not (arxiv or acl):
        return given
    return f"https://arxiv.org/abs/{arxiv}" if arxiv else f"https://aclanthology.org/{acl}"


def _record(given: JsonObject) -> Document | Problem:
    paper = _paper(given)
    ids, journal = _lower(paper.object("externalids")), paper.object("journal")
    doi = ids.doi("doi") or paper.doi("doi")
    own_id = paper.text("paperid", "corpusid", "paper_id", "id")
    doc_id = own_id or ids.text("corpusid") or doi
    if doc_id is None:
        return given.unknown("a paper with 'paperId', 'corpusid' or 'paper_id'")
    url = _url(paper, ids)
    year, date = paper.when("year", "publicationdate")
    in_journal = journal.text("name") or paper.markup("journal", "journalname")
    in_venue = paper.markup("venue") or paper.object("publicationvenue").text("name")
    abstract = paper.markup("abstract", "paperabstract") or ""
    cited = ("references", "outbound_citations", "outcitations")
    return Document(
        doc_id=doc_id,
        type=_type(paper, in_journal is not None),
        title=paper.markup("title") or "",
        authors=paper.people("authors"),
        year=year,
        date=date,
        venue=in_venue or in_journal,
        volume=journal.text("volume") or paper.text("journalvolume"),
        pages=page_range(journal.text("pages") or paper.text("journalpages")),
        doi=doi,
        arxiv=arxiv_id(doi, url, eprint=paper.text("arxiv_id") or ids.text("arxiv")),
        url=url,
        # S2ORC's mark between paragraphs becomes a blank.
        abstract=" ".join(abstract.replace(":::", " ").split()) or None,
        links=links_to(_target(value) for name in cited for value in paper.elements(name)),
        line=given.line,
    )


SEMANTIC_SCHOLAR = json_format(
    "semantic-scholar",
    "Semantic Scholar and S2ORC",
    partial(json_records, into=frozenset({"data", "recommendedPapers"})),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)
