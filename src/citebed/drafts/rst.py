"""reStructuredText to blocks of prose.

Blocks are told by their lines: section titles, directives, lists, tables, literal text. No
directive is carried out: a file that one names is not read, except a bibliography.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from citebed.drafts.findings import PLACE, Block, Findings, raw_of_lines
from citebed.drafts.records import Entry
from citebed.drafts.references import entries_in, entry_of, is_references_heading
from citebed.drafts.roles import place_rst_roles
from citebed.patterns import compiled
from citebed.text.identifiers import arxiv_in, doi_in
from citebed.text.latex import maths_as_text
from citebed.text.normalise import fold, unique

# --- Within a paragraph -----------------------------------------------------------------------

_LITERAL = re.compile(r"``[^`]{1,500}``")
_LINK = re.compile(r"`([^`<]{0,300})<([^<>`]{1,500})>`__?")
_MATHS = re.compile(r":math:`([^`]{1,400})`")
_CODE_ROLE = re.compile(r":(?:code|literal|file|command|samp|kbd|eq|numref|raw-\w+):`[^`]{1,300}`")
_ROLE = re.compile(r":[A-Za-z][\w:.+-]{0,40}:`([^`<]{0,300})(?:<[^<>`]{0,300}>)?`")
_PHRASE = re.compile(r"`([^`]{1,500})`(?:__?(?!\w)|(?::[\w-]{1,30}:)?)")
_FOOTNOTE = re.compile(r"\s?\[(?:#[\w.-]{0,60}|\*)\]_(?!\w)")
_NUMBERED = re.compile(r"\[(\d{1,4})\]_(?!\w)")
_CITATION = re.compile(r"\[([A-Za-z][\w.:+-]{0,80})\]_(?!\w)")
_NAMED_LINK = re.compile(r"(?<=\w)__?(?=[\s.,;:!?)\]]|$)")
_SUBSTITUTION = re.compile(r"\|([^|\s][^|\n]{0,80})\|_{0,2}")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}(?=\S)|(?<=\S)\*{1,2}(?!\w)")
_ESCAPE = re.compile(r"\\(.)?", re.DOTALL)


def inline_text(text: str, findings: Findings) -> str:
    """The words of a paragraph, its citations as places."""
    text = place_rst_roles(text, findings)
    if "`" in text:
        text = _LITERAL.sub(" ", text)
        text = _MATHS.sub(lambda match: maths_as_text(match[1]), _CODE_ROLE.sub(" ", text))
        text = _LINK.sub(lambda match: _linked(match, findings), text)
        text = _PHRASE.sub(r"\1", _ROLE.sub(r"\1", text))
    if "]_" in text:
        text = _NUMBERED.sub(r"[\1]", _FOOTNOTE.sub("", text))
        text = _CITATION.sub(lambda match: findings.cite([match[1]]), text)
    text = _SUBSTITUTION.sub(r"\1", _NAMED_LINK.sub("", text))
    text = _EMPHASIS.sub("", text)
    return _ESCAPE.sub(lambda match: (match[1] or "").strip(), text)


def _linked(match: re.Match[str], findings: Findings) -> str:
    words, address = match[1].strip(), match[2]
    if doi := doi_in(address):
        return f"{words} {findings.cite([doi])}"
    if arxiv := arxiv_in(address):
        return f"{words} {findings.cite([f'arXiv:{arxiv}'])}"
    return words


# --- Blocks -----------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A line of the file without its margin, its number, and the column in which it begins."""

    text: str
    number: int
    column: int


_ADORNMENT = compiled(r"([!-/:-@\[-`{-~])\1{1,}+[ \t]*+")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]+|$)")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|]{1,80}\|[ \t]+)?([A-Za-z][\w:.+-]{0,60})::[ \t]*(.*)")
_NOTE = re.compile(r"\.\.[ \t]+\[([^\]\s]{1,80})\][ \t]*(.*)")
_TARGET = re.compile(r"\.\.[ \t]+_[^:]{0,200}:[ \t]*(.*)")
_ITEM = re.compile(r"(?:[-*+•‣]|\(?(?:\d{1,3}|#|[a-z])[.)])[ \t]+(?=\S)")
_FIELD = re.compile(r":([A-Za-z][^:`\n]{0,60}):(?:[ \t]+(.*)|[ \t]*)$")
_GRID = re.compile(r"\+[-=+]{3,}\+|={2,}[ \t]+=[= \t]+$|\|[ \t]")
_DOCTEST = re.compile(r">>>")
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_PROSE = frozenset(
    """
    note warning tip hint important caution attention danger error admonition abstract topic
    sidebar epigraph highlights pull-quote compound container rubric only seealso versionadded
    versionchanged deprecated theorem lemma proof definition remark example quote parsed-quote
    """.split()  # noqa: SIM905
)
_CAPTIONED = frozenset(("figure", "subfigure", "carousel"))
_BIBLIOGRAPHIES = frozenset(("bibliography", "footbibliography"))
_DEEPEST = 50


def read_rst(text: str, findings: Findings) -> None:
    """Read reStructuredText into ``findings``."""
    reader = _Reader(findings)
    lines = [_margin(line.expandtabs(8), n) for n, line in enumerate(text.split("\n"), 1)]
    reader.read(lines)
    reader.end()


def _margin(text: str, number: int) -> _Line:
    stripped = text.strip()
    return _Line(stripped, number, len(text) - len(text.lstrip()) + 1 if stripped else 1)


class _Reader:
    """Takes the blocks of a text in order."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._section, self._depth = "", 0
        self._styles: list[str] = []  # of section titles, from the top one down
        self._heads: list[tuple[int, str]] = []
        self._level = 0  # of the heading of the references, while they come
        self._references: list[str] = []

    def read(self, lines: list[_Line]) -> None:
        """Read the lines of a text."""
        at = 0
        while at < len(lines):
            if not lines[at].text:
                at += 1
                continue
            at = self._block(lines, at)

    def _block(self, lines: list[_Line], at: int) -> int:
        """Read the block that begins in a line; the line behind it."""
        line = lines[at]
        if head := _title_at(lines, at):
            self._head(*head)
            return at + (2 if head[1][0] != "^" else 3)
        if _EXPLICIT.match(line.text):
            return self._explicit(lines, at)
        end = _end_of_paragraph(lines, at)
        if _ADORNMENT.fullmatch(line.text) and end == at + 1:
            return end  # a transition
        if _GRID.match(line.text) or _DOCTEST.match(line.text):
            return _end_of_table(lines, at) if _GRID.match(line.text) else end
        if match := _FIELD.match(line.text):
            return self._field(match, lines, at)
        self._paragraph(lines[at:end])
        if lines[end - 1].text.endswith("::"):
            return _end_of_body(lines, end, line.column)
        return end

    # --- Prose

    def _paragraph(self, lines: list[_Line], kind: str = "", section: str = "") -> None:
        """A paragraph; each item of a list that stands in it is one."""
        starts = [n for n, line in enumerate(lines) if n == 0 or _ITEM.match(line.text)]
        if not _ITEM.match(lines[0].text):
            starts = [0]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            self._prose(lines[start:end], kind, section)

    def _prose(self, lines: list[_Line], kind: str, section: str) -> None:
        raw = raw_of_lines(lines)
        item = _ITEM.match(lines[0].text)
        text = raw.text[item.end() :] if item else raw.text
        text = (
            text[:-2] + ("" if text[:-2].endswith((" ", "\n")) else ":")
            if text.endswith("::")
            else text
        )
        if self._level:
            self._references += [*(line.text for line in lines), ""]
            return
        words = inline_text(text, self._findings)
        if words.strip():
            told = kind or ("item" if item else "")
            self._findings.blocks.append(Block(words, raw, section or self._section, told))

    # --- Sections

    def _head(self, text: str, style: str) -> None:
        if style not in self._styles:
            self._styles.append(style)
        level = self._styles.index(style) + 1
        plain = fold(PLACE.sub("", inline_text(text, Findings())))
        if is_references_heading(plain):
            self._level = level
        elif not self._level or level <= self._level:
            self._level = 0
            self._heads.append((level, plain))
            self._section = plain

    # --- Explicit markup

    def _explicit(self, lines: list[_Line], at: int) -> int:
        """A directive, a note, a citation, a target or a comment, and the body below it."""
        line = lines[at]
        end = _end_of_body(lines, at + 1, line.column)
        body = lines[at + 1 : end]
        if match := _DIRECTIVE.match(line.text):
            self._directive(match[1], match[2], line, body)
        elif match := _NOTE.match(line.text):
            self._note(match, line, body)
        elif match := _TARGET.match(line.text):
            self._findings.nowhere += filter(None, [doi_in(match[1])])
        return end

    def _directive(self, name: str, given: str, line: _Line, body: list[_Line]) -> None:
        name = name.lower()
        options = _options(body)
        content = body[options:]
        if name in _BIBLIOGRAPHIES:
            self._findings.name_bibliographies(given.split())
            self._findings.every_entry |= any(each.text == ":all:" for each in body[:options])
        elif name in _CAPTIONED and any(each.text for each in content):
            first = next(n for n, each in enumerate(content) if each.text)
            self._paragraph(content[first : _end_of_paragraph(content, first)], "caption")
        elif name in _PROSE:
            self._admonition(name, given, line, content)

    def _admonition(self, name: str, given: str, line: _Line, content: list[_Line]) -> None:
        if self._depth == _DEEPEST:
            return
        self._depth += 1
        before = self._section
        self._section = "Abstract" if name == "abstract" or given.lower() == "abstract" else before
        if given and name not in ("topic", "sidebar", "admonition", "container", "only", "theorem"):
            self._paragraph([_Line(given, line.number, line.column + line.text.rindex(given))])
        self.read(content)
        self._section = before
        self._depth -= 1

    def _note(self, match: re.Match[str], line: _Line, body: list[_Line]) -> None:
        """``.. [Lee2019] …`` is an entry; a numbered note is one if it reads like a reference."""
        label = match[1]
        first = _Line(match[2], line.number, line.column + match.start(2))
        lines = [each for each in (first, *body) if each.text]
        said = " ".join(each.text for each in lines)
        plain = PLACE.sub("", inline_text(said, Findings()))
        is_note = label.startswith("#") or label == "*" or label.isdecimal()
        if not is_note:
            self._findings.entries.append(entry_of(label, f"{plain} {_addresses(said)}"))
        elif _YEAR.search(said) or doi_in(said):
            entry: Entry = entry_of(label.lstrip("#"), f"{plain} {_addresses(said)}")
            self._findings.entries.append(entry)
        elif lines:
            self._paragraph(lines)

    def _field(self, match: re.Match[str], lines: list[_Line], at: int) -> int:
        """``:author: …``: a field of the head of a document, or of a list of fields."""
        end = _end_of_body(lines, at + 1, lines[at].column)
        while end > at + 1 and not lines[end - 1].text:
            end -= 1
        first = _Line(match[2] or "", lines[at].number, lines[at].column + match.end(1) + 2)
        body = [each for each in (first, *lines[at + 1 : end]) if each.text]
        name, said = match[1].lower(), " ".join(each.text for each in body)
        if name in ("author", "authors"):
            names = fold(said).split(";")
            self._findings.authors = unique([*self._findings.authors, *map(str.strip, names)])
        elif name == "title":
            self._findings.title = fold(said)
        elif name == "abstract" and body:
            self._paragraph(body, section="Abstract")
        elif name == "bibliography":
            self._findings.name_bibliographies(said.split())
        return max(end, at + 1)

    def end(self) -> None:
        """The text has ended. A single top heading, at the very start, was its title."""
        self._findings.entries += entries_in(self._references) if self._references else []
        tops = [text for level, text in self._heads if level == 1]
        if not self._findings.title and len(tops) == 1:
            self._findings.title = tops[0]
            blocks = self._findings.blocks
            for number, (same, _) in enumerate(groupby(blocks, key=lambda b: b.section)):
                if number == 0 and same == tops[0]:
                    self._unsection(tops[0])

    def _unsection(self, title: str) -> None:
        """What stands before the first section stands in none."""
        blocks = self._findings.blocks
        for at, block in enumerate(blocks):
            if block.section != title:
                break
            blocks[at] = block._replace(section="")


def _addresses(text: str) -> str:
    """The identifiers in a text, which its words may not show."""
    return " ".join(filter(None, (doi_in(text),)))


def _title_at(lines: list[_Line], at: int) -> tuple[str, str] | None:
    """The section title that begins in a line, and how it is adorned (``^`` first: above too)."""
    texts = [line.text for line in lines[at : at + 3]]
    if lines[at].column > 1 and not _ADORNMENT.fullmatch(texts[0]):
        return None
    rules = [_ADORNMENT.fullmatch(text) is not None for text in texts]
    is_framed = rules == [True, False, True] and texts[0] == texts[2]
    if is_framed and 0 < len(texts[1]) <= len(texts[0]) + 2:
        return texts[1], f"^{texts[0][0]}"
    if rules[:2] == [False, True]:
        # An underline is as long as its title, or nearly; ``::`` is none.
        enough = len(texts[1]) >= min(len(texts[0]), 4) and texts[1] != "::"
        if texts[0] and enough and lines[at + 1].column == 1:
            return texts[0], texts[1][0]
    return None


def _end_of_paragraph(lines: list[_Line], at: int) -> int:
    """The line behind a paragraph: a blank one, or one at another margin that is no item's."""
    end = at + 1
    while end < len(lines) and lines[end].text:
        end += 1
    return end


def _end_of_table(lines: list[_Line], at: int) -> int:
    """The line behind a table; a simple one may have blank lines before its last rule."""
    end = _end_of_paragraph(lines, at)
    rule = lines[at].text
    if rule.startswith("=") and lines[end - 1].text != rule:
        for later in range(end, min(end + 200, len(lines))):
            if lines[later].text == rule:
                return later + 1
    return end


def _end_of_body(lines: list[_Line], at: int, column: int) -> int:
    """The line behind all that stands further in than a column."""
    end = at
    while end < len(lines) and (not lines[end].text or lines[end].column > column):
        end += 1
    return end


def _options(body: list[_Line]) -> int:
    """How many lines at the beginning of a directive's body are options."""
    count = 0
    while count < len(body) and (
        _FIELD.match(body[count].text) or re.fullmatch(r":[\w-]+:.*", body[count].text)
    ):
        count += 1
    return count
