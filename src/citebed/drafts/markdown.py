"""Read Markdown (CommonMark with pandoc's extensions), also in the cells of Jupyter notebooks.

markdown-it-py splits the text into blocks. Inline markup (links, emphasis, code, notes, citations)
is parsed here, because the library does not know pandoc's citations and notes, and takes twice the
time for the rest.
"""

from __future__ import annotations

import functools
import html
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, blockquote, fence, list_block
from markdown_it.token import Token

from citebed.drafts.parsed_draft import (
    PLACE,
    Block,
    Line,
    ParsedDraft,
    Raw,
    join_lines,
    without_places,
)
from citebed.drafts.records import Place
from citebed.drafts.references import Sections
from citebed.drafts.rst import place_markdown_roles
from citebed.drafts.tex_commands import place_commands
from citebed.errors import CitebedError
from citebed.text.identifiers import doi_in
from citebed.text.latex import DISPLAY_MATHS, maths_as_text
from citebed.text.normalise import fold, unique
from citebed.text.regex import compile_regex

# Escaped characters are shifted to the private use area, and back at the end.
_ESCAPED = re.compile(r"\\([*_#@$\[\]<>`^~|!-])")
_SHIFT = 0xE100
_MOVED = re.compile("[\ue100-\ue17f]")

_CODE = re.compile(r"(?<!`)``(?!`)(?:[^`]|`(?!`)){1,400}``(?!`)|(?<!`)`[^`]{1,400}`(?!`)")
_MATHS = re.compile(r"(?<![\\$\w])\$(?=[^\s$])([^$]{1,400}?)(?<=\S)\$(?![\d$])")
_INLINE_NOTE = compile_regex(r"\^\[((?:[^][]++|\[[^][]*+\])*+)\]")
_LINK = compile_regex(
    r"(!?)\[((?:[^][]++|\[[^][]*+\])*+)\]\(\s*+<?((?:[^()\s<>]++|\([^()\s]*+\))*+)>?"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)(?:\{[^{}\n]*+\})?"
)
_LABEL = re.compile(r"\\(?:label|[A-Za-z]{0,4}ref)\*?\{[^{}\n]{0,200}\}")
_GIVEN_LINK = compile_regex(r"!?\[([^][^@]*+)\](?:\[[^][]*+\]|\{[^{}\n]*+\})")
_NOTE_MARK = re.compile(r"\[\^[^][\s]{1,80}\]")
_GROUP = compile_regex(r"\[([^][@]*+@[^][]*+)\](?!\()")
_KEY = compile_regex(
    r"(?<![\w./}])-?@(?:\{([^{}\s]{1,200})\}|(\w++(?:[:.#$%&+?<>~/-]++\w++)*+))"
    r"(?:\s?\[(?:pp?\.|ch|sec|fig|vol|§|\d)[^][@]{0,80}\])?"
)
_CROSS_REFERENCE = re.compile(r"(?:fig|tbl|tab|eq|sec|lst|thm|lem)[:-]")
_TAG = compile_regex(r"</?[A-Za-z][A-Za-z0-9-]*+(?:\s[^<>]*+)?/?>")
# The first character class lets the search skip plain text quickly.
_EMPHASIS = re.compile(
    r"[*_~=](?:(?<=\*)\*{0,2}(?=\S)|(?<=\S\*)\*{0,2}"
    r"|(?<=_)(?<!\w_)_{0,2}(?=\S)|(?<=\S_)_{0,2}(?!\w)|(?<=~)~|(?<==)=)"
)


def inline_text(text: str, parsed: ParsedDraft) -> tuple[str, list[str]]:
    """Return the words of a paragraph with citation marks, and its inline notes."""
    text = place_markdown_roles(text, parsed)
    text = _CODE.sub(" ", text) if "`" in text else text
    text = _ESCAPED.sub(lambda m: chr(_SHIFT + ord(m[1])), text) if "\\" in text else text
    if "$" in text:
        text = _MATHS.sub(lambda m: maths_as_text(m[1]), DISPLAY_MATHS["$"].sub(" ", text))
    notes = [_words(match[1], parsed) for match in _INLINE_NOTE.finditer(text)]
    return _words(_INLINE_NOTE.sub("", text), parsed), notes


def _words(text: str, parsed: ParsedDraft) -> str:
    text = place_commands(_LABEL.sub("", text) if "\\" in text else text, parsed)
    if "@" in text:
        text = _GROUP.sub(lambda match: _placed(match[1], parsed) or match[0], text)
        text = _KEY.sub(lambda match: _placed(match[0], parsed) or " ", text)
    if "[" in text:
        for _ in range(2):  # an image may be the text of a link
            text = _LINK.sub(lambda match: _linked(match, parsed), text)
        text = _GIVEN_LINK.sub(r"\1", _NOTE_MARK.sub("", text))
    text = _EMPHASIS.sub("", _TAG.sub(" ", text) if "<" in text else text)
    text = _MOVED.sub(lambda m: chr(ord(m[0]) - _SHIFT), text)
    return html.unescape(text) if "&" in text else text


def _linked(match: re.Match[str], parsed: ParsedDraft) -> str:
    """Return the text of a link; a link to a DOI or to arXiv is a citation."""
    mark = parsed.cite_url(match[3])
    return f"{match[2]} {mark}" if mark else match[2]


def _placed(text: str, parsed: ParsedDraft) -> str:
    keys = [match[1] or match[2] for match in _KEY.finditer(text)]
    works = [key for key in keys if not _CROSS_REFERENCE.match(key)]
    return parsed.cite(works) if works else ""


# --- Blocks -----------------------------------------------------------------------------------


# A comment cannot contain another, so an unclosed comment costs no second scan.
_COMMENT = compile_regex(r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->")
_ATTRIBUTES = re.compile(r"\s*\{[^{}]*\}\s*$")
_TASK = re.compile(r"\A\[[ xX]\][ \t]+")
_IMAGE = compile_regex(
    r"\s*+!\[(?:[^][]++|\[[^][]*+\])*+\](?:\([^()]*+\)|\[[^][]*+\])(?:\{[^{}]*+\})?+\s*+"
)
_GRID = re.compile(r"[ \t]*(?:\||\+[-=+:]{3,})")
_CONTAINER = re.compile(r"(?:\[\^[^][\s]{1,80}\]:|:(?=[ \t])|\(\d{1,3}\)(?=[ \t]))[ \t]*")
_WITHOUT_PROSE = compile_regex(
    r":{3,}[^\n]*+|\$\$[^$]*+\$\$[ \t]*+(?:\{[^{}\n]*+\}[ \t]*+)?(?=\n|\Z)"
)
_DEEPEST = 40

_Rule = Callable[[StateBlock, int, int, bool], bool]


def read_markdown(text: str, parsed: ParsedDraft) -> None:
    """Read Markdown into ``parsed``."""
    lines = text.split("\n")
    front = read_front(lines, parsed)
    body = "\n".join([""] * front + lines[front:])
    body = textwrap.dedent(_COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", body))
    env: dict[str, Any] = {}
    reader = _Reader(parsed, body.split("\n"), lines)
    for token in _parser().parse(body, env):
        reader.read(token)
    reader.end()
    for mark, _ in env.get("unclosed", ()):
        parsed.note(f"code that begins with {mark} but never ends was read as text")
    for link in env.get("references", {}).values():
        parsed.unplaced += filter(None, [doi_in(unquote(link["href"]))])


class _Reader:
    """Turns tokens into blocks."""

    def __init__(self, parsed: ParsedDraft, lines: list[str], source: list[str]) -> None:
        self._parsed = parsed
        self._lines, self._source = lines, source
        self._within = ""  # the tag of the current heading or table
        self._items = 0  # nesting depth of list items
        self._sections = Sections(parsed)
        self._since = 0  # line after the heading "References", or after one below it

    def read(self, token: Token) -> None:
        """Read the next token."""
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
            elif not self._sections.in_references:
                self._prose(token.content, token.map[0] + 1)

    def _prose(self, raw: str, line: int) -> None:
        text, notes = inline_text(_TASK.sub("", raw), self._parsed)
        is_table = self._within or all(map(_GRID.match, raw.split("\n")))
        kind = "caption" if _IMAGE.fullmatch(raw) else "item" if self._items else ""
        texts = [*([] if is_table else [(text, kind)]), *((note, "") for note in notes)]
        place = _raw(raw, line, self._source)
        blocks = [
            Block(text, place, self._sections.current, kind) for text, kind in texts if text.strip()
        ]
        self._parsed.blocks += blocks

    def _head(self, level: int, raw: str, start: int, end: int) -> None:
        text = fold(PLACE.sub("", inline_text(_ATTRIBUTES.sub("", raw), ParsedDraft())[0]))
        self._read_references(start)
        self._since = end
        self._sections.begin(level, text)
        if not self._sections.in_references:
            self._sections.store_references()

    def _read_references(self, end: int | None = None) -> None:
        if self._sections.in_references:
            for number, line in enumerate(self._lines[self._since : end], self._since + 1):
                plain = _EMPHASIS.sub("", _LINK.sub(r"\2 \3 ", line))
                self._sections.references.append((plain, Place("", number)))

    def end(self) -> None:
        """Store the references and the title at the end of the text."""
        self._read_references()
        self._sections.store_references()
        self._sections.take_title()


def _raw(content: str, line: int, source: Sequence[str]) -> Raw:
    """Return a block's content with positions, given its first line in the file."""
    parts = enumerate(content.split("\n"), start=line)
    return join_lines(
        Line(part, number, _column(part, source[number - 1] if number <= len(source) else ""))
        for number, part in parts
    )


def _column(part: str, line: str) -> int:
    """Return the column of a part of a line, or of the line's text if it is not found."""
    place = line.find(part.strip())
    first = place if place >= 0 else len(line) - len(line.lstrip())
    return max(first - (len(part) - len(part.lstrip())), 0) + 1


# --- Blocks in pandoc that CommonMark does not have -----------------------------------------


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 2 * _DEEPEST})
    parser.enable("table").disable("html_block")  # skip tags, but read the text between them
    parser.core.ruler.enableOnly(["normalize", "block"])
    rules = parser.block.ruler
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    rules.at("fence", _fence, ends)
    rules.at("blockquote", _shallow(blockquote), ends)
    rules.at("list", _shallow(list_block), {"alt": ends["alt"][:3]})
    rules.before("list", "without_prose", _skip_without_prose, ends)
    rules.before("list", "container", _shallow(_container), ends)
    return parser


def _shallow(rule: _Rule) -> _Rule:
    """Limit the depth of a rule: at its maximum, the library drops all text."""
    return lambda state, start, end, silent: (
        state.level < _DEEPEST and rule(state, start, end, silent)
    )


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read fenced code; an unclosed fence is skipped, and the lines after it are text."""
    if silent:
        return fence(state, start, end, silent)
    at = state.bMarks[start] + state.tShift[start]
    mark, length = state.src[at : at + 3], state.skipCharsStr(at, state.src[at]) - at
    unclosed: dict[tuple[str, int], int] = state.env.setdefault("unclosed", {})
    hopeless = length >= unclosed.get((mark, end), 1 << 30)  # do not search for its end again
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


def _skip_without_prose(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Skip the fences of a div and displayed formulas, which end a paragraph."""
    at = state.bMarks[start] + state.tShift[start]
    match = None if state.is_code_block(start) else _WITHOUT_PROSE.match(state.src, at)
    if match is None or (silent and state.src.count("$$", state.bMarks[state.line], at) % 2):
        return False  # perhaps the end of a formula that began in the paragraph
    if not silent:
        state.line = min(end, start + 1 + match[0].count("\n"))
    return True


def _container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read ``[^1]: …``, ``: …`` or ``(1) …``, which continue in lines indented by four blanks."""
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

# The subset of YAML that papers use: scalars, lists in brackets or with dashes, block text. The
# rest is skipped, so no YAML library is needed.
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_DASH = re.compile(r"[ \t]*-[ \t]+(.*)$")
_NAME = re.compile(r"[ \t]*(?:-[ \t]+)?name[ \t]*:[ \t]*(.+)$")
_QUOTED = re.compile(r"([\"'])(.*?)\1(?:\s+#.*)?")
_BLOCK_TEXT = re.compile(r"[|>][+-]?\d?$")


def read_front(lines: Sequence[str], parsed: ParsedDraft) -> int:
    """Read the front matter, if any, and return its number of lines."""
    if lines and lines[0].startswith("% "):
        values = [line[1:].strip() for line in takewhile(lambda line: line[:1] == "%", lines[:3])]
        parsed.title = values[0]
        if len(values) > 1:
            parsed.authors = unique(part.strip() for part in values[1].split(";"))
        return len(values)
    if not lines or lines[0].rstrip() != "---" or not any(map(_FIELD.match, lines[1:3])):
        return 0
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return 0
    items: list[tuple[str, list[str], int]] = []
    for number, each in enumerate(lines[1:end], start=1):
        match = _FIELD.match(each)
        if match is not None:
            parts = _values(match[2] or "")
            items.append((match[1].lower(), parts, number if parts else number + 1))
        elif items and each.strip():
            items[-1][1].append(_nested(each))
    for name, values, line in items:
        raw = _raw("\n".join(values), line + 1, lines)
        if name == "title":
            parsed.title = fold(" ".join(values))
        elif name in ("author", "authors"):
            parsed.authors = unique(map(fold, values))
        elif name == "bibliography":
            parsed.name_bibliographies(values)
        elif name == "abstract" and any(values):
            parsed.blocks.append(Block(raw.text, raw, "Abstract"))
    return end + 1


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


# --- Notebooks ------------------------------------------------------------------------------------

_MAX_VALUES = 3_000_000
"""Limit for the number of JSON values in a file, since each takes memory."""
_DAMAGED = "open it in Jupyter and save it again"
_MOST_LEVEL = 6
_PROSE_CELLS = ("markdown", "heading", "raw")


def read_notebook(data: bytes, name: str, file: str, parsed: ParsedDraft) -> None:
    """Read the Markdown cells of a Jupyter notebook into ``parsed`` as one text.

    A position is a cell of ``file`` (or ``""``), counted from 1 among all cells, and a line in it:
    ``draft.ipynb#cell-3``. Raise ``CitebedError`` if the notebook is damaged.
    """
    prose: list[tuple[int, str]] = []
    if sum(map(data.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise CitebedError(
            f"{name}: a notebook of more than {_MAX_VALUES:,} values; clear its outputs first"
        )
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CitebedError(f"{name}: a damaged notebook ({what}); {_DAMAGED}") from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    first = sheets[0] if isinstance(sheets, list) and sheets else notebook  # as before 2015
    cells = first.get("cells") if isinstance(first, dict) else None
    if not isinstance(cells, list):
        raise CitebedError(f"{name}: a notebook without a list of cells; {_DAMAGED}")
    for number, cell in enumerate(cells, start=1):
        kind = cell.get("cell_type") if isinstance(cell, dict) else None
        source = cell["source"] if kind in _PROSE_CELLS and "source" in cell else ""
        parts = source if isinstance(source, list) else [source]  # lines, or the whole text
        text = "".join(part for part in parts if isinstance(part, str))
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
        text = without_places(text.encode("utf-8", "replace").decode("utf-8"))
        if kind == "heading":  # of old notebooks
            level = cell.get("level")
            marks = min(level, _MOST_LEVEL) if isinstance(level, int) and level > 0 else 1
            text = f"{'#' * marks} {' '.join(text.split())}"
        elif kind == "raw" and (number > 1 or not text.startswith("---\n")):  # no front matter
            text = ""
        if text.strip():
            prose.append((number, text))
    places = [(number, line) for number, text in prose for line in range(1, text.count("\n") + 3)]
    read_markdown("".join(f"{text}\n\n" for _, text in prose), parsed)

    def in_cell(place: Place) -> Place:
        number, line = places[min(place.line, len(places)) - 1]
        return Place(f"{file}#cell-{number}", line, place.column)

    for at, block in enumerate(parsed.blocks if places else ()):
        origins = [each._replace(place=in_cell(each.place)) for each in block.raw.origins]
        parsed.blocks[at] = block._replace(raw=block.raw._replace(origins=origins))
    for at, entry in enumerate(parsed.entries):
        if entry.place is not None:
            parsed.entries[at] = replace(entry, place=in_cell(entry.place))
