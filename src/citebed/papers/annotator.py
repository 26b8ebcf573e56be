"""Annotate a paper: find its citing paragraphs and sentences, and link its references."""

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
from citebed.papers.marker_links import Link, ReferenceIndex, index_references
from citebed.papers.paper import Box, PlacedText, ReadPaper, ReadParagraph
from citebed.papers.reference_matcher import LIKELY, Bibliography
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
"""Headings of sections about earlier work."""

_LEAST_CITING, _LEAST_SHARE = 4, 0.7
"""Citing paragraphs in a section of related work without such a heading."""

PARTS = ("introduction", "related work")
"""The parts of papers that ACM-CR's annotators used."""


def annotate(
    paper: ReadPaper,
    paper_id: str,
    *,
    sections: Collection[str] = PARTS,
    against: Bibliography | None = None,
) -> Annotation:
    """Annotate a paper.

    ``sections`` are the parts to annotate; without any, all sections are annotated. References are
    linked to the documents in ``against``.
    """
    free = FreeIds()
    ids = [free.take(entry.label or str(at)) for at, entry in enumerate(paper.references, 1)]
    parsed = [parse_reference(entry.printed) for entry in paper.references]
    index = index_references(parsed, ids, [each.content.text for each in paper.paragraphs])
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
        references=tuple(annotate_references(ids, places, parsed, against)),
        pages=paper.pages,
    )


def _parts(
    paper: ReadPaper, sections: Collection[str], index: ReferenceIndex
) -> dict[str, str | None]:
    """Return for each section its part of the paper, or ``None`` for other sections.

    If no heading names related work, the section after the introduction counts as related work if
    most of its paragraphs have citations.
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
    if sum(cites) >= _LEAST_CITING and sum(cites) >= _LEAST_SHARE * len(cites):
        return {
            each: "related work" if _top(each) == second else part for each, part in named.items()
        }
    return named


def _top(section: str) -> str:
    return section.split(BELOW, maxsplit=1)[0]


def part_of(section: str, sections: Collection[str]) -> str | None:
    """Return the part of a paper that a heading names; with no ``sections``, the heading itself."""
    if not sections:
        return section.rsplit(BELOW, maxsplit=1)[-1].lower()
    named = next((part for part in sections if is_under(section, (part,))), None)
    if named is None and "related work" in sections and _REVIEWS.search(section):
        return "related work"
    return named


def _context(
    paragraph: ReadParagraph, part: str, context_id: str, index: ReferenceIndex
) -> AnnotatedContext | None:
    """Annotate a paragraph; return ``None`` if it has no citations."""
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


def annotate_text(
    text: str, references: Sequence[AnnotatedReference]
) -> tuple[AnnotatedSentence, ...]:
    """Annotate the text of a paragraph, given the reference list of its paper."""
    parsed = [parse_reference(each.text) for each in references]
    index = index_references(parsed, [each.ref_id for each in references])
    return tuple(_sentences(ReadParagraph("", PlacedText(text)), index.links(text)))


def annotate_sentences(sentences: Iterable[Sentence]) -> Iterator[AnnotatedSentence]:
    """Anonymise sentences whose citations are known already."""
    for sentence in sentences:
        printed = fold(sentence.text)
        text = fold(anonymise(printed)) if sentence.cites else printed
        cites = tuple(unique(sentence.cites))
        yield AnnotatedSentence(text, cites, text != printed, 1.0, (), (), printed)


def annotate_references(
    ids: Sequence[str],
    places: Sequence[tuple[Box, ...]],
    parsed: Sequence[ParsedReference],
    against: Bibliography | None,
) -> Iterator[AnnotatedReference]:
    """Yield the references with the papers that they cite."""
    matched = against.candidates(parsed) if against else [()] * len(parsed)
    for ref_id, boxes, reference, candidates in zip(ids, places, parsed, matched, strict=True):
        best = candidates[0] if candidates and candidates[0].probability >= LIKELY else None
        doi = reference.doi or (best.doi if best else None)
        yield AnnotatedReference(
            ref_id=ref_id,
            text=reference.text,
            doi=doi,
            url=reference.url
            or (f"https://arxiv.org/abs/{reference.arxiv}" if reference.arxiv else None),
            doc_id=best.doc_id if best else None,
            confidence=_link_confidence(reference, candidates),
            boxes=boxes,
            title=reference.title,
            authors=reference.authors,
            year=reference.year,
            venue=reference.venue,
            arxiv=reference.arxiv,
            candidates=tuple(candidates),
        )


def _link_confidence(reference: ParsedReference, candidates: Sequence[Candidate]) -> float:
    """Return the probability that a reference is linked, or left without a link, correctly."""
    if candidates:
        probability = candidates[0].probability
        return probability if probability >= LIKELY else 1 - probability
    return 1.0 if reference.doi else max(reference.confidence, 0.5)
