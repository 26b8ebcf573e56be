"""Classify the paragraphs of a word processor's document: prose, headings, captions, references.

The line of a position is the number of the paragraph, and its column the character in it. All
paragraphs with text count, also headings, captions and table cells. A note has the position of its
mark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from citebed.drafts.parsed_draft import PLACE, Block, Origin, ParsedDraft, Raw
from citebed.drafts.plain import parse_heading
from citebed.drafts.records import Place
from citebed.drafts.references import ends_references, is_references_heading, split_references
from citebed.drafts.tex.commands import place_commands
from citebed.text.normalise import fold, unique

Kind = Literal["", "title", "author", "abstract", "heading", "caption", "item", "reference", "none"]
"""The kind of a paragraph by its style; ``none`` is for example a table of contents."""

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
_LOWEST = 9


def kind_of_style(name: str) -> Kind | None:
    """Return the kind of paragraphs with a style, by its English name; ``None`` if unknown."""
    plain = name.lower().replace("_20_", " ").replace("_", " ").strip()
    if plain in _EXACT:
        return _EXACT[plain]
    return next((kind for start, kind in _STARTS if plain.startswith(start)), None)


@dataclass
class Paragraph:
    """A paragraph: its words with citation marks, and its displayed text."""

    words: list[str] = field(default_factory=list)
    displayed: list[str] = field(default_factory=list)
    kind: Kind = ""
    level: int = 0
    in_table: bool = False
    in_note: bool = False
    notes: list[Paragraph] = field(default_factory=list)

    def add(self, text: str, *, cited: bool = False) -> None:
        """Add text; ``cited`` text is displayed for a citation, and is not part of the words."""
        self.displayed.append(text)
        if not cited:
            self.words.append(text)

    @property
    def text(self) -> str:
        """Its words, with blanks for line breaks."""
        return "".join(self.words).replace("\n", " ").replace("\f", " ")

    @property
    def has_text(self) -> bool:
        """True if it contains more than citations."""
        return any(map(str.isalnum, PLACE.sub("", self.text)))


class Outline:
    """Adds paragraphs to a draft, in order."""

    def __init__(self, parsed: ParsedDraft) -> None:
        self._parsed = parsed
        self._number = 0
        self._section = ""
        self._heads: list[tuple[int, str]] = []
        self._level = 0  # level of the heading "References", inside that section
        self._references: list[str] = []
        self._items = 0

    def take(self, paragraph: Paragraph) -> None:
        """Add the next paragraph."""
        displayed = "".join(paragraph.displayed).replace("\n", " ")
        if not displayed.strip() and not paragraph.text.strip():
            return
        self._number += 1
        text = place_commands(paragraph.text, self._parsed)
        plain = fold(PLACE.sub("", text))
        if paragraph.kind == "none":
            return
        if not paragraph.in_table and self._is_structure(paragraph, plain):
            return
        if not paragraph.in_table:  # citations in a table count, but its words are not prose
            kind = paragraph.kind if paragraph.kind in ("caption", "item") else ""
            section = "Abstract" if paragraph.kind == "abstract" else self._section
            self._block(text, displayed, section, kind)
        self._take_notes(paragraph)

    def _take_notes(self, paragraph: Paragraph) -> None:
        for note in paragraph.notes:
            self._block(note.text, "".join(note.displayed).replace("\n", " "), self._section)

    def _block(self, text: str, displayed: str, section: str, kind: str = "") -> None:
        raw = Raw(displayed, [Origin(0, Place("", self._number))])
        self._parsed.blocks.append(Block(text, raw, section, kind))

    def _is_structure(self, paragraph: Paragraph, plain: str) -> bool:
        """Add a title, a heading or a reference entry; return False for prose."""
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
        """Return True for a heading that does not have a heading style."""
        return bool(parse_heading(plain)) and (not self._level or ends_references(plain))

    def _take_front(self, kind: str, plain: str) -> None:
        parsed = self._parsed
        if kind == "title":
            parsed.title = fold(f"{parsed.title} {plain}")
        else:
            parsed.authors = unique([*parsed.authors, plain])

    def _head(self, plain: str, level: int) -> None:
        if is_references_heading(plain):
            self._level = level
        elif not self._level or level <= self._level:
            self._level = 0
            self._heads.append((level, plain))
            self._section = plain

    def _reference(self, paragraph: Paragraph, plain: str) -> None:
        """Add an entry with its item number, which is not part of the text."""
        self._items += paragraph.kind == "item"
        label = f"[{self._items}] " if paragraph.kind == "item" else ""
        self._references += [f"{label}{plain}", ""]

    def end(self) -> None:
        """Store the references and the title at the end of the text."""
        self._parsed.entries += split_references(self._references) if self._references else []
        self._parsed.take_title(self._heads, least=2)
