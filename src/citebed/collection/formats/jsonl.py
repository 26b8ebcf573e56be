"""citebed's own JSON Lines: objects with the data model's field names, one per line.

Documents, citing papers, queries and judgements may stand in one file. Flat contexts
(``{"citing", "context", "cited"}``) are also read: consecutive lines of one citing paper become
one ``CitingPaper``, in which every text that differs is a context of its own.

``year`` and ``date`` are each derived from the other, and ``doi`` from an id that is one, where
they are left out; a member that is there as ``null`` stays unknown.

Local citation recommendation sets in the form of Gu et al., ECIR 2022
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
from itertools import chain
from typing import Any, NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES, Chunk, Format
from citebed.collection.formats.json_objects import (
    JsonObject,
    as_int,
    as_object,
    as_text,
    is_kind,
    reference_to,
)
from citebed.collection.formats.jsonfiles import (
    Member,
    cut_lines_or_document,
    json_document,
    json_records,
)
from citebed.records import (
    CitingPaper,
    Context,
    Document,
    Judgement,
    Link,
    Problem,
    Query,
    Record,
    Reference,
    Section,
    Sentence,
)
from citebed.text.identifiers import FreeIds, arxiv_of
from citebed.text.normalise import date_in, fold, iso_date, unique
from citebed.text.regex import compile_regex

_DOCUMENT_KEYS = {"title", "abstract", "authors", "sections", "keywords", "bibtex", "links"}
_EXPECTED = (
    "a document (doc_id, title, …), a citing paper (paper_id, contexts, …), a flat context "
    "(citing, context, cited), a query (query_id, text) or a judgement (query_id, doc_id, …)"
)

_LINK_KINDS = ("cites", "linked", "coupled", "cocited")

# --- documents ------------------------------------------------------------------------------


def _iso(text: str | None) -> str | None:
    """A date as it stands if it is ISO 8601, in any year; else what can be read in it."""
    if text and re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", text):
        parts = [int(part) for part in text.split("-")]
        if iso_date(*parts) == text:
            return text
    return date_in(text)


def _year_and_date(obj: JsonObject) -> tuple[int | None, str | None]:
    """Year and ISO date, each derived from the other where that is left out."""
    year, date = obj.year("year"), _iso(obj.text("date"))
    if year is None and date is not None and "year" not in obj.values:
        year = int(date[:4])
    return year, iso_date(year) if date is None and "date" not in obj.values else date


def _doi_or_id(obj: JsonObject, record_id: str) -> str | None:
    """The DOI, derived from the record's id where it is left out."""
    return obj.doi("doi") if "doi" in obj.values else as_object({"id": record_id}).doi("id")


def _section(value: Any) -> Section:
    section = as_object(value if isinstance(value, dict) else {"text": value})
    return Section(section.text("heading") or "", section.text("text") or "")


def _links(obj: JsonObject) -> Iterator[Link]:
    """Links from objects or bare targets; a kind we do not know says no more than ``linked``."""
    for value in obj.elements("links"):
        link = as_object(value if isinstance(value, dict) else {"target": value})
        kind = link.text("kind") or "cites"
        if (target := link.text("target")) is not None:
            known = kind if kind in _LINK_KINDS else "linked"
            yield Link(target, known, link.number("weight", 1.0))


def _raw(obj: JsonObject, name: str) -> str | None:
    """Text to the letter, blanks and line ends included, without what UTF-8 cannot hold."""
    value = obj.values.get(name)
    return value.encode("utf-8", "ignore").decode() or None if isinstance(value, str) else None


_PLAIN = ("venue", "volume", "number", "pages", "publisher", "url", "abstract", "language", "place",
          "edition", "isbn")  # fmt: skip


def _keys_of(obj: JsonObject) -> tuple[str, ...]:
    """The keys, first the one that the document goes by, if a source gave it."""
    keys, first = obj.texts("keys"), obj.text("cite_key")
    return unique((first, *keys)) if first in keys else keys


def _document(doc_id: str, obj: JsonObject) -> Document:
    """The document of an object that has the fields' names; wrong types count as unknown."""
    year, date = _year_and_date(obj)
    return Document(
        doc_id=doc_id,
        type=fold((obj.text("type") or "misc").lower()),
        title=obj.text("title") or "",
        authors=obj.people("authors"),
        editors=obj.people("editors"),
        year=year,
        date=date,
        doi=_doi_or_id(obj, doc_id),
        arxiv=arxiv_of(obj.text("arxiv") or ""),
        keywords=obj.keywords("keywords"),
        bibtex=_raw(obj, "bibtex"),
        crossref=obj.text("crossref"),
        keys=_keys_of(obj),
        sections=tuple(map(_section, obj.elements("sections"))),
        links=tuple(_links(obj)),
        line=obj.line,
        **{name: obj.text(name) for name in _PLAIN},
    )


# --- citing papers --------------------------------------------------------------------------


def _sentence(value: Any) -> Sentence:
    if not isinstance(value, dict):
        return Sentence(as_text(value) or "")
    sentence, mark = as_object(value), value.get("anonymised", False)
    cites = tuple(filter(None, map(as_text, sentence.elements("cites"))))
    return Sentence(sentence.text("text") or "", cites, None if mark is None else mark is True)


def _contexts(obj: JsonObject) -> Iterator[Context]:
    """The paragraphs; one without an id is named by its place, a copy by ``-2``."""
    ids = FreeIds()
    for place, value in enumerate(obj.objects("contexts"), 1):
        context_id = ids.take(value.text("context_id", "id") or str(place))
        parts = value.elements("sentences") if "sentences" in value.values else [value.values]
        yield Context(context_id, value.text("section") or "", tuple(map(_sentence, parts)))


def _reference(place: int, value: Any) -> Reference:
    if not isinstance(value, dict):
        return reference_to(as_text(value) or str(place))
    reference = as_object(value)
    return Reference(
        reference.text("ref_id", "id") or str(place),
        doi=reference.doi("doi"),
        url=reference.text("url"),
        doc_id=reference.text("doc_id"),
        title=reference.text("title"),
        raw=_raw(reference, "raw"),
        arxiv=arxiv_of(reference.text("arxiv") or ""),
        author=reference.text("author"),
    )


def _paper(paper_id: str, obj: JsonObject) -> CitingPaper:
    year, date = _year_and_date(obj)
    references = enumerate(obj.elements("references"), 1)
    return CitingPaper(
        paper_id,
        doi=_doi_or_id(obj, paper_id),
        title=obj.text("title") or "",
        abstract=obj.text("abstract"),
        year=year,
        date=date,
        contexts=tuple(_contexts(obj)),
        references=tuple(_reference(place, value) for place, value in references),
        line=obj.line,
    )


class _Flat(NamedTuple):
    """A flat context."""

    citing: str
    text: str
    cited: tuple[str, ...]
    line: int


def _flat_paper(flat: list[_Flat]) -> CitingPaper:
    """The citing paper of flat contexts; a text that was there before gets more citations.

    Its references are named by the cited ids, in order of appearance.
    """
    cited: dict[str, dict[str, None]] = {}
    for context in flat:
        cited.setdefault(context.text, {}).update(dict.fromkeys(context.cited))
    return CitingPaper(
        flat[0].citing,
        as_object({"id": flat[0].citing}).doi("id"),
        contexts=tuple(
            Context(str(place), "", (Sentence(text, tuple(targets)),))
            for place, (text, targets) in enumerate(cited.items(), 1)
        ),
        references=tuple(map(reference_to, dict.fromkeys(chain(*cited.values())))),
        line=flat[0].line,
    )


# --- lines ----------------------------------------------------------------------------------


def _record(obj: JsonObject) -> Record:
    """The record an object stands for, by the keys it has."""
    query_id, text, doc_id = obj.text("query_id"), obj.text("text"), obj.text("doc_id", "id")
    paper_id = obj.text("paper_id") or doc_id
    relevance, keys = as_int(obj.values.get("relevance")), obj.values.keys()
    if query_id and doc_id and relevance is not None:
        return Judgement(query_id, doc_id, relevance, obj.line)
    if query_id and text:
        return Query(query_id, text, obj.text("title"), obj.line)
    if query_id and doc_id and (grade := obj.text("relevance")):
        return Problem(obj.line, f"expected a whole number as relevance, found '{grade[:40]}'")
    if paper_id and ("contexts" in keys or {"paper_id", "references"} <= keys):
        return _paper(paper_id, obj)
    if paper_id and query_id is None and ("doc_id" in keys or _DOCUMENT_KEYS & keys):
        return _document(paper_id, obj)
    return obj.unknown(_EXPECTED)


def _flat(obj: JsonObject) -> _Flat | None:
    """The flat context that an object is; ``None`` for all other objects."""
    if (citing := obj.text("citing")) is None:
        return None
    text, cited = obj.text("context"), obj.texts("cited")
    return _Flat(citing, text, cited, obj.line) if text and cited else None


def _parse(chunk: Chunk) -> Iterator[Record]:
    flat: list[_Flat] = []
    for item in json_records(chunk):
        if isinstance(item, Problem):
            yield item
            continue
        context = _flat(item)
        if flat and (context is None or context.citing != flat[0].citing):
            yield _flat_paper(flat)
            flat = []
        if context is None:
            yield _record(item)
        else:
            flat.append(context)
    if flat:
        yield _flat_paper(flat)


_CITING = compile_regex(rb'"citing"\s*:\s*"((?:[^"\\]++|\\.)*+)"')


def _cut(buffer: bytes) -> int:
    """The last newline, but not between flat contexts of one citing paper.

    A paper that fills half of what a record may hold is cut all the same.
    """
    start = end = cut_lines_or_document(buffer)
    last: bytes | None = None
    while start > 0:
        previous = buffer.rfind(b"\n", 0, start - 1) + 1
        match = _CITING.search(buffer, previous, start)
        if match is None or (last is not None and match[1] != last):
            return start
        last, start = match[1], previous
    return end if end > MAX_RECORD_BYTES // 2 else 0


JSONL = Format("jsonl", "citebed JSON Lines", is_kind("jsonl"), _parse, _cut, or_whole=True)


# --- JSON of local citation recommendation ----------------------------------------------------


_TARGET = re.compile(r"\[TARGETCIT\]|TARGETCIT")
_OTHER = re.compile(r"\[OTHERCIT\]|OTHERCIT")
_CITED = ("refid", "ref_id", "cited_id", "refers_to", "positive_ids")
_LOCAL_EXPECTED = "a context with 'masked_text', 'citing_id' and 'refid', or a paper with 'title'"


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
        return entry.unknown(_LOCAL_EXPECTED)
    if citing not in papers:
        title, abstract = entry.text("citing_title"), entry.text("citing_abstract")
        paper = CitingPaper(citing, title=title or "", abstract=abstract, line=entry.line)
        papers[citing] = _CitingPaper(paper)
    papers[citing].add(wanted_id, text, cited)
    return None


def _read(member: Member, papers: _Papers) -> Document | Problem | None:
    if not isinstance(member.value, dict):
        return JsonObject(member.line, {member.key or "": None}).unknown(_LOCAL_EXPECTED)
    entry = JsonObject(member.line, member.value)
    name = fold(member.key or "")
    if {"citing_id", "masked_text"} & entry.values.keys():
        return _add(papers, name or entry.text("context_id"), entry)
    doc_id = name or entry.text("paper_id", "id")
    if doc_id is None or not {"title", "abstract"} & entry.values.keys():
        return entry.unknown(_LOCAL_EXPECTED)
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


def _local_parse(chunk: Chunk) -> Iterator[Record]:
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
    _local_parse,
)
