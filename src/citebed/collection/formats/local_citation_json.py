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
from citebed.collection.formats.jsonfiles import Member, json_document
from citebed.collection.formats.jsonkinds import is_kind
from citebed.collection.formats.jsonvalues import JsonObject, reference_to
from citebed.records import CitingPaper, Context, Document, Problem, Record, Reference, Sentence
from citebed.text.free_ids import FreeIds
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


def _add(papers: _Papers, wanted_id: str | None, entry: JsonObject) -> Problem | None:
    """Take in a context; a ``Problem`` where it names no citing or cited paper or no text."""
    citing, text = entry.text("citing_id"), entry.text("masked_text", "context")
    cited = next(filter(None, map(entry.texts, _CITED)), ())
    if citing is None or text is None or not cited:
        return entry.unknown(_EXPECTED)
    if citing not in papers:
        title, abstract = entry.text("citing_title"), entry.text("citing_abstract")
        paper = CitingPaper(citing, title=title or "", abstract=abstract, line=entry.line)
        papers[citing] = _CitingPaper(paper)
    papers[citing].add(wanted_id, text, cited)
    return None


def _read(member: Member, papers: _Papers) -> Document | Problem | None:
    if not isinstance(member.value, dict):
        return JsonObject(member.line, {member.key or "": None}).unknown(_EXPECTED)
    entry = JsonObject(member.line, member.value)
    name = fold(member.key or "")
    if {"citing_id", "masked_text"} & entry.values.keys():
        return _add(papers, name or entry.text("context_id"), entry)
    doc_id = name or entry.text("paper_id", "id")
    if doc_id is None or not {"title", "abstract"} & entry.values.keys():
        return entry.unknown(_EXPECTED)
    year, date = entry.when("year", "date")
    return Document(
        doc_id=doc_id,
        title=entry.text("title") or "",
        authors=entry.people("authors"),
        year=year,
        date=date,
        venue=entry.text("venue"),
        doi=entry.doi("doi"),
        abstract=entry.text("abstract"),
        line=entry.line,
    )


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
