"""Collect the text of a LaTeX draft: paragraphs, asides, reference entries, authors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from citebed.drafts.parsed_draft import PLACE, Block, Origin, ParsedDraft, Raw
from citebed.drafts.references import parse_entry
from citebed.drafts.tex.source import Cursor
from citebed.text.hyphens import join_hyphens
from citebed.text.latex import latex_to_text
from citebed.text.normalise import unique


@dataclass
class _Paragraph:
    kind: str = ""
    pieces: list[str] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, cursor: Cursor, at: int) -> None:
        """Add text with its position in the source."""
        self.origins.append(Origin(self.length, cursor.place_at(at), cursor.has(text, at)))
        self.pieces.append(text)
        self.length += len(text)

    def text(self) -> str:
        """Return the words, without remaining backslashes."""
        raw = join_hyphens("".join(self.pieces))
        return latex_to_text(raw).replace("\\", " ").strip()

    def raw(self) -> Raw:
        """Return the LaTeX, with blanks for citations."""
        return Raw(PLACE.sub(lambda place: " " * len(place[0]), "".join(self.pieces)), self.origins)


class TexOutput:
    """Makes blocks from pieces of text.

    While ``muted`` is above 0, nothing is written. An aside (a footnote, caption or heading)
    becomes a block after its paragraph, unless `take_aside` returns its text.
    """

    def __init__(self, parsed: ParsedDraft) -> None:
        self.section = ""
        self.muted = 0
        self._parsed = parsed
        self._paragraphs = [_Paragraph()]
        self._asides: list[Block] = []
        self._entry: str | None = None
        self.in_list = False  # True inside a reference list

    def write(self, text: str, cursor: Cursor, at: int) -> None:
        """Add text with its position in the source."""
        if not self.muted:
            self._paragraphs[-1].add(text, cursor, at)

    def flush(self, following: str = "") -> None:
        """End the paragraph; in a reference list, the entry continues.

        ``following`` is the kind of the next paragraph, e.g. ``item``.
        """
        if self.muted:
            return
        if self.in_list and len(self._paragraphs) == 1:
            self._paragraphs[-1].pieces.append(" ")
            return
        paragraph = self._paragraphs[-1]
        in_aside = len(self._paragraphs) > 1
        self._paragraphs[-1] = _Paragraph(paragraph.kind if in_aside else following)
        text = paragraph.text()
        block = [Block(text, paragraph.raw(), self.section, paragraph.kind)] if text else []
        if in_aside:
            self._asides += block
        else:
            self._parsed.blocks += [*block, *self._asides]
            self._asides.clear()

    def begin_aside(self, kind: str) -> None:
        """Begin an aside."""
        self._paragraphs.append(_Paragraph(kind))

    def end_aside(self) -> None:
        """End the aside and make it a block."""
        self.flush()
        self._paragraphs.pop()

    def take_aside(self) -> str:
        """End the aside and return its text instead of making a block."""
        return PLACE.sub("", self._paragraphs.pop().text())

    # --- A list of references ---------------------------------------------------------------

    def begin_list(self) -> None:
        """Begin a reference list."""
        self.flush()
        self.in_list = True

    def begin_entry(self, key: str) -> None:
        """Begin a reference."""
        self._end_entry()
        self._entry = key

    def end_list(self) -> None:
        """End the reference list."""
        self._end_entry()
        self.in_list = False

    def _end_entry(self) -> None:
        if self._entry is not None:
            text = PLACE.sub("", self._paragraphs[-1].text())
            self._parsed.entries.append(parse_entry(self._entry, text))
        self._paragraphs[-1] = _Paragraph()
        self._entry = None


# --- Authors --------------------------------------------------------------------------------

_LONGEST = 20_000
_BETWEEN = re.compile(r"\\(?:and|And|AND|quad|qquad)(?![A-Za-z])|\\\\\s*(?:\[[^]]*\])?\s*\\and")
_ASIDE = re.compile(
    r"\\(?:thanks|textsuperscript|inst|affil|orcid|orcidID|email|footnotemark|fnref|corref|texttt"
    r"|IEEEauthorrefmark|authornote|authornotemark|IEEEauthorblockA|href|url|samethanks)\*?"
    r"(?:\[[^][{}]*\])?(?:\{(?:[^{}]|\{[^{}]*\})*\})?"
    r"|\\(?:begin|end)\{\w+\*?\}(?:\[[^]]*\])?(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})?"
    r"|\$[^$]*\$|%[^\n]*|\\footnote\{(?:[^{}]|\{[^{}]*\})*\}"
)
_COMMA_OR_AND = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+&\s+")
_NAME = re.compile(r"[^\W\d_][^\d@/|]*")


def parse_authors(tex: str) -> tuple[str, ...]:
    """Return the names in the argument of ``\\author``, without notes and affiliations."""
    if len(tex) > _LONGEST:
        return ()
    plain = _ASIDE.sub("", tex)
    lines = [part.split("\\\\")[0] for part in _BETWEEN.split(plain)]
    # ``A. One, B. Two and C. Three`` are three names; parts that are not names are dropped.
    parts = (part for line in lines for part in _COMMA_OR_AND.split(latex_to_text(line)))
    names = (part.strip(" .*†‡") for part in parts)
    return unique(name for name in names if 1 < len(name.split()) < 7 and _NAME.fullmatch(name))
