"""citebed's own JSON Lines, and sets for local citation recommendation.

JSON Lines have the field names of the data model, one object per line: documents, citing papers,
queries and judgements may be in one file. Consecutive lines of flat contexts (``{"citing",
"context", "cited"}``) with one citing paper become one ``CitingPaper``, with a context for each
distinct text. If ``year`` or ``date`` is left out, it comes from the other; if ``doi`` is left out,
it comes from an id that is a DOI. A member that is ``null`` stays unknown.

Sets for local citation recommendation have the form of Gu et al., ECIR 2022
(https://doi.org/10.1007/978-3-030-99736-6_19): ACL-200, FullTextPeerRead, RefSeer, arXiv.
``contexts.json`` has contexts (``masked_text``, ``citing_id``, ``refid``), ``papers.json`` has
papers (``title``, ``abstract``) by name. All contexts of one citing paper become one
``CitingPaper``, with one sentence per context. The masked citation, ``TARGETCIT``, becomes
``[CIT]`` as in other sources; ``OTHERCIT``, a citation of another paper, becomes ``[OTHERCIT]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from citebed.collection.formats.base import MAX_RECORD_BYTES, Chunk, Format
from citebed.collection.formats.json_files import (
    JsonObject,
    Member,
    as_int,
    as_object,
    as_text,
    json_members,
    json_records,
    make_reference,
    sniff_json,
    split_json_lines,
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

# --- Fields ---------------------------------------------------------------------------------

_DOCUMENT_KEYS = {"title", "abstract", "authors", "sections", "keywords", "bibtex", "links"}
_EXPECTED = (
    "a document (doc_id, title, …), a citing paper (paper_id, contexts, …), a flat context "
    "(citing, context, cited), a query (query_id, text) or a judgement (query_id, doc_id, …)"
)
_LINK_KINDS = ("cites", "linked", "coupled", "cocited")
_PLAIN = ("venue", "volume", "number", "pages", "publisher", "url", "abstract", "language", "place",
          "edition", "isbn")  # fmt: skip


def _year_and_date(obj: JsonObject) -> tuple[int | None, str | None]:
    """Return year and ISO date, each from the other if it is left out."""
    year, date = obj.year("year"), obj.text("date")
    is_iso = date is not None and re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", date)
    # A valid ISO date of any year stays; date_in reads plausible years only.
    if not is_iso or iso_date(*map(int, (date or "").split("-"))) != date:
        date = date_in(date)
    if year is None and date is not None and "year" not in obj.values:
        year = int(date[:4])
    return year, iso_date(year) if date is None and "date" not in obj.values else date


def _doi_or_id(obj: JsonObject, record_id: str) -> str | None:
    """Return the DOI, or if it is left out, the id of the record if that is a DOI."""
    return obj.doi("doi") if "doi" in obj.values else as_object({"id": record_id}).doi("id")


def _raw_text(obj: JsonObject, name: str) -> str | None:
    """Return text with its white space, without characters that UTF-8 cannot encode."""
    value = obj.values.get(name)
    return value.encode("utf-8", "ignore").decode() or None if isinstance(value, str) else None


def _parse_document(doc_id: str, obj: JsonObject) -> Document:
    year, date = _year_and_date(obj)
    keys, cite_key = obj.texts("keys"), obj.text("cite_key")
    links = []
    for value in obj.elements("links"):  # objects or bare targets
        link = as_object(value if isinstance(value, dict) else {"target": value})
        kind = link.text("kind") or "cites"
        if (target := link.text("target")) is not None:
            known = kind if kind in _LINK_KINDS else "linked"
            links.append(Link(target, known, link.number("weight", 1.0)))
    sections = (
        as_object(value if isinstance(value, dict) else {"text": value})
        for value in obj.elements("sections")
    )
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
        groups=obj.texts("groups"),
        bibtex=_raw_text(obj, "bibtex"),
        crossref=obj.text("crossref"),
        keys=unique((cite_key, *keys)) if cite_key in keys else keys,
        sections=tuple(Section(s.text("heading") or "", s.text("text") or "") for s in sections),
        links=tuple(links),
        line=obj.line,
        **{name: obj.text(name) for name in _PLAIN},
    )


def _parse_sentence(value: Any) -> Sentence:
    if not isinstance(value, dict):
        return Sentence(as_text(value) or "")
    sentence, mark = as_object(value), value.get("anonymised", False)
    cites = tuple(filter(None, map(as_text, sentence.elements("cites"))))
    return Sentence(sentence.text("text") or "", cites, None if mark is None else mark is True)


def _parse_reference(place: int, value: Any) -> Reference:
    if not isinstance(value, dict):
        return make_reference(as_text(value) or str(place))
    reference = as_object(value)
    return Reference(
        reference.text("ref_id", "id") or str(place),
        doi=reference.doi("doi"),
        url=reference.text("url"),
        doc_id=reference.text("doc_id"),
        title=reference.text("title"),
        raw=_raw_text(reference, "raw"),
        arxiv=arxiv_of(reference.text("arxiv") or ""),
        author=reference.text("author"),
    )


# --- JSON Lines -----------------------------------------------------------------------------


def _parse_object(obj: JsonObject) -> Record:
    """Return the record of an object; its keys determine the kind."""
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
        year, date = _year_and_date(obj)
        ids, contexts = FreeIds(), []
        for place, value in enumerate(obj.objects("contexts"), 1):
            context_id = ids.take(value.text("context_id", "id") or str(place))
            parts = value.elements("sentences") if "sentences" in value.values else [value.values]
            sentences = tuple(map(_parse_sentence, parts))
            contexts.append(Context(context_id, value.text("section") or "", sentences))
        references = enumerate(obj.elements("references"), 1)
        return CitingPaper(
            paper_id,
            doi=_doi_or_id(obj, paper_id),
            title=obj.text("title") or "",
            abstract=obj.text("abstract"),
            year=year,
            date=date,
            contexts=tuple(contexts),
            references=tuple(_parse_reference(place, value) for place, value in references),
            line=obj.line,
        )
    if paper_id and query_id is None and ("doc_id" in keys or _DOCUMENT_KEYS & keys):
        return _parse_document(paper_id, obj)
    return obj.unexpected(_EXPECTED)


_Flat = tuple[str, str, tuple[str, ...], int]
"""A flat context: citing paper, text, cited papers, line."""


def _parse(chunk: Chunk) -> Iterator[Record]:
    flat: list[_Flat] = []
    for item in json_records(chunk):
        if isinstance(item, Problem):
            yield item
            continue
        context: _Flat | None = None
        if citing := item.text("citing"):
            text, cited = item.text("context"), item.texts("cited")
            context = (citing, text, cited, item.line) if text and cited else None
        if flat and (context is None or context[0] != flat[0][0]):
            yield _make_flat_paper(flat)
            flat = []
        if context is not None:
            flat.append(context)
        else:
            yield _parse_object(item)
    if flat:
        yield _make_flat_paper(flat)


def _make_flat_paper(flat: list[_Flat]) -> CitingPaper:
    """Make a citing paper from flat contexts; equal texts become one context."""
    citing, _, _, line = flat[0]
    cited: dict[str, dict[str, None]] = {}
    for _, text, names, _ in flat:
        cited.setdefault(text, {}).update(dict.fromkeys(names))
    paper = CitingPaper(citing, as_object({"id": citing}).doi("id"), line=line)
    return _add_contexts(paper, [(None, text, tuple(names)) for text, names in cited.items()])


def _add_contexts(
    paper: CitingPaper, contexts: list[tuple[str | None, str, tuple[str, ...]]]
) -> CitingPaper:
    """Add contexts of one sentence, given by the wanted id, the text and the cited papers."""
    ids = FreeIds()
    return paper._replace(
        contexts=tuple(
            Context(ids.take(wanted or str(place)), "", (Sentence(text, cited),))
            for place, (wanted, text, cited) in enumerate(contexts, 1)
        ),
        references=tuple(map(make_reference, unique(chain(*(cited for *_, cited in contexts))))),
    )


_CITING = compile_regex(rb'"citing"\s*:\s*"((?:[^"\\]++|\\.)*+)"')


def _split(buffer: bytes) -> int:
    """Split after the last newline that is not between flat contexts of one citing paper.

    Split a paper that fills half of the largest record.
    """
    start = end = split_json_lines(buffer)
    last: bytes | None = None
    while start > 0:
        previous = buffer.rfind(b"\n", 0, start - 1) + 1
        match = _CITING.search(buffer, previous, start)
        if match is None or (last is not None and match[1] != last):
            return start
        last, start = match[1], previous
    return end if end > MAX_RECORD_BYTES // 2 else 0


JSONL = Format(
    "jsonl", "citebed JSON Lines", sniff_json("jsonl"), _parse, _split, allow_unsplit=True
)


# --- Local citation recommendation ------------------------------------------------------------

_TARGET = re.compile(r"\[TARGETCIT\]|TARGETCIT")
_OTHER = re.compile(r"\[OTHERCIT\]|OTHERCIT")
_CITED = ("refid", "ref_id", "cited_id", "refers_to", "positive_ids")
_LOCAL_EXPECTED = "a context with 'masked_text', 'citing_id' and 'refid', or a paper with 'title'"


class _LocalPaper(NamedTuple):
    """A citing paper that is being read, with a context for each entry that names it."""

    paper: CitingPaper
    contexts: list[tuple[str | None, str, tuple[str, ...]]]


def _parse_member(member: Member, papers: dict[str, _LocalPaper]) -> Document | Problem | None:
    """Return the document or problem of a member, or add its context to its citing paper."""
    name = fold(member.key or "")
    if not isinstance(member.value, dict):
        return JsonObject(member.line, {member.key or "": None}).unexpected(_LOCAL_EXPECTED)
    entry = JsonObject(member.line, member.value)
    if {"citing_id", "masked_text"} & entry.values.keys():
        citing, text = entry.text("citing_id"), entry.text("masked_text", "context")
        cited = next(filter(None, map(entry.texts, _CITED)), ())
        if citing is None or text is None or not cited:
            return entry.unexpected(_LOCAL_EXPECTED)
        if citing not in papers:
            title, abstract = entry.text("citing_title"), entry.text("citing_abstract")
            paper = CitingPaper(citing, title=title or "", abstract=abstract, line=entry.line)
            papers[citing] = _LocalPaper(paper, [])
        text = _OTHER.sub("[OTHERCIT]", _TARGET.sub("[CIT]", text))
        papers[citing].contexts.append((name or entry.text("context_id"), text, cited))
        return None
    doc_id = name or entry.text("paper_id", "id")
    if doc_id is None or not {"title", "abstract"} & entry.values.keys():
        return entry.unexpected(_LOCAL_EXPECTED)
    year, date = entry.year_and_date("year", "date")
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


def _parse_local(chunk: Chunk) -> Iterator[Record]:
    papers: dict[str, _LocalPaper] = {}
    for item in json_members(chunk):
        record = item if isinstance(item, Problem) else _parse_member(item, papers)
        if record is not None:
            yield record
    for local in papers.values():
        yield _add_contexts(*local)


LOCAL_CITATION_JSON = Format(
    "local-citation-json",
    "local citation contexts and papers (Gu et al. 2022)",
    sniff_json("local-citation-json"),
    _parse_local,
)
