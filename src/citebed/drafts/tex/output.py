"""Where the words of a LaTeX draft go: paragraphs, asides beside them, entries, authors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from citebed.drafts.findings import PLACE, Block, Findings, Origin, Raw
from citebed.drafts.references import entry_of
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
        """More text, which stands at a position of the source."""
        self.origins.append(Origin(self.length, cursor.place_at(at), cursor.has(text, at)))
        self.pieces.append(text)
        self.length += len(text)

    def text(self) -> str:
        """The words, clean; a backslash that is left means nothing to a reader."""
        raw = join_hyphens("".join(self.pieces))
        return latex_to_text(raw).replace("\\", " ").strip()

    def raw(self) -> Raw:
        """The text as it came; a citation is a blank in it."""
        return Raw(PLACE.sub(lambda place: " " * len(place[0]), "".join(self.pieces)), self.origins)


class TexOutput:
    """Takes text piece by piece and makes blocks of it.

    While ``muted`` is above 0, nothing is written. An aside (a footnote, a caption, a heading)
    is written apart from the paragraph it stands in, and follows that as a block of its own
    unless its text is taken.
    """

    def __init__(self, findings: Findings) -> None:
        self.section = ""
        self.muted = 0
        self._findings = findings
        self._paragraphs = [_Paragraph()]
        self._asides: list[Block] = []
        self._entry: str | None = None
        self.in_list = False  # whether references are being written, not prose

    def write(self, text: str, cursor: Cursor, at: int) -> None:
        """Add text that stands at a position of the source."""
        if not self.muted:
            self._paragraphs[-1].add(text, cursor, at)

    def flush(self, following: str = "") -> None:
        """End the paragraph; those of a bibliography are parts of one entry.

        The ``following`` one may be of a kind: an ``item``.
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
            self._findings.blocks += [*block, *self._asides]
            self._asides.clear()

    def begin_aside(self, kind: str) -> None:
        """What follows is written apart."""
        self._paragraphs.append(_Paragraph(kind))

    def end_aside(self) -> None:
        """The aside becomes a block."""
        self.flush()
        self._paragraphs.pop()

    def take_aside(self) -> str:
        """The aside becomes no block: its text is given back."""
        return PLACE.sub("", self._paragraphs.pop().text())

    # --- A list of references ---------------------------------------------------------------

    def begin_list(self) -> None:
        """What follows are references."""
        self.flush()
        self.in_list = True

    def begin_entry(self, key: str) -> None:
        """A reference begins."""
        self._end_entry()
        self._entry = key

    def end_list(self) -> None:
        """Prose goes on."""
        self._end_entry()
        self.in_list = False

    def _end_entry(self) -> None:
        if self._entry is not None:
            text = PLACE.sub("", self._paragraphs[-1].text())
            self._findings.entries.append(entry_of(self._entry, text))
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


def authors_in(tex: str) -> tuple[str, ...]:
    """The names in the argument of ``\\author``: first lines, without notes and affiliations."""
    if len(tex) > _LONGEST:
        return ()
    plain = _ASIDE.sub("", tex)
    lines = [part.split("\\\\")[0] for part in _BETWEEN.split(plain)]
    # ``A. One, B. Two and C. Three`` are three names; what is no name is left out.
    parts = (part for line in lines for part in _COMMA_OR_AND.split(latex_to_text(line)))
    names = (part.strip(" .*†‡") for part in parts)
    return unique(name for name in names if 1 < len(name.split()) < 7 and _NAME.fullmatch(name))
