"""Split a returned text form into blocks: questions, queries, papers, and the rest.

Returned forms are quoted, re-wrapped, answered above and below, signed, and full of typographic
variants. A block begins where the form has a label at the beginning of a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from citebed.text.regex import compile_regex

_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_SAME = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full-width to ASCII
_SAME |= dict.fromkeys(
    (9, 11, 12, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)), 32
)
_SAME |= {ord(c): ord("'") for c in "‘’‚‛′´`ʼ"} | {ord(c): ord('"') for c in "“”„‟″«»"}
_SAME |= {ord(c): ord("-") for c in "‐‑‒–—―−"} | {ord(c): ord(":") for c in "∶꞉"}
_SAME |= {ord(c): ord("[") for c in "【〔⟦"} | {ord(c): ord("]") for c in "】〕⟧"}
_SAME |= {ord("﹖"): ord("?"), ord("？"): ord("?")}

_LINK = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_QUOTE = compile_regex(r"[ \t\u00a0]*+(?:[>|]|[A-Z]{1,3}>)")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_FORM = re.compile(
    r"\s*form\s*:\s*([a-z0-9]{1,20}(?:-[a-z0-9]{1,20}){1,7}|(?-i:[A-Z0-9]{4,40}))[\s.]*$",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"\s{0,99}-{2,}\s*(?:research\s+questions|references|(?:your|the)\s+question|end\s+of\s+the\s+form)\b",
    re.IGNORECASE,
)
_QUE = compile_regex(
    r"\s*+(question|query)\s*+(?:no\.?|#)?+\s*+(\d{1,6})\s*+(?:[:=]|$)", re.IGNORECASE
)
_HEAD = re.compile(r"\s*\[\s*(?:(\d{1,6})\s*\.\s*)?(\d{1,6})\s*\]")
_OPT_OUT = re.compile(
    r".{0,12}\bplease\s+do\s+not\s+(?:contact|write\s+to)\s+me\s+again\b", re.IGNORECASE
)
_CUT = re.compile(
    r"--\s*$|-{2,}\s*(?:original message|forwarded message|ursprüngliche nachricht)"
    r"|(?=.{0,300}:\s{0,9}$).{0,300}\b(?:wrote|schrieb|écrit|escribió|ha scritto|пишет)\s?:",
    re.IGNORECASE,
)
_ON = re.compile(r"\s*(?:on|am|le|el|il|\d)\b", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?<![\w.])q\s?\d{1,3}\s*[:=\[(]|\b(?:relevant|judge)\s*[:=\[(]", re.IGNORECASE
)
_DANGLING = re.compile(r"(?<![\w.])q\s?\d{1,3}\s*[:=]?\s*$", re.IGNORECASE)
_NO_TITLE = re.compile(r"\s*(?:$|[,;.|]|q\s?\d)", re.IGNORECASE)
_CLOSING = re.compile(
    r"\s*(?:[-_=*#~]{10,}\s*$"
    r"|(?:(?:with |many |kind |best |warm |kindest )*(?:regards|wishes|thanks)"
    r"|best|cheers|sincerely|yours(?: \w+)?|thank you|sent from my .*|mit freundlichen grüßen"
    r"|cordialement|saludos)\s*[,.!]?\s*$)",
    re.IGNORECASE,
)


class _LabelPlace(Enum):
    """Where the next marks are: before the next paper, after it, or in another part."""

    HERE = 1
    LATER = 2
    NONE = 3


class _Context(NamedTuple):
    """The context of a line that may begin a paper."""

    before: str
    labels: _LabelPlace
    after_blank: bool


class Line(NamedTuple):
    """A line with its number, its quoting depth, and its text without quote marks."""

    number: int
    depth: int
    text: str
    raw: str

    def at_depth(self, depth: int) -> str:
        """Return the line without up to this many levels of quoting."""
        return self.text if depth >= self.depth else _unquote(self.raw, depth)[1]


@dataclass
class Block:
    """A part of the form: the text after its label and all lines up to the next label.

    ``typed`` are the numbers of lines that are quoted less than the label: answers between quoted
    lines. ``is_closed``: another part of the form follows, so there is no signature in it.
    """

    kind: str
    query: int | None
    number: int
    line: int
    depth: int
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    typed: set[int] = field(default_factory=set)
    is_closed: bool = False

    def add(self, line: Line, start: int = 0) -> None:
        """Append a line, from a character on."""
        self.lines.append(line.text[start:] if start else line.at_depth(self.depth))
        self.numbers.append(line.number)
        if line.depth < self.depth and line.text.strip():
            self.typed.add(line.number)

    def own_lines(self) -> list[str]:
        """Return the lines without the closing of a letter."""
        if self.is_closed:
            return self.lines
        ends = (
            at
            for at, line in enumerate(self.lines)
            if at and _CLOSING.match(to_plain_characters(line))
        )
        return self.lines[: next(ends, len(self.lines))]

    def text(self) -> Text:
        """Return the lines as one text."""
        return Text(self.own_lines(), self.numbers, self.typed)


class Text:
    """The text of a block as written, and in plain characters at the same positions.

    In ``plain``, links are blanked: ``?q1=5`` is not a grade.
    """

    def __init__(self, lines: list[str], numbers: list[int], typed: set[int]) -> None:
        self.written = "\n".join(lines)
        self.plain = _LINK.sub(lambda match: " " * len(match[0]), to_plain_characters(self.written))
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)][:-1] or [0]
        self._numbers = numbers
        self._typed = typed

    def is_typed(self, at: int) -> bool:
        """Return whether a character was typed between quoted lines."""
        return self.line(at) in self._typed

    def line(self, at: int) -> int:
        """Return the line number of a character."""
        return self._numbers[bisect_right(self._starts, at) - 1]

    def line_start(self, at: int) -> int:
        """Return the position where the line of a character begins."""
        return self._starts[bisect_right(self._starts, at) - 1]

    def line_end(self, at: int, stop: int | None = None) -> int:
        """Return the position where the line of a character ends, at most ``stop``."""
        stop = len(self.plain) if stop is None else stop
        end = self.plain.find("\n", at, stop)
        return stop if end < 0 else end


def to_plain_characters(text: str) -> str:
    """Replace curly, full-width and other variants of characters; positions stay the same."""
    return text if text.isascii() and "\t" not in text else text.translate(_SAME)


def split_lines(content: str) -> list[Line]:
    """Split a text into lines, numbered from 1."""
    lines = _NEWLINE.split(_INVISIBLE.sub("", content))
    return [
        Line(at, *(_unquote(raw, 40) if raw else (0, "")), raw) for at, raw in enumerate(lines, 1)
    ]


def _unquote(raw: str, depth: int) -> tuple[int, str]:
    """Return the quoting depth of a line (at most ``depth``), and the line without quote marks."""
    levels = start = 0
    while levels < depth and (mark := _QUOTE.match(raw, start)):
        levels, start = levels + 1, mark.end()
    return levels, raw[start:].removeprefix(" ") if levels else raw


def find_form_code(line: Line) -> str | None:
    """Return the form code in a line like ``Form: CODE``, if it is one."""
    match = _FORM.match(to_plain_characters(line.text))
    return match[1].upper() if match else None


class _Start(NamedTuple):
    """A label at the beginning of a line, its numbers, and where the text after it starts."""

    kind: str = ""
    query: int | None = None
    number: int = 0
    start: int = 0


def split_blocks(lines: list[Line]) -> Iterator[Block]:
    """Yield the blocks of a form; text between and around them is of kind ``other``."""
    begins = [_parse_start(to_plain_characters(line.text)) for line in lines]
    ahead = _labels_ahead(lines, begins)
    block = Block("other", None, 0, 1, 0)
    query: int | None = None
    before = ""
    for at, (line, begun) in enumerate(zip(lines, begins, strict=True)):
        seen = _Context(before, ahead[at], not at or not lines[at - 1].text.strip())
        is_part = _starts_block(block, line, begun, seen)
        before = to_plain_characters(line.text) if line.text.strip() else before
        if not is_part:
            block.add(line)
            continue
        block.is_closed = begun.kind != "cut"
        yield block
        if begun.kind == "query":
            query = begun.number
        of = query if begun.query is None else begun.query
        block = Block(begun.kind, of, begun.number, line.number, line.depth)
        if begun.kind in ("question", "query", "paper", "opt-out"):
            block.add(line, begun.start)
    yield block


def _parse_start(plain: str) -> _Start:
    if not plain or plain.isspace():
        return _Start()
    if match := _HEAD.match(plain):
        return _Start("paper", int(match[1]) if match[1] else None, int(match[2]), match.end())
    if match := _QUE.match(plain):
        kind = "question" if match[1].casefold() == "question" else "query"
        return _Start(kind, None, int(match[2]), match.end())
    kinds = (("form", _FORM), ("section", _SECTION), ("opt-out", _OPT_OUT), ("cut", _CUT))
    return _Start(next((kind for kind, pattern in kinds if pattern.match(plain)), ""))


def _starts_block(block: Block, line: Line, begun: _Start, seen: _Context) -> bool:
    """Return whether a line with a label really begins a block."""
    plain = to_plain_characters(line.text)
    if begun.kind == "paper":
        return _starts_paper(block, begun.query, seen, plain[begun.start :])
    if begun.kind == "cut":  # "On … wrote:" may be on two lines
        return plain.lstrip().startswith("-") or bool(_ON.match(plain) or _ON.match(seen.before))
    return begun.kind != ""


def _starts_paper(block: Block, query: int | None, seen: _Context, rest: str) -> bool:
    """Return whether a number in brackets begins a paper, rather than a grade or part of a text."""
    if _DANGLING.search(seen.before[-40:]) and _NO_TITLE.match(rest):
        return False
    has_text = block.kind in ("question", "query") or (
        block.kind == "paper" and block.query is not None
    )
    if not has_text or (query is not None and block.kind != "question"):
        return True
    is_listed = seen.labels is _LabelPlace.LATER and seen.after_blank and block.kind == "question"
    return seen.labels is _LabelPlace.HERE or is_listed


def _labels_ahead(lines: list[Line], begins: list[_Start]) -> list[_LabelPlace]:
    """Return for each line where the next marks are."""
    labels, here, later = [_LabelPlace.NONE] * len(lines), False, False
    for at in range(len(lines) - 1, -1, -1):
        here = here or bool(_LABELLED.search(to_plain_characters(lines[at].text[:2000])))
        labels[at] = _LabelPlace.HERE if here else _LabelPlace.LATER if later else _LabelPlace.NONE
        if begins[at].kind == "paper":
            here, later = False, here or later
        elif begins[at].kind in ("question", "query", "form", "section"):
            here = later = False
    return labels
