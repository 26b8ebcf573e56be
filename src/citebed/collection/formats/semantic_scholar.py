"""Semantic Scholar: papers of the Graph API and of the datasets, the older Open Research Corpus,
and S2ORC metadata.

The sources differ in the capitals of their names (``externalIds``, ``externalids``), so names
are compared in lower case. See https://api.semanticscholar.org/api-docs/ and
https://github.com/allenai/s2orc.

Full texts of S2ORC, of CORD-19 and of s2orc-doc2json: documents that cite.

Text stands by paragraph, with the places of its citations (``cite_spans``) and a list of
references (``bib_entries``), bare or under ``pdf_parse``; or as one text with annotations, as
the datasets of the Semantic Scholar API have it. See https://github.com/allenai/s2orc.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import arxiv_id, links_to, page_range
from citebed.collection.formats.fulltext import cited_sentences, paper_records
from citebed.collection.formats.json_objects import (
    JsonObject,
    as_int,
    as_object,
    as_text,
    is_kind,
    json_format,
)
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.records import Context, Document, Problem, Record, Reference, Section
from citebed.text.normalise import entities_to_text, fold

_TYPES = {
    "conference": "inproceedings",
    "journalarticle": "article",
    "booksection": "incollection",
    "book": "book",
    "review": "article",
}


def _lower(obj: JsonObject) -> JsonObject:
    return obj._replace(values={name.lower(): value for name, value in obj.values.items()})


def _paper(item: JsonObject) -> JsonObject:
    """The paper in lower-case names, taken out of what the API or an old release wraps it in."""
    paper = _lower(item)
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
    stated = paper.text("url", "s2_url", "s2url")
    if stated or not (arxiv or acl):
        return stated
    return f"https://arxiv.org/abs/{arxiv}" if arxiv else f"https://aclanthology.org/{acl}"


def _record(item: JsonObject) -> Document | Problem:
    paper = _paper(item)
    ids, journal = _lower(paper.object("externalids")), paper.object("journal")
    doi = ids.doi("doi") or paper.doi("doi")
    own_id = paper.text("paperid", "corpusid", "paper_id", "id")
    doc_id = own_id or ids.text("corpusid") or doi
    if doc_id is None:
        return item.unknown("a paper with 'paperId', 'corpusid' or 'paper_id'")
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
        line=item.line,
    )


SEMANTIC_SCHOLAR = json_format(
    "semantic-scholar",
    "Semantic Scholar and S2ORC",
    partial(json_records, into=frozenset({"data", "recommendedPapers"})),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)


# --- Full text (S2ORC) ------------------------------------------------------------------------


_PARSES = ("pdf_parse", "latex_parse", "grobid_parse")


class _Paragraph(NamedTuple):
    """A paragraph: its section, its text, and where it cites what."""

    section: str
    text: str
    marks: tuple[tuple[int, str], ...]


def _parse(chunk: Chunk) -> Iterator[Record]:
    for item in json_records(chunk, into=frozenset({"data"})):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _s2orc_paper(item)


def _s2orc_paper(paper: JsonObject) -> Iterator[Record]:
    text = _annotated(paper)
    parse = next((paper.object(name) for name in _PARSES if paper.object(name).values), paper)
    paragraphs = text.paragraphs() if text else list(_paragraphs(parse, "body_text"))
    references = tuple(text.references() if text else _references(parse))
    document = _document(paper, parse, text)
    if not document.doc_id:
        yield paper.unknown("a paper with 'paper_id' or 'corpusid'")
    elif not (document.title or document.abstract or paragraphs):
        yield Problem(paper.line, f"paper {document.doc_id} has no title, abstract or text")
    else:
        document = document._replace(sections=tuple(_sections(paragraphs)))
        yield from paper_records(document, tuple(_contexts(paragraphs)), references)


def _document(paper: JsonObject, parse: JsonObject, text: _Annotated | None) -> Document:
    """What the paper says of itself, in its own members or under ``metadata``."""
    meta = JsonObject(paper.line, {**paper.object("metadata").values, **paper.values})
    ids = {**paper.object("externalids").values, **paper.object("identifiers").values}
    known = JsonObject(paper.line, {name.lower(): value for name, value in ids.items()})
    doi = known.doi("doi") or meta.doi("doi")
    year, date = meta.when("year", "publication_date", "publicationdate")
    paragraphs = (*_paragraphs(parse, "abstract"), *_paragraphs(paper, "abstract"))
    abstract = fold(" ".join(dict.fromkeys(part.text for part in paragraphs)))
    return Document(
        doc_id=meta.text("paper_id", "corpusid") or "",
        type="article" if meta.text("journal") else "misc",
        title=meta.markup("title") or (text.first("title") if text else ""),
        authors=meta.people("authors"),
        year=year,
        date=date,
        venue=meta.text("venue", "journal"),
        doi=doi,
        arxiv=arxiv_id(doi, eprint=known.text("arxiv", "arxiv_id")),
        abstract=meta.markup("abstract") or abstract or (text.first("abstract") if text else None),
        line=paper.line,
    )


def _paragraphs(parse: JsonObject, name: str) -> Iterator[_Paragraph]:
    for part in parse.objects(name):
        raw = part.values.get("text")
        if isinstance(raw, str) and fold(raw):
            spans = ((as_int(s.values.get("start")), s) for s in part.objects("cite_spans"))
            marks = [(at, s.text("ref_id") or "") for at, s in spans if at is not None]
            yield _Paragraph(part.text("section") or "", raw, tuple(_in(raw, marks)))


def _in(text: str, marks: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Marks of a reference, in their order and inside the text."""
    return sorted((min(max(at, 0), len(text)), cited) for at, cited in marks if cited)


def _sections(paragraphs: Iterable[_Paragraph]) -> Iterator[Section]:
    for heading, parts in groupby(paragraphs, key=lambda part: part.section):
        yield Section(heading, fold(" ".join(part.text for part in parts)))


def _contexts(paragraphs: Iterable[_Paragraph]) -> Iterator[Context]:
    """The paragraphs that cite something, by sentence, numbered from ``01``."""
    for number, part in enumerate((part for part in paragraphs if part.marks), 1):
        places, cited = zip(*part.marks, strict=True)
        sentences = cited_sentences(part.text, places, ((name,) for name in cited))
        yield Context(f"{number:02d}", part.section, sentences)


def _references(parse: JsonObject) -> Iterator[Reference]:
    """The reference list; ``link`` is the id of the cited paper among those of Semantic Scholar."""
    for key, value in parse.object("bib_entries").values.items():
        entry = as_object(value, parse.line)
        others = entry.object("other_ids")
        title = fold(entities_to_text(entry.text("title") or "")) or None  # O&apos;Sullivan
        yield Reference(
            ref_id=fold(key),
            doi=others.doi("DOI", "doi") or entry.doi("doi"),
            url=next(iter(entry.texts("urls")), None),
            doc_id=entry.text("link", "links"),
            title=title,
            arxiv=arxiv_id(None, eprint=others.text("arXiv", "arxiv") or entry.text("arxiv_id")),
            author=next(iter(entry.people("authors")), None),
        )


# --- One text with annotations --------------------------------------------------------------


class _Annotated(NamedTuple):
    """A text, and what is marked in it: for each name the places and their attributes."""

    text: str
    marked: dict[str, list[tuple[int, int, JsonObject]]]

    def inside(self, name: str, start: int, end: int) -> list[tuple[int, int, JsonObject]]:
        """The places with this mark that begin between two places."""
        marked = self.marked[name]
        first = bisect_left(marked, start, key=lambda place: place[0])
        return marked[first : bisect_left(marked, end, key=lambda place: place[0])]

    def first(self, name: str) -> str:
        """The text of the first place with this mark."""
        return next((fold(self.text[start:end]) for start, end, _ in self.marked[name]), "")

    def paragraphs(self) -> list[_Paragraph]:
        """The paragraphs, each under the heading before it, with the citations inside it."""
        items = []
        headings = self.marked["sectionheader"]
        ends = [end for _, end, _ in headings]
        for start, end, _ in self.marked["paragraph"]:
            at = bisect_right(ends, start) - 1
            heading = fold(self.text[headings[at][0] : headings[at][1]]) if at >= 0 else ""
            inside = self.inside("bibref", start, end)
            marks = ((place[0] - start, place[2].text("ref_id") or "") for place in inside)
            text = self.text[start:end]
            items.append(_Paragraph(heading, text, tuple(_in(text, marks))))
        return [paragraph for paragraph in items if fold(paragraph.text)]

    def references(self) -> Iterator[Reference]:
        """The entries of the bibliography, each with the title that is marked in it."""
        for start, end, entry in self.marked["bibentry"]:
            titles = self.inside("bibtitle", start, end)
            title = next((fold(self.text[t[0] : t[1]]) for t in titles), None)
            ref_id = entry.text("id", "ref_id")
            if ref_id:
                linked = entry.text("matched_paper_id")
                yield Reference(ref_id, doi=entry.doi("doi"), doc_id=linked, title=title or None)


_NAMES = ("title", "abstract", "paragraph", "sectionheader", "bibref", "bibentry", "bibtitle")


def _annotated(paper: JsonObject) -> _Annotated | None:
    content = paper.object("content" if paper.object("content").values else "body")
    text = content.values.get("text")
    if not isinstance(text, str):
        return None
    annotations = content.object("annotations").values
    named = {name.lower().replace("_", ""): value for name, value in annotations.items()}
    return _Annotated(text, {name: _places(named.get(name), len(text)) for name in _NAMES})


def _places(value: Any, length: int) -> list[tuple[int, int, JsonObject]]:
    """Places in a text of some length, as a list or as JSON in a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    items = []
    for item in value if isinstance(value, list) else ():
        place = as_object(item)
        start, end = as_int(place.values.get("start")), as_int(place.values.get("end"))
        if start is not None and end is not None and 0 <= start <= end <= length:
            items.append((start, end, place.object("attributes")))
    return sorted(items, key=lambda place: place[:2])


S2ORC = Format(
    "s2orc",
    "S2ORC and CORD-19 full text",
    is_kind("s2orc"),
    _parse,
    cut_lines_or_document,
    or_whole=True,
)
