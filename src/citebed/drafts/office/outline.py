"""The paragraphs of a word processor's document: which are prose, headings, captions, references.

A "line" is the number of the paragraph, and a column the character in it: paragraphs with any text
are counted from 1, headings, captions and cells of tables too. A note stands where its mark does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from citebed.drafts.findings import PLACE, Block, Findings, Origin, Raw
from citebed.drafts.plain import heading_in
from citebed.drafts.records import Place
from citebed.drafts.references import ends_references, entries_in, is_references_heading
from citebed.drafts.tex.commands import place_commands
from citebed.text.normalise import fold, unique

Kind = Literal["", "title", "author", "abstract", "heading", "caption", "item", "reference", "none"]
"""What a paragraph's style says that it is; ``none`` is a line of a table of contents."""

_STARTS: tuple[tuple[str, Kind], ...] = (
    ("heading", "heading"), ("title", "title"), ("author", "author"), ("abstract", "abstract"),
    ("caption", "caption"), ("image caption", "caption"), ("table caption", "caption"),
    ("bibliography", "reference"), ("references", "reference"),
    ("endnote bibliography", "reference"),
    ("list", "item"), ("toc", "none"), ("contents", "none"), ("header", "none"),
    ("footer", "none"), ("index", "none"), ("table of figures", "none"),
)  # fmt: skip
_EXACT: dict[str, Kind] = {
    "illustration": "caption", "figure": "caption", "drawing": "caption", "table": "caption",
    "toc heading": "none", "list paragraph": "", "bibliography heading": "heading",
    "abstract title": "heading", "contents heading": "none", "index heading": "none",
}  # fmt: skip
_TOP_LEVEL = 1
_LOWEST = 9


def kind_of_style(name: str) -> Kind | None:
    """What paragraphs of a style are, by its English name; ``None`` where that does not tell."""
    plain = name.lower().replace("_20_", " ").replace("_", " ").strip()
    if plain in _EXACT:
        return _EXACT[plain]
    return next((kind for start, kind in _STARTS if plain.startswith(start)), None)


@dataclass
class Paragraph:
    """A paragraph while it is read: its words with citations as places, and as it is shown."""

    words: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    kind: Kind = ""
    level: int = 0
    in_table: bool = False
    in_note: bool = False
    notes: list[Paragraph] = field(default_factory=list)

    def add(self, text: str, *, cited: bool = False) -> None:
        """Text of it; what is ``cited`` is shown in place of a citation and no word of it."""
        self.seen.append(text)
        if not cited:
            self.words.append(text)

    @property
    def text(self) -> str:
        """Its words; line breaks are blanks."""
        return "".join(self.words).replace("\n", " ").replace("\f", " ")

    @property
    def says_something(self) -> bool:
        """Whether there is anything in it but citations."""
        return any(map(str.isalnum, PLACE.sub("", self.text)))


class Outline:
    """Takes paragraphs in order, and makes findings of them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._number = 0
        self._section = ""
        self._heads: list[tuple[int, str]] = []
        self._level = 0  # of the heading of the references, while they come
        self._references: list[str] = []
        self._items = 0

    def take(self, paragraph: Paragraph) -> None:
        """The next paragraph."""
        seen = "".join(paragraph.seen).replace("\n", " ")
        if not seen.strip() and not paragraph.text.strip():
            return
        self._number += 1
        text = place_commands(paragraph.text, self._findings)
        plain = fold(PLACE.sub("", text))
        if paragraph.kind == "none":
            return
        if not paragraph.in_table and self._is_structure(paragraph, plain):
            return
        if not paragraph.in_table:  # what a table cites is cited, its words are no prose
            kind = paragraph.kind if paragraph.kind in ("caption", "item") else ""
            section = "Abstract" if paragraph.kind == "abstract" else self._section
            self._block(text, seen, section, kind)
        self._take_notes(paragraph)

    def _take_notes(self, paragraph: Paragraph) -> None:
        for note in paragraph.notes:
            self._block(note.text, "".join(note.seen).replace("\n", " "), self._section)

    def _block(self, text: str, seen: str, section: str, kind: str = "") -> None:
        raw = Raw(seen, [Origin(0, Place("", self._number))])
        self._findings.blocks.append(Block(text, raw, section, kind))

    def _is_structure(self, paragraph: Paragraph, plain: str) -> bool:
        """Take what is no prose: a title, a heading, an entry of the references."""
        if paragraph.kind in ("title", "author"):
            self._take_front(paragraph.kind, plain)
            return True
        level = (paragraph.level or _LOWEST) if paragraph.kind == "heading" else 0
        if not level and (is_references_heading(plain) or self._is_unstyled_heading(plain)):
            level = _LOWEST
        if level and plain:
            self._head(plain, level)
            return True
        if paragraph.kind == "reference" or self._level:
            self._reference(paragraph, plain)
            return True
        return False

    def _is_unstyled_heading(self, plain: str) -> bool:
        """Whether words that no style calls a heading are one all the same."""
        return bool(heading_in(plain)) and (not self._level or ends_references(plain))

    def _take_front(self, kind: str, plain: str) -> None:
        findings = self._findings
        if kind == "title":
            findings.title = fold(f"{findings.title} {plain}")
        else:
            findings.authors = unique([*findings.authors, plain])

    def _head(self, plain: str, level: int) -> None:
        if is_references_heading(plain):
            self._level = level
        elif not self._level or level <= self._level:
            self._level = 0
            self._heads.append((level, plain))
            self._section = plain

    def _reference(self, paragraph: Paragraph, plain: str) -> None:
        """An entry; the number that a word processor gives to an item is not in its text."""
        self._items += paragraph.kind == "item"
        label = f"[{self._items}] " if paragraph.kind == "item" else ""
        self._references += [f"{label}{plain}", ""]

    def end(self) -> None:
        """The document has ended. A single top heading, at the very start, was its title."""
        self._findings.entries += entries_in(self._references) if self._references else []
        tops = [text for level, text in self._heads if level == _TOP_LEVEL]
        if not self._findings.title and len(tops) == 1 and self._heads[0][0] == _TOP_LEVEL:
            blocks = self._findings.blocks
            first = list(takewhile(lambda block: block.section == tops[0], blocks))
            if len(self._heads) > 1:
                self._findings.title = tops[0]
                blocks[: len(first)] = [block._replace(section="") for block in first]
