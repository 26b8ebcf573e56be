"""What any full text in XML needs: divisions, sections, citing paragraphs, and its records.

A paragraph that cites becomes a context as the makers of ACM-CR extracted theirs (Boudin 2021):
words broken at line ends are joined and sentences told apart, unless the file marks them. The
names of the cited stay; a rule takes them out where queries are made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from citebed.collection.formats.fields import links_to
from citebed.collection.formats.xml import (
    Element,
    attribute,
    below,
    child,
    inner_text,
    local,
    pieces_of,
    text_at,
)
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
from citebed.text.headings import BELOW
from citebed.text.hyphens import join_hyphens
from citebed.text.normalise import fold, unique
from citebed.text.sentences import split_sentences

_ARABIC = re.compile(r"\s*(\d+(?:\.\d+)*)\.?(?!\d)")
_ROMAN = re.compile(r"\s*(X{0,3}(?:IX|IV|V?I{0,3}))[.)]?(?:\s|$)")
_LETTER = re.compile(r"\s*([A-Z])[.)]?(?:\s|$)")
_VALUES = {"I": 1, "V": 5, "X": 10}


class Outline:
    """Where the headings of a paper stand that are all written beside each other, as GROBID does.

    Arabic numbers say it themselves (``2.1``). Letters stand below the Roman number before them,
    and plain Arabic ones below both: ``II.``, ``A.``, ``1)``. Letters of a paper without Roman
    numbers are those of its appendix.
    """

    def __init__(self) -> None:
        self._at: list[str] = []

    def place(self, label: str) -> str:
        """The place of the next heading (``2.1``, ``II.A``), or ``""`` where it has no number."""
        roman, letter, arabic = (kind.match(label) for kind in (_ROMAN, _LETTER, _ARABIC))
        if roman and roman[1] and self._is_next(roman[1]):
            self._at = [roman[1]]
        elif letter and self._at:
            self._at = [self._at[0], letter[1]]
        elif arabic and self._at and "." not in arabic[1]:
            self._at = [*(part for part in self._at[:2] if not part.isdecimal()), arabic[1]]
        else:
            return arabic[1] if arabic else ""
        return ".".join(self._at)

    def _is_next(self, roman: str) -> bool:
        """Whether it is a Roman number: one letter is, where that number is to come."""
        before = _value(self._at[0]) if self._at else 0
        return len(roman) > 1 or _value(roman) == before + 1


def _value(roman: str) -> int:
    values = [_VALUES[letter] for letter in roman]
    later = [*values[1:], 0]
    return sum(-one if one < two else one for one, two in zip(values, later, strict=True))


# --- Papers -----------------------------------------------------------------------------------


Marks = dict[Element, tuple[str, ...]]
"""The citation marks inside an element, in their order, each with what it cites."""


class FullText(NamedTuple):
    """How a format writes full text: the names of divisions and headings, what is not running
    text, and where an element cites."""

    division: str
    heading: str
    skip: Collection[str]
    marks: Callable[[Element], Marks]


class _Part(NamedTuple):
    """A division of a full text: its heading, the one with those above it, and its own blocks."""

    heading: str
    section: str
    blocks: list[Element]


def full_text_records(
    document: Document, body: Element | None, references: tuple[Reference, ...], how: FullText
) -> Iterator[Record]:
    """What a body gives: the document, and the citing paper that it is too; see below."""
    parts = [] if body is None else _parts(body, how)
    sections = []
    for part in parts:
        raw = ("".join(map(str, pieces_of(block, how.skip))) for block in part.blocks)
        if text := fold(" ".join(map(_plain, raw))):
            sections.append(Section(part.heading, text))
    yield from paper_records(
        document._replace(sections=tuple(sections)), _contexts(parts, how), references
    )


def paper_records(
    document: Document, contexts: tuple[Context, ...], references: tuple[Reference, ...]
) -> Iterator[Record]:
    """The document with its links, and the citing paper that it is too where it cites something.

    Nothing without an id.
    """
    if not document.doc_id:
        yield Problem(document.line, "a paper without a DOI, an id or a file name")
        return
    links = links_to(reference.doi or reference.doc_id for reference in references)
    yield document._replace(links=links)
    if contexts:
        yield from _unknown_cites(contexts, references, document.line)
        shared = {name: getattr(document, name) for name in _SHARED}
        yield CitingPaper(document.doc_id, contexts=contexts, references=references, **shared)


_SHARED = ("doi", "title", "abstract", "year", "date", "line")


# --- Divisions ------------------------------------------------------------------------------

_A_WORD = re.compile(r"\s*[A-Z]+\s")


def _parts(body: Element, how: FullText) -> list[_Part]:
    """The divisions of a body, nested ones flattened, in document order; empty ones left out.

    A division inside something else (a box) is part of that, not a division of the body.
    """
    parts = []
    left_out = {"", how.division, how.heading, *how.skip}
    sections: dict[Element | str, str] = {}
    outline = Outline()
    for part in (body, *below(body, how.division)):
        parent = part.getparent()
        if part is body or (parent is not None and local(parent) in (how.division, local(body))):
            heading, number = text_at(part, how.heading), outline.place(_label(part, how))
            above = sections.get(parent, "") if parent is not None else ""
            if not above and "." in number:  # GROBID writes 2.1 beside 2, not inside it
                above = sections.get(number.rpartition(".")[0], "")
            section = BELOW.join(filter(None, (above, heading or _kind(part))))
            sections |= {part: section, number or part: section}
            blocks = [kid for kid in part if local(kid) not in left_out]
            parts.append(_Part(heading, section, [part] if _is_text(part, how) else blocks))
    return [part for part in parts if part.blocks]


def _is_text(part: Element, how: FullText) -> bool:
    """Whether a division has text of its own, beside what is in it (patents, training files)."""
    own = (part.text, *(kid.tail for kid in part))
    return any(text and not text.isspace() for text in own) and child(part, how.division) is None


def _label(part: Element, how: FullText) -> str:
    """The number of a division as it is written: beside its heading, or at the start of it."""
    heading = child(part, how.heading)
    if heading is None:
        return ""
    text = inner_text(heading)  # which may begin with a word that would pass for a number
    return attribute(heading, "n") or ("" if _A_WORD.match(text) else text)


def _kind(part: Element) -> str:
    """What a division without a heading says it is."""
    kind = attribute(part, "sec-type") or attribute(part, "type")
    return "introduction" if kind.startswith("intro") else ""


# --- Contexts -------------------------------------------------------------------------------


def _contexts(parts: Iterable[_Part], how: FullText) -> tuple[Context, ...]:
    """The paragraphs that cite something, by sentence, numbered from ``01``."""
    contexts: list[Context] = []
    for _, section, blocks in parts:
        for paragraph in (p for block in blocks for p in _paragraphs(block)):
            marks = how.marks(paragraph)
            if any(marks.values()):
                name = f"{len(contexts) + 1:02d}"
                contexts.append(Context(name, section, _sentences(paragraph, marks, how)))
    return tuple(contexts)


def _paragraphs(block: Element) -> list[Element]:
    """A paragraph itself; of anything else (a list, a quotation) its outermost paragraphs."""
    if local(block) == "p":
        return [block]
    inner = [p for p in below(block, "p") if next(p.iterancestors("{*}p"), None) is None]
    return inner or [block]


def _sentences(paragraph: Element, marks: Marks, how: FullText) -> tuple[Sentence, ...]:
    """The sentences of a paragraph as the file marks them, else as they are told apart here."""
    if marked := list(below(paragraph, "s")):
        whole = ((_placed(s, marks, how), how.marks(s)) for s in marked)
        return tuple(
            Sentence(_plain(text), tuple(chain(*own.values())), None) for (text, _), own in whole
        )
    text, places = _placed(paragraph, marks, how)
    return cited_sentences(text, places, marks.values())


def cited_sentences(
    text: str, places: Iterable[int], cited: Iterable[tuple[str, ...]]
) -> tuple[Sentence, ...]:
    """The sentences of a text, with what is cited at each of some places, in their order."""
    texts = split_sentences(_plain(text)) or [""]
    starts = list(accumulate(map(_solid, texts[:-1]), initial=0))
    before = accumulate(_solid(fold(text[a:b])) for a, b in pairwise((0, *places)))
    cites: list[list[str]] = [[] for _ in texts]
    for place, names in zip(before, cited, strict=True):
        cites[bisect_right(starts, place) - 1] += names
    return tuple(Sentence(t, tuple(own), None) for t, own in zip(texts, cites, strict=True))


def _plain(text: str) -> str:
    return fold(join_hyphens(text))


_LOOSE = re.compile("[\\s\u00ad\u2010\u2011-]+")
_TOUCHES = re.compile(r"(?:^|[\s(\[–—‐-])$")
_BARE = re.compile(r"\d{1,4}[a-z]?(?:\s?[,;–-]\s?\d{1,4}[a-z]?)*")


def _solid(text: str) -> int:
    """How many characters a text has that joining lines neither takes out nor adds."""
    return len(_LOOSE.sub("", text))


def _placed(element: Element, marks: Marks, how: FullText) -> tuple[str, list[int]]:
    """The text inside an element, and where each of the marks begins in it.

    A number that stands alone (a superscript) is put in square brackets, so that it is known for
    a mark. A mark outside the running text (in a footnote) begins where the one before it did.
    """
    text, depth = "", 0
    starts: dict[Element, int] = {}
    for piece in pieces_of(element, how.skip, marks):
        if isinstance(piece, str):
            depth = max(0, depth + sum(map(piece.count, "([")) - sum(map(piece.count, ")]")))
            text += piece
        else:
            starts[piece] = len(text)
            mark = inner_text(piece, how.skip)
            bare = depth == 0 and _BARE.fullmatch(mark)
            if bare:
                text += f"[{mark}]" if _TOUCHES.search(text) else f" [{mark}]"
            else:
                text += "".join(map(str, pieces_of(piece, how.skip)))
    places = accumulate((starts.get(mark, 0) for mark in marks), max)
    return text, list(places)


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
