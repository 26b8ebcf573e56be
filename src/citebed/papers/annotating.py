"""From a read paper to an annotated one: the paragraphs that cite, by sentence, and references."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from citebed.papers.annotation import (
    AnnotatedContext,
    AnnotatedMarker,
    AnnotatedReference,
    AnnotatedSentence,
    Annotation,
    Candidate,
)
from citebed.papers.bibliography import LIKELY, Bibliography
from citebed.papers.linking import Link, ReferenceIndex, index_of
from citebed.papers.paper import Box, PlacedText, ReadPaper, ReadParagraph, ReferenceEntry
from citebed.papers.references import ParsedReference, parse_reference
from citebed.records import Sentence
from citebed.text.anonymise import anonymise
from citebed.text.headings import BELOW, is_under
from citebed.text.identifiers import FreeIds
from citebed.text.normalise import fold, unique
from citebed.text.sentences import sentence_spans

_REVIEWS = re.compile(
    r"\bbackground\b|\b(?:prior|previous|existing|earlier|related|past)\b|\bliterature\b"
    r"|state.of.the.art|\breview of\b|\bsurvey of\b",
    re.IGNORECASE,
)
"""Headings of what others did before."""

_MANY, _MOST = 4, 0.7

PARTS = ("introduction", "related work")
"""What ACM-CR's annotators took: paragraphs of these parts that cite."""


def annotate(
    paper: ReadPaper,
    paper_id: str,
    *,
    sections: Collection[str] = PARTS,
    against: Bibliography | None = None,
) -> Annotation:
    """The annotation of a paper.

    ``sections`` are the parts to take, all where there are none; ``against`` has the documents
    that references may be.
    """
    ids = _ids(paper.references)
    parsed = [parse_reference(entry.printed) for entry in paper.references]
    index = index_of(parsed, ids, [each.content.text for each in paper.paragraphs])
    places = [entry.content.boxes() for entry in paper.references]
    parts = _parts(paper, sections, index)
    contexts: list[AnnotatedContext] = []
    for paragraph in paper.paragraphs:
        part = parts.get(paragraph.section)
        if part is None:
            continue
        context = _context(paragraph, part, f"{len(contexts) + 1:02d}", index)
        if context is not None:
            contexts.append(context)
    return Annotation(
        paper_id=paper.doi or paper_id,
        doi=paper.doi,
        title=paper.title,
        authors=paper.authors,
        abstract=paper.abstract,
        year=paper.year,
        contexts=tuple(contexts),
        references=tuple(annotated_references(ids, places, parsed, against)),
        pages=paper.pages,
    )


def _ids(references: Sequence[ReferenceEntry]) -> list[str]:
    """Labels of the entries; their numbers where they have none."""
    ids = FreeIds()
    return [ids.take(entry.label or str(at)) for at, entry in enumerate(references, 1)]


def _parts(
    paper: ReadPaper, sections: Collection[str], index: ReferenceIndex
) -> dict[str, str | None]:
    """Which part of a paper each of its sections is; ``None`` for those that are not wanted.

    Where no heading names related work, the section after the introduction is it if most of its
    paragraphs cite.
    """
    named = {each: part_of(each, sections) for each in (p.section for p in paper.paragraphs)}
    tops = list(unique(_top(section) for section in named))
    first = next((at for at, top in enumerate(tops) if part_of(top, ("introduction",))), len(tops))
    if "related work" not in sections or "related work" in named.values() or first + 1 >= len(tops):
        return named
    second = tops[first + 1]
    cites = [
        bool(index.links(p.content.text)) for p in paper.paragraphs if _top(p.section) == second
    ]
    if sum(cites) >= _MANY and sum(cites) >= _MOST * len(cites):
        return {
            each: "related work" if _top(each) == second else part for each, part in named.items()
        }
    return named


def _top(section: str) -> str:
    return section.split(BELOW, maxsplit=1)[0]


def part_of(section: str, sections: Collection[str]) -> str | None:
    """The part of a paper that a heading names."""
    if not sections:
        return section.rsplit(BELOW, maxsplit=1)[-1].lower()
    named = next((part for part in sections if is_under(section, (part,))), None)
    if named is None and "related work" in sections and _REVIEWS.search(section):
        return "related work"
    return named


def _context(
    paragraph: ReadParagraph, part: str, context_id: str, index: ReferenceIndex
) -> AnnotatedContext | None:
    """The annotated paragraph; ``None`` where it cites nothing."""
    text = paragraph.content.text
    links = index.links(text)
    if not links:
        return None
    sentences = tuple(_sentences(paragraph, links))
    confidence = min(sentence.confidence for sentence in sentences)
    return AnnotatedContext(context_id, part, paragraph.section, confidence, sentences)


def _sentences(paragraph: ReadParagraph, links: Sequence[Link]) -> Iterator[AnnotatedSentence]:
    content = paragraph.content
    for start, end in sentence_spans(content.text):
        printed = content.text[start:end]
        inside = [link for link in links if start <= link.start < end]
        marks = tuple(
            AnnotatedMarker(
                content.text[link.start : link.end], link.cites, link.confidence,
                content.boxes(link.start, link.end),
            )
            for link in inside
        )  # fmt: skip
        text = fold(anonymise(printed)) if inside else printed
        yield AnnotatedSentence(
            text=text,
            cites=tuple(unique(cite for link in inside for cite in link.cites)),
            anonymised=text != fold(printed),
            confidence=min((link.confidence for link in inside), default=1.0),
            boxes=content.boxes(start, end),
            markers=marks,
            printed=printed,
        )


def annotated_text(
    text: str, references: Sequence[AnnotatedReference]
) -> tuple[AnnotatedSentence, ...]:
    """The sentences of a paragraph that somebody gives, and what of a list they cite."""
    parsed = [parse_reference(each.text) for each in references]
    index = index_of(parsed, [each.ref_id for each in references])
    return tuple(_sentences(ReadParagraph("", PlacedText(text)), index.links(text)))


def sentences_of(sentences: Iterable[Sentence]) -> Iterator[AnnotatedSentence]:
    """Sentences that somebody else read, with the names of those they cite taken out."""
    for sentence in sentences:
        printed = fold(sentence.text)
        text = fold(anonymise(printed)) if sentence.cites else printed
        cites = tuple(unique(sentence.cites))
        yield AnnotatedSentence(text, cites, text != printed, 1.0, (), (), printed)


def annotated_references(
    ids: Sequence[str],
    places: Sequence[tuple[Box, ...]],
    parsed: Sequence[ParsedReference],
    against: Bibliography | None,
) -> Iterator[AnnotatedReference]:
    """The references with the papers that they are."""
    matched = against.candidates(parsed) if against else [()] * len(parsed)
    for ref_id, boxes, reference, candidates in zip(ids, places, parsed, matched, strict=True):
        best = candidates[0] if candidates and candidates[0].probability >= LIKELY else None
        doi = reference.doi or (best.doi if best else None)
        yield AnnotatedReference(
            ref_id=ref_id,
            text=reference.text,
            doi=doi,
            url=reference.url or _address(reference.arxiv),
            doc_id=best.doc_id if best else None,
            confidence=_sure(reference, candidates),
            boxes=boxes,
            title=reference.title,
            authors=reference.authors,
            year=reference.year,
            venue=reference.venue,
            arxiv=reference.arxiv,
            candidates=tuple(candidates),
        )


def _sure(reference: ParsedReference, candidates: Sequence[Candidate]) -> float:
    """How sure it is which paper a reference is, or that it is none of the documents."""
    if candidates:
        likely = candidates[0].probability
        return likely if likely >= LIKELY else 1 - likely
    return 1.0 if reference.doi else max(reference.confidence, 0.5)


def _address(arxiv: str | None) -> str | None:
    return f"https://arxiv.org/abs/{arxiv}" if arxiv else None
