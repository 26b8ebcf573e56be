"""Read reStructuredText: section titles, directives, lists, tables and literal text.

Directives are not executed. The reader opens only the bibliography files that they name.
"""

from __future__ import annotations

import re

from citebed.drafts.parsed_draft import PLACE, Block, Line, ParsedDraft, join_lines
from citebed.drafts.records import Place
from citebed.drafts.references import Sections, parse_entry
from citebed.text.identifiers import doi_in
from citebed.text.latex import maths_as_text
from citebed.text.normalise import fold, unique
from citebed.text.regex import compile_regex

# --- Citation roles ---------------------------------------------------------------------------
# ``:cite:p:`a,b``` in reStructuredText, ``{cite}`a``` in MyST's Markdown, and the tag
# ``<cite data-cite="a">(Lee, 2019)</cite>`` in notebooks.

_ROLE_NAME = r"(?:foot|full|no)?cite(?:[:a-z]{0,20})"
_RST_ROLE = re.compile(rf":({_ROLE_NAME}):`([^`]{{1,2000}})`")
_MYST_ROLE = re.compile(rf"\{{({_ROLE_NAME})\}}`([^`]{{1,2000}})`")
_CITE_TAG = compile_regex(
    r"<cite\s+data-cite\s*+=\s*+[\"']([^\"'<>]{1,500})[\"'][^<>]{0,200}>[^<]*+(?:</cite>)?"
)
_NOTE_OR_TARGET = re.compile(r"\{[^{}]*\}|<([^<>]+)>")


def place_rst_roles(text: str, parsed: ParsedDraft) -> str:
    """Replace the citation roles in reStructuredText by citation marks."""
    if "cite" not in text:
        return text
    return _RST_ROLE.sub(lambda match: _place_keys(match[1], match[2], parsed), text)


def place_markdown_roles(text: str, parsed: ParsedDraft) -> str:
    """Replace MyST's citation roles and the cite tags of notebooks by citation marks."""
    if "cite" not in text:
        return text
    text = _MYST_ROLE.sub(lambda match: _place_keys(match[1], match[2], parsed), text)
    return _CITE_TAG.sub(lambda match: _place_keys("cite", match[1], parsed), text)


def _place_keys(role: str, listed: str, parsed: ParsedDraft) -> str:
    """Cite keys between commas, with notes in braces (``{see}a{p. 3}``) or with a title."""
    plain = _NOTE_OR_TARGET.sub(lambda match: match[1] or "", listed)
    keys = [key.strip() for key in plain.split(",") if key.strip()]
    if role.startswith("nocite"):
        parsed.unplaced += keys
        return ""
    return f" {parsed.cite(keys)}" if keys else ""


# --- Inline markup ----------------------------------------------------------------------------

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


def inline_text(text: str, parsed: ParsedDraft) -> str:
    """Return the words of a paragraph with citation marks."""
    text = place_rst_roles(text, parsed)
    if "`" in text:
        text = _LITERAL.sub(" ", text)
        text = _MATHS.sub(lambda match: maths_as_text(match[1]), _CODE_ROLE.sub(" ", text))
        text = _LINK.sub(lambda match: _linked(match, parsed), text)
        text = _PHRASE.sub(r"\1", _ROLE.sub(r"\1", text))
    if "]_" in text:
        text = _NUMBERED.sub(r"[\1]", _FOOTNOTE.sub("", text))
        text = _CITATION.sub(lambda match: parsed.cite([match[1]]), text)
    text = _SUBSTITUTION.sub(r"\1", _NAMED_LINK.sub("", text))
    text = _EMPHASIS.sub("", text)
    return _ESCAPE.sub(lambda match: (match[1] or "").strip(), text)


def _linked(match: re.Match[str], parsed: ParsedDraft) -> str:
    words, mark = match[1].strip(), parsed.cite_url(match[2])
    return f"{words} {mark}" if mark else words


# --- Blocks -----------------------------------------------------------------------------------


_ADORNMENT = compile_regex(r"([!-/:-@\[-`{-~])\1{1,}+[ \t]*+")
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
_WITHOUT_ARGUMENT = ("topic", "sidebar", "admonition", "container", "only", "theorem")
"""Directives of prose whose argument is not prose."""
_CAPTIONED = frozenset(("figure", "subfigure", "carousel"))
_BIBLIOGRAPHIES = frozenset(("bibliography", "footbibliography"))
_DEEPEST = 50


def read_rst(text: str, parsed: ParsedDraft) -> None:
    """Read reStructuredText into ``parsed``."""
    reader = _Reader(parsed)
    lines = []  # without indentation
    for number, line in enumerate(text.expandtabs(8).split("\n"), 1):
        margin = len(line) - len(line.lstrip())
        lines.append(Line(line.strip(), number, margin + 1 if line.strip() else 1))
    reader.read(lines)
    reader.end()


class _Reader:
    """Reads the blocks of a text in order."""

    def __init__(self, parsed: ParsedDraft) -> None:
        self._parsed = parsed
        self._sections, self._depth = Sections(parsed), 0
        self._styles: list[str] = []  # styles of section titles, from the first level on

    def read(self, lines: list[Line]) -> None:
        """Read the lines of a text."""
        at = 0
        while at < len(lines):
            if not lines[at].text:
                at += 1
                continue
            at = self._block(lines, at)

    def _block(self, lines: list[Line], at: int) -> int:
        """Read the block that begins at a line, and return the index of the line after it."""
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

    def _paragraph(self, lines: list[Line], kind: str = "", section: str = "") -> None:
        """Add a paragraph, or one for each list item in it."""
        starts = [n for n, line in enumerate(lines) if n == 0 or _ITEM.match(line.text)]
        if not _ITEM.match(lines[0].text):
            starts = [0]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            self._prose(lines[start:end], kind, section)

    def _prose(self, lines: list[Line], kind: str, section: str) -> None:
        raw = join_lines(lines)
        item = _ITEM.match(lines[0].text)
        text = raw.text[item.end() :] if item else raw.text
        text = (
            text[:-2] + ("" if text[:-2].endswith((" ", "\n")) else ":")
            if text.endswith("::")
            else text
        )
        if self._sections.in_references:
            for written, number, column in (*lines, Line("", 0)):
                self._sections.references.append((written, Place("", number, column)))
            return
        words = inline_text(text, self._parsed)
        if words.strip():
            kind = kind or ("item" if item else "")
            self._parsed.blocks.append(Block(words, raw, section or self._sections.current, kind))

    # --- Sections

    def _head(self, text: str, style: str) -> None:
        if style not in self._styles:
            self._styles.append(style)
        plain = fold(PLACE.sub("", inline_text(text, ParsedDraft())))
        self._sections.begin(self._styles.index(style) + 1, plain)

    # --- Explicit markup

    def _explicit(self, lines: list[Line], at: int) -> int:
        """Read a directive, note, citation, target or comment with the body below it."""
        line = lines[at]
        end = _end_of_body(lines, at + 1, line.column)
        body = lines[at + 1 : end]
        if match := _DIRECTIVE.match(line.text):
            self._directive(match[1], match[2], line, body)
        elif match := _NOTE.match(line.text):
            self._note(match, line, body)
        elif match := _TARGET.match(line.text):
            self._parsed.unplaced += filter(None, [doi_in(match[1])])
        return end

    def _directive(self, name: str, argument: str, line: Line, body: list[Line]) -> None:
        name = name.lower()
        options = 0
        while options < len(body) and (
            _FIELD.match(body[options].text) or re.fullmatch(r":[\w-]+:.*", body[options].text)
        ):
            options += 1
        content = body[options:]
        if name in _BIBLIOGRAPHIES:
            self._parsed.name_bibliographies(argument.split())
            self._parsed.every_entry |= any(each.text == ":all:" for each in body[:options])
        elif name in _CAPTIONED and any(each.text for each in content):
            first = next(n for n, each in enumerate(content) if each.text)
            self._paragraph(content[first : _end_of_paragraph(content, first)], "caption")
        elif name in _PROSE:
            if self._depth == _DEEPEST:
                return
            self._depth += 1
            before = self._sections.current
            if "abstract" in (name, argument.lower()):
                self._sections.current = "Abstract"
            if argument and name not in _WITHOUT_ARGUMENT:
                self._paragraph(
                    [Line(argument, line.number, line.column + line.text.rindex(argument))]
                )
            self.read(content)
            self._sections.current = before
            self._depth -= 1

    def _note(self, match: re.Match[str], line: Line, body: list[Line]) -> None:
        """Read ``.. [Lee2019] …`` as an entry, and a numbered note if it looks like a reference."""
        label = match[1]
        first = Line(match[2], line.number, line.column + match.start(2))
        lines = [each for each in (first, *body) if each.text]
        text = " ".join(each.text for each in lines)
        doi = doi_in(text)  # perhaps in a link, whose target is not in the plain text
        entry = f"{PLACE.sub('', inline_text(text, ParsedDraft()))} {doi or ''}"
        is_note = label.startswith("#") or label == "*" or label.isdecimal()
        if not is_note or _YEAR.search(text) or doi:
            label = label.lstrip("#") if is_note else label
            place = Place("", line.number, line.column)
            self._parsed.entries.append(parse_entry(label, entry, place))
        elif lines:
            self._paragraph(lines)

    def _field(self, match: re.Match[str], lines: list[Line], at: int) -> int:
        """Read a field such as ``:author: …`` at the start of a document or in a field list."""
        end = _end_of_body(lines, at + 1, lines[at].column)
        while end > at + 1 and not lines[end - 1].text:
            end -= 1
        first = Line(match[2] or "", lines[at].number, lines[at].column + match.end(1) + 2)
        body = [each for each in (first, *lines[at + 1 : end]) if each.text]
        name, value = match[1].lower(), " ".join(each.text for each in body)
        if name in ("author", "authors"):
            names = fold(value).split(";")
            self._parsed.authors = unique([*self._parsed.authors, *map(str.strip, names)])
        elif name == "title":
            self._parsed.title = fold(value)
        elif name == "abstract" and body:
            self._paragraph(body, section="Abstract")
        elif name == "bibliography":
            self._parsed.name_bibliographies(value.split())
        return max(end, at + 1)

    def end(self) -> None:
        """Store the references and the title at the end of the text."""
        self._sections.store_references()
        self._sections.take_title()


def _title_at(lines: list[Line], at: int) -> tuple[str, str] | None:
    """Return the section title at a line, and its style; ``^`` means that it is overlined, too."""
    texts = [line.text for line in lines[at : at + 3]]
    if lines[at].column > 1 and not _ADORNMENT.fullmatch(texts[0]):
        return None
    rules = [_ADORNMENT.fullmatch(text) is not None for text in texts]
    is_framed = rules == [True, False, True] and texts[0] == texts[2]
    if is_framed and 0 < len(texts[1]) <= len(texts[0]) + 2:
        return texts[1], f"^{texts[0][0]}"
    if rules[:2] == [False, True]:
        # An underline is about as long as its title; ``::`` is not an underline.
        enough = len(texts[1]) >= min(len(texts[0]), 4) and texts[1] != "::"
        if texts[0] and enough and lines[at + 1].column == 1:
            return texts[0], texts[1][0]
    return None


def _end_of_paragraph(lines: list[Line], at: int) -> int:
    """Return the index of the blank line after a paragraph."""
    end = at + 1
    while end < len(lines) and lines[end].text:
        end += 1
    return end


def _end_of_table(lines: list[Line], at: int) -> int:
    """Return the index of the line after a table, which may contain blank lines."""
    end = _end_of_paragraph(lines, at)
    rule = lines[at].text
    if rule.startswith("=") and lines[end - 1].text != rule:
        for later in range(end, min(end + 200, len(lines))):
            if lines[later].text == rule:
                return later + 1
    return end


def _end_of_body(lines: list[Line], at: int, column: int) -> int:
    """Return the index of the line after all lines that begin after a column."""
    end = at
    while end < len(lines) and (not lines[end].text or lines[end].column > column):
        end += 1
    return end
