"""What any full text in XML needs: divisions, sections, citing paragraphs, and its records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from citebed.collection.formats.xml import Element, below, child, inner_text, local
from citebed.records import (
    CitingPaper,
    Context,
    Document,
    Link,
    Problem,
    Record,
    Reference,
    Section,
    Sentence,
)
from citebed.text.normalise import fold, unique


class Part(NamedTuple):
    """A division of a full text: its heading and the blocks that are its own."""

    heading: str
    blocks: list[Element]


def body_parts(body: Element, division: str, heading: str, skip: Collection[str]) -> list[Part]:
    """The divisions of a body, nested ones flattened, in document order; empty ones left out.

    A division inside something else (a box) is part of that, not a division of the body.
    """
    parts = []
    for part in (body, *below(body, division)):
        parent = part.getparent()
        if part is body or (parent is not None and local(parent) in (division, local(body))):
            left_out = {"", division, heading, *skip}
            blocks = [kid for kid in part if local(kid) not in left_out]
            parts.append(Part(inner_text(child(part, heading)), blocks))
    return [part for part in parts if part.blocks]


def sections_of(parts: Iterable[Part], skip: Collection[str]) -> tuple[Section, ...]:
    """The sections of a full text; divisions without text are left out."""
    texts = ((p.heading, fold(" ".join(inner_text(b, skip) for b in p.blocks))) for p in parts)
    return tuple(Section(heading, text) for heading, text in texts if text)


def contexts_of(
    parts: Iterable[Part], cites: Callable[[Element], tuple[str, ...]], skip: Collection[str]
) -> tuple[Context, ...]:
    """The paragraphs that cite something, numbered from ``01``, by sentence where marked."""
    contexts: list[Context] = []
    for heading, blocks in parts:
        for paragraph in (p for block in blocks for p in _paragraphs(block)):
            if cites(paragraph):
                marked = list(below(paragraph, "s")) or [paragraph]
                sentences = tuple(Sentence(inner_text(s, skip), cites(s)) for s in marked)
                contexts.append(Context(f"{len(contexts) + 1:02d}", heading, sentences))
    return tuple(contexts)


def _paragraphs(block: Element) -> list[Element]:
    """A paragraph itself; of anything else (a list, a quotation) its outermost paragraphs."""
    if local(block) == "p":
        return [block]
    inner = [p for p in below(block, "p") if next(p.iterancestors("{*}p"), None) is None]
    return inner or [block]


def links_to(references: Iterable[Reference]) -> tuple[Link, ...]:
    """A link for each cited paper that is known by a DOI or an id."""
    return tuple(map(Link, unique(ref.doi or ref.doc_id or "" for ref in references)))


def full_text_records(
    document: Document, contexts: tuple[Context, ...], references: tuple[Reference, ...]
) -> Iterator[Record]:
    """The document, and the citing paper it is too where it has contexts; nothing without an id."""
    if not document.doc_id:
        yield Problem(document.line, "a paper without a DOI, an id or a file name")
        return
    yield document
    if contexts:
        yield from _unknown_cites(contexts, references, document.line)
        yield CitingPaper(
            paper_id=document.doc_id,
            doi=document.doi,
            title=document.title,
            abstract=document.abstract,
            year=document.year,
            date=document.date,
            contexts=contexts,
            references=references,
            line=document.line,
        )


def _unknown_cites(
    contexts: Iterable[Context], references: Iterable[Reference], line: int
) -> Iterator[Problem]:
    """A problem for each cited number or key that the reference list does not have."""
    known = {reference.ref_id for reference in references}
    for context in contexts:
        for cite in unique(cite for s in context.sentences for cite in s.cites):
            if cite not in known:
                place = f"context {context.context_id} cites {cite}"
                yield Problem(line, f"{place}, which the reference list does not have", "mended")
