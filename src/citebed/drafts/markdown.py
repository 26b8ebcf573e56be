"""Markdown (CommonMark with pandoc's additions) to blocks of prose.

markdown-it-py tells the blocks apart. What stands within a block is read in ``markdown_inline``:
the library knows nothing of pandoc's citations and notes, and takes twice the time for the rest.

Markdown within a paragraph: links, emphasis, code, notes, and pandoc's citations.
"""

from __future__ import annotations

import functools
import html
import re
import textwrap
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, blockquote, fence, list_block
from markdown_it.token import Token

from citebed.drafts.findings import PLACE, Block, Findings, Raw, raw_of_lines
from citebed.drafts.references import entries_in, is_references_heading
from citebed.drafts.roles import place_markdown_roles
from citebed.drafts.tex.commands import place_commands
from citebed.patterns import compiled
from citebed.text.identifiers import arxiv_in, doi_in
from citebed.text.latex import DISPLAY_MATHS, maths_as_text
from citebed.text.normalise import fold, unique

# An escaped character is moved out of the way (into the private use area) and back at the end.
_ESCAPED = re.compile(r"\\([*_#@$\[\]<>`^~|!-])")
_SHIFT = 0xE100
_MOVED = re.compile("[\ue100-\ue17f]")

_CODE = re.compile(r"(?<!`)``(?!`)(?:[^`]|`(?!`)){1,400}``(?!`)|(?<!`)`[^`]{1,400}`(?!`)")
_MATHS = re.compile(r"(?<![\\$\w])\$(?=[^\s$])([^$]{1,400}?)(?<=\S)\$(?![\d$])")
_INLINE_NOTE = compiled(r"\^\[((?:[^][]++|\[[^][]*+\])*+)\]")
_LINK = compiled(
    r"(!?)\[((?:[^][]++|\[[^][]*+\])*+)\]\(\s*+<?((?:[^()\s<>]++|\([^()\s]*+\))*+)>?"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)(?:\{[^{}\n]*+\})?"
)
_LABEL = re.compile(r"\\(?:label|[A-Za-z]{0,4}ref)\*?\{[^{}\n]{0,200}\}")
_GIVEN_LINK = compiled(r"!?\[([^][^@]*+)\](?:\[[^][]*+\]|\{[^{}\n]*+\})")
_NOTE_MARK = re.compile(r"\[\^[^][\s]{1,80}\]")
_GROUP = compiled(r"\[([^][@]*+@[^][]*+)\](?!\()")
_KEY = compiled(
    r"(?<![\w./}])-?@(?:\{([^{}\s]{1,200})\}|(\w++(?:[:.#$%&+?<>~/-]++\w++)*+))"
    r"(?:\s?\[(?:pp?\.|ch|sec|fig|vol|§|\d)[^][@]{0,80}\])?"
)
_CROSS_REFERENCE = re.compile(r"(?:fig|tbl|tab|eq|sec|lst|thm|lem)[:-]")
_TAG = compiled(r"</?[A-Za-z][A-Za-z0-9-]*+(?:\s[^<>]*+)?/?>")
# The leading class lets the search skip plain text quickly.
_EMPHASIS = re.compile(
    r"[*_~=](?:(?<=\*)\*{0,2}(?=\S)|(?<=\S\*)\*{0,2}"
    r"|(?<=_)(?<!\w_)_{0,2}(?=\S)|(?<=\S_)_{0,2}(?!\w)|(?<=~)~|(?<==)=)"
)


def inline_text(text: str, findings: Findings) -> tuple[str, list[str]]:
    """The words of a paragraph, its citations as places; and the notes written within it."""
    text = place_markdown_roles(text, findings)
    text = _CODE.sub(" ", text) if "`" in text else text
    text = _ESCAPED.sub(lambda m: chr(_SHIFT + ord(m[1])), text) if "\\" in text else text
    if "$" in text:
        text = _MATHS.sub(lambda m: maths_as_text(m[1]), DISPLAY_MATHS["$"].sub(" ", text))
    notes = [_words(match[1], findings) for match in _INLINE_NOTE.finditer(text)]
    return _words(_INLINE_NOTE.sub("", text), findings), notes


def _words(text: str, findings: Findings) -> str:
    text = place_commands(_LABEL.sub("", text) if "\\" in text else text, findings)
    if "@" in text:
        text = _GROUP.sub(lambda match: _placed(match[1], findings) or match[0], text)
        text = _KEY.sub(lambda match: _placed(match[0], findings) or " ", text)
    if "[" in text:
        for _ in range(2):  # an image may be the text of a link
            text = _LINK.sub(lambda match: _linked(match, findings), text)
        text = _GIVEN_LINK.sub(r"\1", _NOTE_MARK.sub("", text))
    text = _EMPHASIS.sub("", _TAG.sub(" ", text) if "<" in text else text)
    text = _MOVED.sub(lambda m: chr(ord(m[0]) - _SHIFT), text)
    return html.unescape(text) if "&" in text else text


def _linked(match: re.Match[str], findings: Findings) -> str:
    """What a link reads; one to a DOI or to arXiv cites."""
    if doi := doi_in(match[3]):
        return f"{match[2]} {findings.cite([doi])}"
    if arxiv := arxiv_in(match[3]):
        return f"{match[2]} {findings.cite([f'arXiv:{arxiv}'])}"
    return match[2]


def _placed(text: str, findings: Findings) -> str:
    keys = [match[1] or match[2] for match in _KEY.finditer(text)]
    works = [key for key in keys if not _CROSS_REFERENCE.match(key)]
    return findings.cite(works) if works else ""


def entry_text(line: str) -> str:
    """A line of a list of references without emphasis, its addresses kept."""
    return _EMPHASIS.sub("", _LINK.sub(r"\2 \3 ", line))


# --- Blocks -----------------------------------------------------------------------------------


# A comment ends before another begins: one that is never closed costs no second look.
_COMMENT = compiled(r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->")
_ATTRIBUTES = re.compile(r"\s*\{[^{}]*\}\s*$")
_TASK = re.compile(r"\A\[[ xX]\][ \t]+")
_IMAGE = compiled(
    r"\s*+!\[(?:[^][]++|\[[^][]*+\])*+\](?:\([^()]*+\)|\[[^][]*+\])(?:\{[^{}]*+\})?+\s*+"
)
_GRID = re.compile(r"[ \t]*(?:\||\+[-=+:]{3,})")
_CONTAINER = re.compile(r"(?:\[\^[^][\s]{1,80}\]:|:(?=[ \t])|\(\d{1,3}\)(?=[ \t]))[ \t]*")
_SILENT = compiled(r":{3,}[^\n]*+|\$\$[^$]*+\$\$[ \t]*+(?:\{[^{}\n]*+\}[ \t]*+)?(?=\n|\Z)")
_DEEPEST = 40

_Rule = Callable[[StateBlock, int, int, bool], bool]


def read_markdown(text: str, findings: Findings) -> None:
    """Read Markdown into ``findings``."""
    lines = text.split("\n")
    front = read_front(lines, findings)
    body = "\n".join([""] * front + lines[front:])
    body = textwrap.dedent(_COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", body))
    env: dict[str, Any] = {}
    reader = _Reader(findings, body.split("\n"), lines)
    for token in _parser().parse(body, env):
        reader.read(token)
    reader.end()
    for mark, _ in env.get("unclosed", ()):
        findings.note(f"code that begins with {mark} but never ends was read as text")
    for link in env.get("references", {}).values():
        findings.nowhere += filter(None, [doi_in(unquote(link["href"]))])


class _Reader:
    """Turns tokens into blocks."""

    def __init__(self, findings: Findings, lines: list[str], source: list[str]) -> None:
        self._findings = findings
        self._lines, self._source = lines, source
        self._within = ""  # a heading or a table, while its tokens come
        self._items = 0  # how many lists deep
        self._section = ""
        self._heads: list[tuple[int, str]] = []
        self._level = 0  # of the heading of the references, while they come
        self._entries: list[str] = []
        self._since = 0

    def read(self, token: Token) -> None:
        """Take the next token."""
        if token.type in ("heading_open", "table_open"):
            self._within = token.tag
        elif token.type in ("list_item_open", "list_item_close"):
            self._items += token.nesting
        elif token.type in ("heading_close", "table_close"):
            self._within = ""
        elif token.type == "fence" and token.map:
            start, end = token.map
            self._lines[start:end] = [""] * (end - start)
        elif token.type == "inline" and token.map:
            if self._within.startswith("h"):
                self._head(int(self._within[1]), token.content, *token.map)
            elif not self._level:
                self._prose(token.content, token.map[0] + 1)

    def _prose(self, raw: str, line: int) -> None:
        text, notes = inline_text(_TASK.sub("", raw), self._findings)
        is_table = self._within or all(map(_GRID.match, raw.split("\n")))
        kind = "caption" if _IMAGE.fullmatch(raw) else "item" if self._items else ""
        texts = [*([] if is_table else [(text, kind)]), *((note, "") for note in notes)]
        place = _raw(raw, line, self._source)
        blocks = [Block(text, place, self._section, kind) for text, kind in texts if text.strip()]
        self._findings.blocks += blocks

    def _head(self, level: int, raw: str, start: int, end: int) -> None:
        text = fold(PLACE.sub("", inline_text(_ATTRIBUTES.sub("", raw), Findings())[0]))
        if self._level:
            self._entries += self._lines[self._since : start]
            self._since = end
            if level <= self._level:
                self._end_references()
        if is_references_heading(text):
            self._level, self._since = level, end
        elif not self._level:
            self._heads.append((level, text))
            self._section = text

    def _end_references(self) -> None:
        self._findings.entries += entries_in([entry_text(line) for line in self._entries])
        self._level, self._entries = 0, []

    def end(self) -> None:
        """The text has ended. A single top heading, at the very start, was its title."""
        if self._level:
            self._entries += self._lines[self._since :]
            self._end_references()
        tops = [text for level, text in self._heads if level == 1]
        if not self._findings.title and len(tops) == 1 and self._heads[0][0] == 1:
            self._findings.title = tops[0]
            blocks = self._findings.blocks  # what stands before the first section stands in none
            first = list(takewhile(lambda block: block.section == tops[0], blocks))
            blocks[: len(first)] = [block._replace(section="") for block in first]


def _raw(content: str, line: int, source: Sequence[str]) -> Raw:
    """Content of a block that begins in a line of the file; each line of it is looked for there."""
    parts = enumerate(content.split("\n"), start=line)
    return raw_of_lines(
        (part, number, _column(part, source[number - 1] if number <= len(source) else ""))
        for number, part in parts
    )


def _column(part: str, line: str) -> int:
    """Where a part of a line begins in it, or the line itself where it is not found as it is."""
    place = line.find(part.strip())
    first = place if place >= 0 else len(line) - len(line.lstrip())
    return max(first - (len(part) - len(part.lstrip())), 0) + 1


# --- What pandoc adds to the blocks of CommonMark -------------------------------------------


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 2 * _DEEPEST})
    parser.enable("table").disable("html_block")  # tags are passed over, what they hold is read
    parser.core.ruler.enableOnly(["normalize", "block"])
    rules = parser.block.ruler
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    rules.at("fence", _fence, ends)
    rules.at("blockquote", _shallow(blockquote), ends)
    rules.at("list", _shallow(list_block), {"alt": ends["alt"][:3]})
    rules.before("list", "silent", _silent, ends)
    rules.before("list", "container", _shallow(_container), ends)
    return parser


def _shallow(rule: _Rule) -> _Rule:
    """A rule that takes no more than some depth: beyond it the library would leave out all text."""
    return lambda state, start, end, silent: (
        state.level < _DEEPEST and rule(state, start, end, silent)
    )


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Fenced code; a fence that is never closed is passed over, and what follows is text."""
    if silent:
        return fence(state, start, end, silent)
    at = state.bMarks[start] + state.tShift[start]
    mark, length = state.src[at : at + 3], state.skipCharsStr(at, state.src[at]) - at
    unclosed: dict[tuple[str, int], int] = state.env.setdefault("unclosed", {})
    hopeless = length >= unclosed.get((mark, end), 1 << 30)  # no other look for an end
    if not fence(state, start, end, hopeless):
        return False
    if not hopeless:
        last = state.src[state.bMarks[end - 1] : state.eMarks[end - 1]].strip()
        closed = end - 1 > start and len(last) >= length and not last.strip(mark[0])
        if state.line < end or closed:
            return True
        state.tokens.pop()
        unclosed[mark, end] = length
    state.line = start + 1
    return True


def _silent(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The fences of a div, a formula that stands alone: they end a paragraph and say nothing."""
    at = state.bMarks[start] + state.tShift[start]
    match = None if state.is_code_block(start) else _SILENT.match(state.src, at)
    if match is None or (silent and state.src.count("$$", state.bMarks[state.line], at) % 2):
        return False  # it may also be the end of a formula that began within the paragraph
    if not silent:
        state.line = min(end, start + 1 + match[0].count("\n"))
    return True


def _container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """``[^1]: …``, ``: …``, ``(1) …``: what they begin goes on in lines four blanks further in."""
    at = state.bMarks[start] + state.tShift[start]
    indented = state.is_code_block(start)
    match = None if indented else _CONTAINER.match(state.src, at, state.eMarks[start])
    if match is None or silent:
        return match is not None
    marks = (state.bMarks, state.tShift, state.sCount)
    before = [mark[start] for mark in marks]
    state.push("container_open", "", 1)
    state.blkIndent += 4
    state.bMarks[start], state.tShift[start], state.sCount[start] = match.end(), 0, state.blkIndent
    state.md.block.tokenize(state, start, end)
    state.blkIndent -= 4
    for mark, value in zip(marks, before, strict=True):
        mark[start] = value
    state.push("container_close", "", -1)
    return True


# --- Front matter ---------------------------------------------------------------------------

# Only what papers use is read (scalars, quoted or not; lists in brackets or with dashes; block
# text), so that no YAML library is needed. What is not understood is passed over.
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_DASH = re.compile(r"[ \t]*-[ \t]+(.*)$")
_NAME = re.compile(r"[ \t]*(?:-[ \t]+)?name[ \t]*:[ \t]*(.+)$")
_QUOTED = re.compile(r"([\"'])(.*?)\1(?:\s+#.*)?")
_BLOCK_TEXT = re.compile(r"[|>][+-]?\d?$")


def read_front(lines: Sequence[str], findings: Findings) -> int:
    """Read the front matter, if there is any; the number of lines it takes."""
    if lines and lines[0].startswith("% "):
        return _read_title_block(lines, findings)
    if not lines or lines[0].rstrip() != "---" or not any(map(_FIELD.match, lines[1:3])):
        return 0
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return 0
    for name, values, line in _fields(lines[1:end]):
        _take(name, values, _raw("\n".join(values), line + 1, lines), findings)
    return end + 1


def _read_title_block(lines: Sequence[str], findings: Findings) -> int:
    """Pandoc's ``% title``, ``% authors``, ``% date``."""
    values = [line[1:].strip() for line in takewhile(lambda line: line[:1] == "%", lines[:3])]
    findings.title = values[0]
    if len(values) > 1:
        findings.authors = unique(part.strip() for part in values[1].split(";"))
    return len(values)


def _fields(lines: Sequence[str]) -> list[tuple[str, list[str], int]]:
    """Name, values and line of each field at the left margin."""
    items: list[tuple[str, list[str], int]] = []
    for number, line in enumerate(lines, start=1):
        match = _FIELD.match(line)
        if match is not None:
            values = _values(match[2] or "")
            items.append((match[1].lower(), values, number if values else number + 1))
        elif items and line.strip():
            items[-1][1].append(_nested(line))
    return items


def _nested(line: str) -> str:
    if name := _NAME.match(line):
        return _unquoted(name[1])
    dash = _DASH.match(line)
    if dash is None:
        return line.strip() if not _FIELD.match(line.strip()) else ""
    return _unquoted(dash[1]) if not _FIELD.match(dash[1]) else ""


def _values(raw: str) -> list[str]:
    raw = raw.strip()
    if _BLOCK_TEXT.match(raw) or not raw:
        return []
    if raw.startswith("[") and raw.endswith("]"):
        return [_unquoted(part) for part in raw[1:-1].split(",")]
    return [_unquoted(raw)]


def _unquoted(raw: str) -> str:
    if quoted := _QUOTED.fullmatch(raw.strip()):
        return quoted[2]
    return raw.split(" #", 1)[0].strip()


def _take(name: str, values: list[str], raw: Raw, findings: Findings) -> None:
    if name == "title":
        findings.title = fold(" ".join(values))
    elif name in ("author", "authors"):
        findings.authors = unique(map(fold, values))
    elif name == "bibliography":
        findings.name_bibliographies(values)
    elif name == "abstract" and any(values):
        findings.blocks.append(Block(raw.text, raw, "Abstract"))
