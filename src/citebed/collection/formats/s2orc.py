"""Full texts of S2ORC, of CORD-19 and of s2orc-doc2json: documents that cite.

Text comes by paragraph, with the places of its citations (``cite_spans``) and a list of references
(``bib_entries``), in the paper itself or under ``pdf_parse``; or as one text with annotations, as
in the datasets of the Semantic Scholar API. See https://github.com/allenai/s2orc.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.fields import find_arxiv_id
from citebed.collection.formats.full_text import cite_by_sentence, paper_records
from citebed.collection.formats.json_files import (
    JsonObject,
    as_int,
    as_object,
    json_records,
    sniff_json,
    split_json_lines,
)
from citebed.records import Context, Document, Problem, Record, Reference, Section
from citebed.text.normalise import entities_to_text, fold

_PARSES = ("pdf_parse", "latex_parse", "grobid_parse")


class _Paragraph(NamedTuple):
    """A paragraph, its section, and its citations: their positions and the reference ids."""

    section: str
    text: str
    marks: tuple[tuple[int, str], ...]


class _AnnotatedText:
    """A text with annotations; ``places`` has the start, end and attributes of each, by name."""

    names = ("title", "abstract", "paragraph", "sectionheader", "bibref", "bibentry", "bibtitle")

    def __init__(self, text: str, annotations: dict[str, Any]) -> None:
        self.text = text
        named = {name.lower().replace("_", ""): value for name, value in annotations.items()}
        self.places = {name: self._parse_places(named.get(name)) for name in self.names}

    def _parse_places(self, value: Any) -> list[tuple[int, int, JsonObject]]:
        if isinstance(value, str):  # JSON in a string
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return []
        places = []
        for item in value if isinstance(value, list) else ():
            place = as_object(item)
            start, end = as_int(place.values.get("start")), as_int(place.values.get("end"))
            if start is not None and end is not None and 0 <= start <= end <= len(self.text):
                places.append((start, end, place.object("attributes")))
        return sorted(places, key=itemgetter(0, 1))

    def inside(self, name: str, start: int, end: int) -> list[tuple[int, int, JsonObject]]:
        """Return the annotations of this name that begin between two positions."""
        places = self.places[name]
        first = bisect_left(places, start, key=itemgetter(0))
        return places[first : bisect_left(places, end, key=itemgetter(0))]

    def first(self, name: str) -> str:
        """Return the text of the first annotation of this name."""
        return next((fold(self.text[start:end]) for start, end, _ in self.places[name]), "")

    def paragraphs(self) -> list[_Paragraph]:
        """Return the paragraphs with the heading before each and the citations in it."""
        paragraphs = []
        headings = self.places["sectionheader"]
        ends = [end for _, end, _ in headings]
        for start, end, _ in self.places["paragraph"]:
            at = bisect_right(ends, start) - 1
            heading = fold(self.text[headings[at][0] : headings[at][1]]) if at >= 0 else ""
            inside = self.inside("bibref", start, end)
            marks = ((place[0] - start, place[2].text("ref_id") or "") for place in inside)
            text = self.text[start:end]
            paragraphs.append(_Paragraph(heading, text, _sort_marks(text, marks)))
        return [paragraph for paragraph in paragraphs if fold(paragraph.text)]

    def references(self) -> Iterator[Reference]:
        """Yield the entries of the bibliography, each with the title that is marked in it."""
        for start, end, entry in self.places["bibentry"]:
            titles = self.inside("bibtitle", start, end)
            title = next((fold(self.text[t[0] : t[1]]) for t in titles), None)
            if ref_id := entry.text("id", "ref_id"):
                linked = entry.text("matched_paper_id")
                yield Reference(ref_id, doi=entry.doi("doi"), doc_id=linked, title=title or None)


def _sort_marks(text: str, marks: Iterable[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """Return the marks that name a reference, in order, with positions inside the text."""
    return tuple(sorted((min(max(at, 0), len(text)), cited) for at, cited in marks if cited))


def _parse(chunk: Chunk) -> Iterator[Record]:
    for item in json_records(chunk, into=("data",)):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _parse_paper(item)


def _parse_paper(paper: JsonObject) -> Iterator[Record]:
    content = paper.object("content" if paper.object("content").values else "body")
    text = content.values.get("text")
    annotated = None
    if isinstance(text, str):
        annotated = _AnnotatedText(text, content.object("annotations").values)
    parse = next((paper.object(name) for name in _PARSES if paper.object(name).values), paper)
    paragraphs = annotated.paragraphs() if annotated else list(_paragraphs(parse, "body_text"))
    document = _document(paper, parse, annotated)
    if not document.doc_id:
        yield paper.unexpected("a paper with 'paper_id' or 'corpusid'")
        return
    if not (document.title or document.abstract or paragraphs):
        yield Problem(paper.line, f"paper {document.doc_id} has no title, abstract or text")
        return
    sections = tuple(
        Section(heading, fold(" ".join(part.text for part in parts)))
        for heading, parts in groupby(paragraphs, key=lambda part: part.section)
    )
    contexts: list[Context] = []
    for part in paragraphs:
        if part.marks:
            places, cited = zip(*part.marks, strict=True)
            sentences = cite_by_sentence(part.text, places, ((name,) for name in cited))
            contexts.append(Context(f"{len(contexts) + 1:02d}", part.section, sentences))
    references = tuple(annotated.references() if annotated else _references(parse))
    yield from paper_records(document._replace(sections=sections), tuple(contexts), references)


def _document(paper: JsonObject, parse: JsonObject, text: _AnnotatedText | None) -> Document:
    """Return what the paper says of itself, in its own members or under ``metadata``."""
    meta = JsonObject(paper.line, {**paper.object("metadata").values, **paper.values})
    ids = {**paper.object("externalids").values, **paper.object("identifiers").values}
    known = JsonObject(paper.line, {name.lower(): value for name, value in ids.items()})
    doi = known.doi("doi") or meta.doi("doi")
    year, date = meta.year_and_date("year", "publication_date", "publicationdate")
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
        arxiv=find_arxiv_id(doi, eprint=known.text("arxiv", "arxiv_id")),
        abstract=meta.markup("abstract") or abstract or (text.first("abstract") if text else None),
        line=paper.line,
    )


def _paragraphs(parse: JsonObject, name: str) -> Iterator[_Paragraph]:
    for part in parse.objects(name):
        raw = part.values.get("text")
        if isinstance(raw, str) and fold(raw):
            spans = ((as_int(s.values.get("start")), s) for s in part.objects("cite_spans"))
            marks = ((at, s.text("ref_id") or "") for at, s in spans if at is not None)
            yield _Paragraph(part.text("section") or "", raw, _sort_marks(raw, marks))


def _references(parse: JsonObject) -> Iterator[Reference]:
    """Yield the reference list; ``link`` is the id of the cited paper in Semantic Scholar."""
    for key, value in parse.object("bib_entries").values.items():
        entry = as_object(value, parse.line)
        others = entry.object("other_ids")
        eprint = others.text("arXiv", "arxiv") or entry.text("arxiv_id")
        yield Reference(
            ref_id=fold(key),
            doi=others.doi("DOI", "doi") or entry.doi("doi"),
            url=next(iter(entry.texts("urls")), None),
            doc_id=entry.text("link", "links"),
            title=fold(entities_to_text(entry.text("title") or "")) or None,  # O&apos;Sullivan
            arxiv=find_arxiv_id(None, eprint=eprint),
            author=next(iter(entry.people("authors")), None),
        )


S2ORC = Format(
    "s2orc",
    "S2ORC and CORD-19 full text",
    sniff_json("s2orc"),
    _parse,
    split_json_lines,
    allow_unsplit=True,
)
