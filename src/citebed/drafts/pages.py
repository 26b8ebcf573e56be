"""Pages of text that came out of a PDF: page numbers and running heads taken out.

``pdftotext`` ends each page with a form feed. Only at the edge of a page, and only what is
clearly no text, is dropped: a lone number, or a line that stands there on several pages.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_PAGE_NUMBER = re.compile(
    r"(?:page\s+)?[-–—\s]*(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[-–—\s]*", re.I
)
_DIGITS = re.compile(r"\d+")
_EDGE = 2
"""How many lines at each edge of a page may be running heads."""
_SEVERAL = 3
_OPEN_END = re.compile(r"[\w,;)–-]\s*$")


class Line(NamedTuple):
    """A line of the file and its number."""

    text: str
    number: int


def lines_of(text: str) -> list[Line]:
    """The lines of a text, without the furniture of its pages; a page joins on to the last."""
    pages = _pages(text)
    if len(pages) == 1:
        return pages[0]
    heads = Counter(shape for page in pages for shape in {_shape(line) for line in _edges(page)})
    joined: list[Line] = []
    for page in pages:
        kept = _stripped(page, heads)
        if joined and kept and not _goes_on(joined[-1].text, kept[0].text):
            joined.append(Line("", kept[0].number))
        joined += kept
    return joined


def _pages(text: str) -> list[list[Line]]:
    pages: list[list[Line]] = [[]]
    for number, line in enumerate(text.split("\n"), start=1):
        first, *others = line.split("\f")
        pages[-1].append(Line(first, number))
        pages += [[Line(other, number)] for other in others]
    return pages


def _edges(page: list[Line]) -> list[Line]:
    written = [line for line in page if line.text.strip()]
    return written[:_EDGE] + written[_EDGE:][-_EDGE:]


def _shape(line: Line) -> str:
    return " ".join(_DIGITS.sub("#", line.text).split())


def _stripped(page: list[Line], heads: Counter[str]) -> list[Line]:
    start, end = 0, len(page)
    for _ in range(_EDGE):
        start = _first_text(page, start, end, heads)
        end = _last_text(page, start, end, heads)
    while start < end and not page[start].text.strip():
        start += 1
    while end > start and not page[end - 1].text.strip():
        end -= 1
    return page[start:end]


def _first_text(page: list[Line], start: int, end: int, heads: Counter[str]) -> int:
    at = start
    while at < end and not page[at].text.strip():
        at += 1
    return at + 1 if at < end and _is_furniture(page[at], heads) else start


def _last_text(page: list[Line], start: int, end: int, heads: Counter[str]) -> int:
    at = end
    while at > start and not page[at - 1].text.strip():
        at -= 1
    return at - 1 if at > start and _is_furniture(page[at - 1], heads) else end


def _is_furniture(line: Line, heads: Counter[str]) -> bool:
    if len(line.text) > 200:
        return False
    return bool(_PAGE_NUMBER.fullmatch(line.text.strip())) or heads[_shape(line)] >= _SEVERAL


def _goes_on(last: str, first: str) -> bool:
    """Whether the paragraph at the end of a page goes on over the page."""
    return _OPEN_END.search(last[-3:]) is not None and first.lstrip()[:1].islower()
