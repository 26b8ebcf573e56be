"""Markdown (CommonMark with pandoc's additions) to blocks of prose."""

from __future__ import annotations

import re

from citebed.drafts.findings import PLACE, Block, Findings
from citebed.drafts.identifiers import doi_in
from citebed.drafts.markdown_front import read_front
from citebed.drafts.markdown_inline import entry_text, inline_text
from citebed.drafts.references import entries_in, is_references_heading
from citebed.patterns import compiled
from citebed.text.normalise import fold

_FENCE = re.compile(r" {0,3}(?:[-*+>] )?(`{3,}|~{3,})([^`]*)$")
# A comment ends before another begins: one that is never closed costs no second look.
_COMMENT = compiled(r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->")
_DISPLAY = compiled(r"\$\$[^$]*+\$\$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*[ \t]*$")
_ATTRIBUTES = re.compile(r"\s*\{[^{}]*\}\s*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_DIV = re.compile(r"[ \t]*:{3,}")
_QUOTE = re.compile(r" {0,3}(?:> ?)+")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)]|\(\d{1,3}\)|:)[ \t]+(?:\[[ xX]\][ \t]+)?")
_NOTE = re.compile(r" {0,3}\[\^[^][\s]{1,80}\]:[ \t]*")
_DEFINITION = re.compile(r" {0,3}\[[^][^@]{1,200}\]:[ \t]*\S+")
_ROW = re.compile(r"[ \t]*(?:\||\+[-=+:]{3,})")
_DELIMITER = re.compile(r"(?=.*-{2})(?=.*[| ].)[ \t]*[-|:+= \t]+$")


def read_markdown(text: str, findings: Findings) -> None:
    """Read Markdown into ``findings``."""
    lines = text.split("\n")
    front = read_front(lines, findings)
    body = "\n".join([""] * front + _without_code(lines[front:], findings))
    for pattern in (_COMMENT, _DISPLAY):
        body = pattern.sub(lambda match: "\n" * match[0].count("\n") or " ", body)
    reader = _Reader(findings)
    for number, line in enumerate(body.split("\n"), start=1):
        reader.read(line, number)
    reader.end()


def _without_code(lines: list[str], findings: Findings) -> list[str]:
    """The lines, those of fenced code blank; a fence that is never closed is passed over."""
    kept, at = [], 0
    hopeless: dict[str, int] = {}  # by the fence's character: so long a one has no end
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            kept.append(lines[at])
            at += 1
            continue
        mark, length = fence[1][0], len(fence[1])
        end = None
        if length < hopeless.get(mark, 1 << 30):
            end = _fence_end(lines, at + 1, mark, length)
        if end is None:
            hopeless[mark] = min(length, hopeless.get(mark, length))
            findings.note(f"code that begins with {fence[1][:3]} but never ends was read as text")
            end = at
        kept += [""] * (end + 1 - at)
        at = end + 1
    return kept


def _fence_end(lines: list[str], at: int, mark: str, length: int) -> int | None:
    for index in range(at, len(lines)):
        line = lines[index].strip()
        if line.startswith(mark * length) and not line.strip(mark):
            return index
    return None


class _Reader:
    """Gathers lines into blocks."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._lines: list[str] = []
        self._start = 1
        self._section = ""
        self._references: list[str] | None = None
        self._level = 0
        self._heads: list[tuple[int, str]] = []

    def read(self, line: str, number: int) -> None:
        """Take the next line."""
        if heading := _HEADING.match(line):
            self._flush()
            self._head(len(heading[1]), heading[2] or "")
        elif self._references is not None:
            self._references.append(entry_text(line))
        elif len(self._lines) == 1 and (under := _UNDERLINE.match(line)):
            title = self._lines.pop()
            self._head(1 if under[1][0] == "=" else 2, title)
        elif not line.strip() or _DIV.match(line) or _RULE.match(line):
            self._flush()
        else:
            self._text(line, number)

    def _text(self, line: str, number: int) -> None:
        if quote := _QUOTE.match(line):
            line = line[quote.end() :]
        if not self._lines and _DEFINITION.match(line) and not _NOTE.match(line):
            self._findings.cite_nowhere(filter(None, [doi_in(line)]))
            return
        if start := _ITEM.match(line) or _NOTE.match(line):
            self._flush()
            line = line[start.end() :]
        if not self._lines:
            self._start = number
        self._lines.append(line)

    def _head(self, level: int, raw: str) -> None:
        text = fold(PLACE.sub("", inline_text(_ATTRIBUTES.sub("", raw), Findings())[0]))
        if self._references is not None and level <= self._level:
            self._end_references()
        if is_references_heading(text):
            self._references, self._level = [], level
        elif self._references is None:
            self._heads.append((level, text))
            self._section = text

    def _end_references(self) -> None:
        self._findings.entries += entries_in(self._references or [])
        self._references = None

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        if not lines:
            return
        text, notes = inline_text("\n".join(lines), self._findings)
        is_table = all(map(_ROW.match, lines)) or any(map(_DELIMITER.match, lines))
        texts = [*([] if is_table else [text]), *notes]
        blocks = [Block(text, self._start, self._section) for text in texts if text.strip()]
        self._findings.blocks += blocks

    def end(self) -> None:
        """The text has ended. A single top heading, at the very start, was its title."""
        self._flush()
        if self._references is not None:
            self._end_references()
        tops = [text for level, text in self._heads if level == 1]
        if not self._findings.title and len(tops) == 1 and self._heads[0][0] == 1:
            self._findings.title = tops[0]
            self._forget_section(tops[0])

    def _forget_section(self, title: str) -> None:
        """What stands before the first section stands in none."""
        blocks = self._findings.blocks
        for index, block in enumerate(blocks):
            if block.section != title:
                break
            blocks[index] = block._replace(section="")
