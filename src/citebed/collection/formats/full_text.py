"""Full texts: the sections and the citing paragraphs of a paper, and the records they make.

A paragraph that cites becomes a context as in ACM-CR (Boudin 2021): words broken at line ends are
joined, and the text is split into sentences unless the file marks them. The names of cited authors
stay; a rule removes them when citebed makes queries.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from citebed.collection.formats.fields import make_links
from citebed.collection.formats.xml import (
    Element,
    attribute,
    child,
    descendants,
    inner_text,
    local_name,
    text_at,
    text_pieces,
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
from citebed.text.normalise import fold, join_hyphens, unique
from citebed.text.sentences import split_sentences

# --- Records ----------------------------------------------------------------------------------

_SHARED = ("doi", "title", "abstract", "year", "date", "line")


def paper_records(
    document: Document, contexts: tuple[Context, ...], references: tuple[Reference, ...]
) -> Iterator[Record]:
    """Yield the document with its links and, if it cites, the citing paper.

    Without an id, yield only a problem.
    """
    if not document.doc_id:
        yield Problem(document.line, "a paper without a DOI, an id or a file name")
        return
    links = make_links(reference.doi or reference.doc_id for reference in references)
    yield document._replace(links=links)
    if not contexts:
        return
    known = {reference.ref_id for reference in references}
    for context in contexts:
        for cite in unique(cite for s in context.sentences for cite in s.cites):
            if cite not in known:
                what = f"context {context.context_id} cites {cite}"
                what = f"{what}, which is not in the reference list"
                yield Problem(document.line, what, "mended")
    shared = {name: getattr(document, name) for name in _SHARED}
    yield CitingPaper(document.doc_id, contexts=contexts, references=references, **shared)


def cite_by_sentence(
    text: str, positions: Iterable[int], cited: Iterable[tuple[str, ...]]
) -> tuple[Sentence, ...]:
    """Split a text into sentences; ``cited`` is what it cites at each of the positions."""
    texts = split_sentences(_join_lines(text)) or [""]
    starts = list(accumulate(map(_count_characters, texts[:-1]), initial=0))
    before = accumulate(_count_characters(fold(text[a:b])) for a, b in pairwise((0, *positions)))
    cites: list[list[str]] = [[] for _ in texts]
    for position, names in zip(before, cited, strict=True):
        cites[bisect_right(starts, position) - 1] += names
    return tuple(Sentence(t, tuple(own), None) for t, own in zip(texts, cites, strict=True))


def _join_lines(text: str) -> str:
    return fold(join_hyphens(text))


_LOOSE = re.compile("[\\s\u00ad\u2010\u2011-]+")


def _count_characters(text: str) -> int:
    """Count the characters that joining lines neither removes nor adds."""
    return len(_LOOSE.sub("", text))


# --- Full texts in XML ------------------------------------------------------------------------

Marks = dict[Element, tuple[str, ...]]
"""The citation markers inside an element, in order, each with the references that it cites."""


class FullText(NamedTuple):
    """How a format writes full text: the elements of divisions and headings, the elements that
    are not running text, and a function that finds the citation markers in an element."""

    division: str
    heading: str
    skip: Collection[str]
    find_marks: Callable[[Element], Marks]


class _Division(NamedTuple):
    """A division: its heading, its section (with the headings above it), and its blocks."""

    heading: str
    section: str
    blocks: list[Element]


def full_text_records(
    document: Document, body: Element | None, references: tuple[Reference, ...], layout: FullText
) -> Iterator[Record]:
    """Yield the document with the sections of a body and, if it cites, the citing paper."""
    divisions = [] if body is None else _find_divisions(body, layout)
    sections, contexts = [], list[Context]()
    for heading, section, blocks in divisions:
        raw = ("".join(map(str, text_pieces(block, layout.skip))) for block in blocks)
        if text := fold(" ".join(map(_join_lines, raw))):
            sections.append(Section(heading, text))
        for paragraph in chain.from_iterable(map(_find_paragraphs, blocks)):
            marks = layout.find_marks(paragraph)
            if any(marks.values()):
                name = f"{len(contexts) + 1:02d}"
                contexts.append(Context(name, section, _sentences(paragraph, marks, layout)))
    yield from paper_records(
        document._replace(sections=tuple(sections)), tuple(contexts), references
    )


_CAPITALS = re.compile(r"\s*[A-Z]+\s")


def _find_divisions(body: Element, layout: FullText) -> list[_Division]:
    """Return the divisions of a body in document order, without empty ones.

    A division inside another element (a box) is part of that element.
    """
    found = []
    left_out = {"", layout.division, layout.heading, *layout.skip}
    parents = (layout.division, local_name(body))
    sections: dict[Element | str, str] = {}
    outline = Outline()
    for part in (body, *descendants(body, layout.division)):
        parent = part.getparent()
        if part is not body and (parent is None or local_name(parent) not in parents):
            continue
        heading, label = text_at(part, layout.heading), ""
        if (element := child(part, layout.heading)) is not None:
            # A first word in capitals is not a number.
            label = attribute(element, "n") or ("" if _CAPITALS.match(heading) else heading)
        number = outline.place(label)
        above = sections.get(parent, "") if parent is not None else ""
        if not above and "." in number:  # GROBID writes 2.1 next to 2, not inside it
            above = sections.get(number.rpartition(".")[0], "")
        kind = attribute(part, "sec-type") or attribute(part, "type")
        name = heading or ("introduction" if kind.startswith("intro") else "")
        section = BELOW.join(filter(None, (above, name)))
        sections |= {part: section, number or part: section}
        own = (part.text, *(kid.tail for kid in part))  # as in patents and training files
        is_text = any(text and not text.isspace() for text in own)
        blocks = [kid for kid in part if local_name(kid) not in left_out]
        if is_text and child(part, layout.division) is None:
            blocks = [part]
        if blocks:
            found.append(_Division(heading, section, blocks))
    return found


def _find_paragraphs(block: Element) -> list[Element]:
    """Return a paragraph itself, or the outermost paragraphs of a list or a quotation."""
    if local_name(block) == "p":
        return [block]
    nested = descendants(block, "p")
    return [p for p in nested if next(p.iterancestors("{*}p"), None) is None] or [block]


def _sentences(paragraph: Element, marks: Marks, layout: FullText) -> tuple[Sentence, ...]:
    """Return the sentences of a paragraph as the file marks them, else split the text."""
    if marked := list(descendants(paragraph, "s")):
        return tuple(
            Sentence(
                _join_lines(_text_with_positions(sentence, marks, layout)[0]),
                tuple(chain(*layout.find_marks(sentence).values())),
                None,
            )
            for sentence in marked
        )
    text, positions = _text_with_positions(paragraph, marks, layout)
    return cite_by_sentence(text, positions, marks.values())


_TOUCHES = re.compile(r"(?:^|[\s(\[–—‐-])$")
_BARE = re.compile(r"\d{1,4}[a-z]?(?:\s?[,;–-]\s?\d{1,4}[a-z]?)*")


def _text_with_positions(element: Element, marks: Marks, layout: FullText) -> tuple[str, list[int]]:
    """Return the text of an element and the position of each marker in it.

    A bare number (a superscript) gets square brackets, so that readers recognise the marker. A
    marker outside the running text (in a footnote) has the position of the one before it.
    """
    text, depth = "", 0
    starts: dict[Element, int] = {}
    for piece in text_pieces(element, layout.skip, marks):
        if isinstance(piece, str):
            depth = max(0, depth + sum(map(piece.count, "([")) - sum(map(piece.count, ")]")))
            text += piece
        else:
            starts[piece] = len(text)
            mark = inner_text(piece, layout.skip)
            if depth == 0 and _BARE.fullmatch(mark):
                text += f"[{mark}]" if _TOUCHES.search(text) else f" [{mark}]"
            else:
                text += "".join(map(str, text_pieces(piece, layout.skip)))
    return text, list(accumulate((starts.get(mark, 0) for mark in marks), max))


# --- Numbers of headings ----------------------------------------------------------------------

_ARABIC = re.compile(r"\s*(\d+(?:\.\d+)*)\.?(?!\d)")
_ROMAN = re.compile(r"\s*(X{0,3}(?:IX|IV|V?I{0,3}))[.)]?(?:\s|$)")
_LETTER = re.compile(r"\s*([A-Z])[.)]?(?:\s|$)")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}


class Outline:
    """Finds the level of headings that a file does not nest, as GROBID writes them.

    Arabic numbers have their level (``2.1``). Letters are below the Roman number before them, and
    single Arabic numbers below both: ``II.``, ``A.``, ``1)``. In a paper without Roman numbers,
    letters number the appendix.
    """

    def __init__(self) -> None:
        self._at: list[str] = []

    def place(self, label: str) -> str:
        """Return the number of the next heading (``2.1``, ``II.A``), or ``""``."""
        roman, letter, arabic = (kind.match(label) for kind in (_ROMAN, _LETTER, _ARABIC))
        if roman and roman[1] and self._is_roman(roman[1]):
            self._at = [roman[1]]
        elif letter and self._at:
            self._at = [self._at[0], letter[1]]
        elif arabic and self._at and "." not in arabic[1]:
            self._at = [*(part for part in self._at[:2] if not part.isdecimal()), arabic[1]]
        else:
            return arabic[1] if arabic else ""
        return ".".join(self._at)

    def _is_roman(self, text: str) -> bool:
        """Return True for a Roman number; a single letter must be the next number."""
        before = _roman_to_int(self._at[0]) if self._at else 0
        return len(text) > 1 or _roman_to_int(text) == before + 1


def _roman_to_int(roman: str) -> int:
    values = [_ROMAN_DIGITS[letter] for letter in roman]
    later = [*values[1:], 0]
    return sum(-one if one < two else one for one, two in zip(values, later, strict=True))
