"""What any full text in XML needs: divisions, sections, citing paragraphs, and its records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from citebed.collection.formats.fields import links_to
from citebed.collection.formats.xml import Element, below, inner_text, local, text_at
from citebed.records import (
    CitingPaper,
    Context,
    Document,
    Problem,
    Record,
    Reference,
    Section,
    Sentence,
)
from citebed.text.normalise import fold, unique


class FullText(NamedTuple):
    """How a format writes full text: the names of divisions and headings, what is not running
    text, and what an element cites."""

    division: str
    heading: str
    skip: Collection[str]
    cites: Callable[[Element], tuple[str, ...]]


class _Part(NamedTuple):
    """A division of a full text: its heading and the blocks that are its own."""

    heading: str
    blocks: list[Element]


def full_text_records(
    document: Document, body: Element | None, references: tuple[Reference, ...], how: FullText
) -> Iterator[Record]:
    """The document with its text, and the citing paper that it is too where it cites something.

    Nothing without an id.
    """
    if not document.doc_id:
        yield Problem(document.line, "a paper without a DOI, an id or a file name")
        return
    parts = [] if body is None else _parts(body, how)
    texts = ((p.heading, fold(" ".join(inner_text(b, how.skip) for b in p.blocks))) for p in parts)
    sections = tuple(Section(heading, text) for heading, text in texts if text)
    links = links_to(reference.doi or reference.doc_id for reference in references)
    yield document._replace(sections=sections, links=links)
    if contexts := _contexts(parts, how):
        yield from _unknown_cites(contexts, references, document.line)
        shared = {name: getattr(document, name) for name in _SHARED}
        yield CitingPaper(document.doc_id, contexts=contexts, references=references, **shared)


_SHARED = ("doi", "title", "abstract", "year", "date", "line")


def _parts(body: Element, how: FullText) -> list[_Part]:
    """The divisions of a body, nested ones flattened, in document order; empty ones left out.

    A division inside something else (a box) is part of that, not a division of the body.
    """
    parts = []
    left_out = {"", how.division, how.heading, *how.skip}
    for part in (body, *below(body, how.division)):
        parent = part.getparent()
        if part is body or (parent is not None and local(parent) in (how.division, local(body))):
            blocks = [kid for kid in part if local(kid) not in left_out]
            parts.append(_Part(text_at(part, how.heading), blocks))
    return [part for part in parts if part.blocks]


def _contexts(parts: Iterable[_Part], how: FullText) -> tuple[Context, ...]:
    """The paragraphs that cite something, numbered from ``01``, by sentence where marked."""
    contexts: list[Context] = []
    for heading, blocks in parts:
        for paragraph in (p for block in blocks for p in _paragraphs(block)):
            if how.cites(paragraph):
                marked = list(below(paragraph, "s")) or [paragraph]
                sentences = tuple(Sentence(inner_text(s, how.skip), how.cites(s)) for s in marked)
                contexts.append(Context(f"{len(contexts) + 1:02d}", heading, sentences))
    return tuple(contexts)


def _paragraphs(block: Element) -> list[Element]:
    """A paragraph itself; of anything else (a list, a quotation) its outermost paragraphs."""
    if local(block) == "p":
        return [block]
    inner = [p for p in below(block, "p") if next(p.iterancestors("{*}p"), None) is None]
    return inner or [block]


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
