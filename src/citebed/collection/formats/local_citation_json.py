"""Local citation recommendation sets in the form of Gu et al., ECIR 2022
(https://doi.org/10.1007/978-3-030-99736-6_19): ACL-200, FullTextPeerRead, RefSeer, arXiv.

``contexts.json`` names contexts (``masked_text``, ``citing_id``, ``refid``), ``papers.json``
names papers (``title``, ``abstract``). All contexts of one citing paper become one
``CitingPaper`` with a context of one sentence each. The masked citation, ``TARGETCIT``, is
written ``[CIT]``, as in our other sources; ``OTHERCIT``, which stands for citations of papers
that are not asked for, is written ``[OTHERCIT]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import FreeIds
from citebed.collection.formats.jsonfiles import Member, json_document
from citebed.collection.formats.jsonkinds import is_kind
from citebed.collection.formats.jsonvalues import (
    Json,
    doi_of,
    names_of,
    reference_to,
    text_of,
    texts_of,
    unknown_object,
    when,
    year_of,
)
from citebed.records import CitingPaper, Context, Document, Problem, Record, Reference, Sentence
from citebed.text.normalise import fold

_TARGET = re.compile(r"\[TARGETCIT\]|TARGETCIT")
_OTHER = re.compile(r"\[OTHERCIT\]|OTHERCIT")
_CITED = ("refid", "ref_id", "cited_id", "refers_to", "positive_ids")
_EXPECTED = "a context with 'masked_text', 'citing_id' and 'refid', or a paper with 'title'"


class _CitingPaper:
    """A citing paper in the making, with a context for each entry that names it."""

    def __init__(self, paper: CitingPaper) -> None:
        self._paper, self._ids = paper, FreeIds()
        self._contexts: list[Context] = []
        self._references: dict[str, Reference] = {}

    def add(self, wanted_id: str | None, text: str, cited: tuple[str, ...]) -> None:
        """Take in a context and the papers it cites."""
        context_id = self._ids.take(wanted_id or str(len(self._contexts) + 1))
        sentence = Sentence(_OTHER.sub("[OTHERCIT]", _TARGET.sub("[CIT]", text)), cited)
        self._contexts.append(Context(context_id, "", (sentence,)))
        self._references.update((ref_id, reference_to(ref_id)) for ref_id in cited)

    def finished(self) -> CitingPaper:
        """The paper with all its contexts and references."""
        return self._paper._replace(
            contexts=tuple(self._contexts), references=tuple(self._references.values())
        )


_Papers = dict[str, _CitingPaper]


def _add(papers: _Papers, line: int, wanted_id: str | None, entry: Json) -> Problem | None:
    """Take in a context; a ``Problem`` where it names no citing or cited paper or no text."""
    citing, text = text_of(entry, "citing_id"), text_of(entry, "masked_text", "context")
    cited = next((ids for name in _CITED if (ids := texts_of(entry, name))), ())
    if citing is None or text is None or not cited:
        return unknown_object(line, entry, _EXPECTED)
    if citing not in papers:
        title, abstract = text_of(entry, "citing_title"), text_of(entry, "citing_abstract")
        paper = CitingPaper(citing, title=title or "", abstract=abstract, line=line)
        papers[citing] = _CitingPaper(paper)
    papers[citing].add(wanted_id, text, cited)
    return None


def _document(line: int, doc_id: str, entry: Json) -> Document:
    year, date = when(text_of(entry, "date"), year_of(entry, "year"))
    return Document(
        doc_id=doc_id,
        title=text_of(entry, "title") or "",
        authors=names_of(entry, "authors"),
        year=year,
        date=date,
        venue=text_of(entry, "venue"),
        doi=doi_of(entry, "doi"),
        abstract=text_of(entry, "abstract"),
        line=line,
    )


def _read(member: Member, papers: _Papers) -> Document | Problem | None:
    line, entry = member.line, member.value
    if not isinstance(entry, dict):
        return unknown_object(line, {member.key or "": entry}, _EXPECTED)
    name = fold(member.key or "")
    if "citing_id" in entry or "masked_text" in entry:
        return _add(papers, line, name or text_of(entry, "context_id"), entry)
    doc_id = name or text_of(entry, "paper_id", "id")
    if doc_id is None or not {"title", "abstract"} & entry.keys():
        return unknown_object(line, entry, _EXPECTED)
    return _document(line, doc_id, entry)


def _parse(chunk: Chunk) -> Iterator[Record]:
    papers: _Papers = {}
    for item in json_document(chunk):
        read: Any = item if isinstance(item, Problem) else _read(item, papers)
        if read is not None:
            yield read
    yield from (paper.finished() for paper in papers.values())


LOCAL_CITATION_JSON = Format(
    "local-citation-json",
    "local citation contexts and papers (Gu et al. 2022)",
    is_kind("local-citation-json"),
    _parse,
)
