"""Read plain text: paragraphs, headings, and the references at the end."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby, pairwise
from statistics import median

from citebed.drafts.parsed_draft import Block, Line, ParsedDraft, join_lines
from citebed.drafts.records import Place
from citebed.drafts.references import ends_references, is_references_heading, split_references
from citebed.drafts.tex_commands import place_commands
from citebed.text.normalise import fold

_LONG_LINE = 120
"""Longer lines that end like sentences are not wrapped: each of them is a paragraph."""

_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-H]\.)\s+[^\W\d_].{1,90}")
_NAMED = re.compile(
    r"abstract|summary|introduction|background|related work|motivation|method(?:s|ology)?"
    r"|materials and methods|experiments?|results|evaluation|discussion|conclusions?"
    r"|(?:discussion|conclusions?) and (?:future work|conclusions?)|future work|limitations"
    r"|acknowledge?ments?|appendix(?: [A-Z0-9])?|keywords|index terms",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*•▪‣–]|\(?\d{1,2}[.)]|\([a-z]\))\s+\S")
_ENDS_A_SENTENCE = tuple(".!?,;:")
_END = re.compile(r"[.!?:][\"'”’)\]]?\s*$")
_TITLE_WORDS = 25


Paragraph = list[Line]


def read_plain(text: str, parsed: ParsedDraft) -> None:
    """Read plain text into ``parsed``."""
    lines, after = _without_references(split_lines(text), parsed)
    paragraphs = _paragraphs(lines)
    paragraphs += _paragraphs(after) if after else []
    heads = [
        "" if len(paragraph) > 1 else parse_heading(fold(paragraph[0].text))
        for paragraph in paragraphs
    ]
    start = _take_title(paragraphs, heads, parsed)
    section = ""
    for index in range(start, len(paragraphs)):
        paragraph, head = paragraphs[index], heads[index]
        # A heading has text below it, so the last lines of a file are not headings.
        if head and any(not other for other in heads[index + 1 : index + 4]):
            section = head
            continue
        raw = "\n".join(line.text for line in paragraph)
        words = place_commands(raw, parsed)
        kind = "item" if _ITEM.match(raw) else ""
        parsed.blocks.append(Block(words, join_lines(paragraph), section, kind))


def _without_references(lines: list[Line], parsed: ParsedDraft) -> tuple[list[Line], list[Line]]:
    """Return the lines before and after the reference list, and store its entries."""
    heads = [i for i, line in enumerate(lines) if is_references_heading(line.text)]
    if not heads or heads[-1] == 0:
        return lines, []
    start = heads[-1]
    ends = (
        index
        for index in range(start + 2, len(lines))
        if not lines[index - 1].text.strip() and ends_references(lines[index].text)
    )
    end = next(ends, len(lines))
    parsed.entries += split_references(
        [(text, Place("", number, column)) for text, number, column in lines[start + 1 : end]]
    )
    return lines[:start], lines[end:]


def _paragraphs(lines: list[Line]) -> list[Paragraph]:
    """Split at blank lines; without any, at list items or indented lines, or after long lines."""
    groups = groupby(lines, key=lambda line: bool(line.text.strip()))
    return [part for written, group in groups if written for part in _parts(list(group))]


def _parts(group: Paragraph) -> list[Paragraph]:
    if len(group) == 1:
        return [group]
    ended = sum(_END.search(line.text[-4:]) is not None for line in group)
    if median(len(line.text) for line in group) > _LONG_LINE and ended > 0.7 * len(group):
        return [[line] for line in group]
    first = group[0].text.strip()
    if _NAMED.fullmatch(first) or _is_numbered_heading(group):
        return [[group[0]], *_by_indentation(group[1:])]
    items = [index for index, line in enumerate(group) if _ITEM.match(line.text)]
    if len(items) > 1:
        return _cut(group, items if items[0] == 0 else [0, *items])
    return _by_indentation(group)


def _is_numbered_heading(group: Paragraph) -> bool:
    """Return True for a heading such as ``2 Related work`` directly above full lines."""
    first, second = group[0].text.strip(), group[1].text.strip()
    short = len(first) < 0.6 * len(second) and not first.endswith(_ENDS_A_SENTENCE)
    return short and _NUMBERED.fullmatch(first) is not None and not _NUMBERED.match(second)


def _by_indentation(group: Paragraph) -> list[Paragraph]:
    """Split before indented lines, if they are fewer than half of the lines."""
    margins = [len(line.text) - len(line.text.lstrip()) for line in group]
    usual = min(margins)
    inner = [index for index, margin in enumerate(margins) if margin > usual and index]
    if not inner or len(inner) > len(group) / 2:
        return [group]
    if any(later - sooner == 1 for sooner, later in pairwise(inner)):
        return [group]  # several in a row: a quotation or hanging lines, not first lines
    return _cut(group, [0, *inner])


def _cut(group: Paragraph, starts: list[int]) -> list[Paragraph]:
    return [group[start:end] for start, end in pairwise([*starts, len(group)])]


def parse_heading(text: str) -> str:
    """Return the text if its words alone show that it is a heading (``2 Related work``), or ""."""
    if len(text) > 100 or text.endswith(_ENDS_A_SENTENCE) or not text:
        return ""
    shouted = text.isupper() and len(text) > 3 and len(text.split()) < 10
    return text if shouted or _NAMED.fullmatch(text) or _NUMBERED.fullmatch(text) else ""


def _take_title(paragraphs: list[Paragraph], heads: list[str], parsed: ParsedDraft) -> int:
    """Store the title, and return the index of the first paragraph after title and authors.

    A text without headings and references is not a paper and has no title.
    """
    if len(paragraphs) < 3 or not (any(heads[1:]) or parsed.entries):
        return 0
    first = fold(" ".join(line.text for line in paragraphs[0]))
    if len(paragraphs[0]) > 3 or len(first.split()) > _TITLE_WORDS:
        return 0
    if first.endswith(_ENDS_A_SENTENCE[:1]) or _NAMED.fullmatch(first):
        return 0
    parsed.title = first
    # Skip names and affiliations between the title and the first heading.
    head = next((index for index, text in enumerate(heads) if index and text), 0)
    between = paragraphs[1:head]
    is_prose = any(part[-1].text.rstrip().endswith(_ENDS_A_SENTENCE[:3]) for part in between)
    return 1 if is_prose or not 0 < head < 12 else head


# --- Pages ----------------------------------------------------------------------------------

# ``pdftotext`` ends each page with a form feed. At the top and bottom of pages, page numbers and
# lines that several pages share are dropped.
_PAGE_NUMBER = re.compile(
    r"(?:page\s+)?[-–—\s]*(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[-–—\s]*", re.I
)
_DIGITS = re.compile(r"\d+")
_EDGE = 2
"""Number of lines at the top and bottom of a page that may be running heads."""
_SEVERAL = 3
_OPEN_END = re.compile(r"[\w,;)–-]\s*$")


def split_lines(text: str) -> list[Line]:
    """Return the lines of a text without page numbers and running heads, with pages joined."""
    pages: list[list[Line]] = [[]]
    for number, whole in enumerate(text.split("\n"), start=1):
        first, *others = whole.split("\f")
        pages[-1].append(Line(first, number))
        column = len(first) + 2
        for other in others:
            pages.append([Line(other, number, column)])
            column += len(other) + 1
    if len(pages) == 1:
        return pages[0]
    heads = Counter(shape for page in pages for shape in {_shape(line) for line in _edges(page)})
    joined: list[Line] = []
    for page in pages:
        lines = page[_edge(page, heads) :]
        lines = lines[: len(lines) - _edge(lines[::-1], heads)]
        if joined and lines:
            open_end = _OPEN_END.search(joined[-1].text[-3:]) is not None
            if not (
                open_end and lines[0].text.lstrip()[:1].islower()
            ):  # else the paragraph continues
                joined.append(Line("", lines[0].number))
        joined += lines
    return joined


def _edges(page: list[Line]) -> list[Line]:
    written = [line for line in page if line.text.strip()]
    return written[:_EDGE] + written[_EDGE:][-_EDGE:]


def _shape(line: Line) -> str:
    return " ".join(_DIGITS.sub("#", line.text).split())


def _edge(lines: list[Line], heads: Counter[str]) -> int:
    """Count the first lines that are blank, page numbers or running heads."""
    at = skipped = 0
    while at < len(lines):
        if lines[at].text.strip():
            if skipped == _EDGE or not _is_running_head(lines[at], heads):
                break
            skipped += 1
        at += 1
    return at


def _is_running_head(line: Line, heads: Counter[str]) -> bool:
    if len(line.text) > 200:
        return False
    return bool(_PAGE_NUMBER.fullmatch(line.text.strip())) or heads[_shape(line)] >= _SEVERAL
