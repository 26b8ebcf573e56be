"""What stands above a paper's text: its title, its authors, its DOI and year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from citebed.papers.lines import Line
from citebed.papers.structure import Style, is_like, plain_heading
from citebed.text.identifiers import doi_in
from citebed.text.names import name_from_display

_BEGINS = re.compile(r"(?:abstract|introduction|summary)\b", re.IGNORECASE)
_YEAR = re.compile(
    r"(?:©|\(c\)|copyright|’|'|\b[A-Z][a-z]{2,8}\s(?:\d{1,2}(?:[–-]\d{1,2})?,\s)?)\s?(20\d\d|19\d\d)",
    re.I,
)
_ANY_YEAR = re.compile(r"\b(20[0-4]\d|19[5-9]\d)\b")
_NOT_A_NAME = re.compile(
    r"[@\d]|universit|institut|department|laborator|school|college|\b(?:inc|ltd|corp)\b|research",
    re.I,
)
_BETWEEN_NAMES = re.compile(r"\s*(?:,|;|·|•|\band\b|&)\s*")
_MARKS = re.compile(r"[\d*†‡§¶∗⁎#,]+$")


@dataclass(frozen=True)
class Front:
    """The head of a paper's first page."""

    title: str = ""
    authors: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    lines: frozenset[int] = field(default_factory=frozenset)
    """Its lines, by ``id``."""


def front_of(page: Sequence[Line], style: Style) -> Front:
    """The head of the first page."""
    below = _where_text_begins(page, style)
    above = sorted(
        (line for line in page if line.baseline < below - 1),
        key=lambda line: (line.baseline, line.left),
    )
    title = _title(above)
    text = "\n".join(line.text for line in page)
    return Front(
        title=" ".join(line.text for line in title),
        authors=_authors([line for line in above if line not in title], title),
        doi=_doi(page),
        year=_year(text),
        lines=frozenset(map(id, above)),
    )


def _where_text_begins(page: Sequence[Line], style: Style) -> float:
    """The height at which abstract or text begin; 0 where nothing stands above them."""
    heads = [line.baseline for line in page if _BEGINS.match(plain_heading(line.text))]
    runs = []
    for line, after, third in zip(page, page[1:], page[2:], strict=False):
        three = (line, after, third)
        left, right = style.edges(line)
        wide = all(each.right - each.left > 0.7 * (right - left) for each in three)
        if wide and all(is_like(each, style.size) for each in three):
            runs.append(line.baseline)
            break
    return min([*heads, *runs], default=0.0)


def _title(above: Sequence[Line]) -> list[Line]:
    """The lines in the largest letters."""
    tall = [line for line in above if sum(map(str.isalpha, line.text)) > 3]
    if not tall:
        return []
    largest = max(line.size for line in tall)
    return [line for line in tall if line.size > 0.97 * largest]


def _authors(rest: Sequence[Line], title: Sequence[Line]) -> tuple[str, ...]:
    """Names below the title: the lines in the largest letters there."""
    below = [line for line in rest if title and line.baseline > title[-1].baseline]
    named = [line for line in below if not _NOT_A_NAME.search(_MARKS.sub("", line.text))]
    if not named:
        return ()
    largest = max(line.size for line in named)
    names: list[str] = []
    for line in named:
        if line.size > 0.97 * largest:
            names += [_MARKS.sub("", name).strip() for name in _BETWEEN_NAMES.split(line.text)]
    return tuple(name_from_display(name) for name in names if 1 < len(name.split()) < 6)


def _doi(page: Sequence[Line]) -> str | None:
    return next((doi for line in page if (doi := doi_in(line.text))), None)


def _year(text: str) -> int | None:
    stated = _YEAR.search(text) or _ANY_YEAR.search(text)
    return int(stated[1]) if stated else None
