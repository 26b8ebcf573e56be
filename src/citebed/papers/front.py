"""What stands above a paper's text: its title, its authors, its DOI and year, its abstract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from citebed.papers.lines import Line
from citebed.papers.structure import Kind, Style, is_like, plain_heading
from citebed.text.identifiers import doi_in
from citebed.text.names import name_from_display

_ABSTRACT = re.compile(
    r"(?:abstract|a ?b ?s ?t ?r ?a ?c ?t|summary|zusammenfassung|résumé|resumen)\b\s*[.:—–-]*\s*",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(r"(?:introduction|background|einleitung|introducción)\W*", re.IGNORECASE)
_BEHIND = re.compile(
    r"(?:key\s?-?words?|index terms|ccs concepts|categories and subject|general terms|pacs\b|jel\b"
    r"|acm reference|additional key|permission to|mots[- ]clés?|schlüssel|schlagw"
    r"|palabras clave|subject headings|abbreviations)",
    re.IGNORECASE,
)
_YEARS = (
    re.compile(r"(?:©|\(c\)|\bcopyright)\s?(20\d\d|19\d\d)", re.IGNORECASE),
    re.compile(
        r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s"
        r"(?:\d{1,2}(?:\s?[–-]\s?\d{1,2})?,\s)?(20\d\d|19\d\d)\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(20[0-4]\d|19[5-9]\d)\b"),
)
"""Years of the first page, the surest first: of the copyright, of a date, any."""
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
    """The head of the first page, whose lines come as they are read."""
    below, column = _where_text_begins(page, style)
    above = sorted(
        (
            line
            for line in page
            if line.baseline < below - 1 and not _is_text(line, column, page, style)
        ),
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


def is_beginning(line: Line, style: Style) -> bool:
    """Whether a line begins the abstract or the introduction: it may be part of a title, too."""
    if line.size > 1.45 * style.size:
        return False
    plain = plain_heading(line.text)
    return _INTRODUCTION.fullmatch(plain) is not None or _ABSTRACT.match(plain) is not None


def _where_text_begins(page: Sequence[Line], style: Style) -> tuple[float, int]:
    """The height at which abstract or text begin, and in which column; 0 where nothing stands
    above them."""
    heads = [(line.baseline, line.column) for line in page if is_beginning(line, style)]
    for line, after, third in zip(page, page[1:], page[2:], strict=False):
        if all(_is_wide(each, style) for each in (line, after, third)):
            heads.append((line.baseline, line.column))
            break
    lower = min(heads, default=(0.0, 0))
    for line, after, third in zip(page, page[1:], page[2:], strict=False):
        if line.baseline < lower[0] and _is_abstract_alone((line, after, third), style):
            return line.baseline, line.column
    return lower


def _is_abstract_alone(lines: Sequence[Line], style: Style) -> bool:
    """Whether lines are those of sentences, as an abstract has them that nothing heads."""
    first = lines[0]
    close = all(
        0 < after.baseline - line.baseline < 1.8 * line.size and is_like(after, first.size)
        for line, after in pairwise(lines)
    )
    if not close or first.size > 1.1 * style.size or is_like(first, style.size):
        return False
    words = [word.text for line in lines for word in line.words if word.text[0].isalpha()]
    small = sum(word[0].islower() for word in words)
    return len(words) > 20 and small > 0.7 * len(words)


def _is_wide(line: Line, style: Style) -> bool:
    """Whether a line looks as prose does, and is as wide."""
    left, right = style.edges(line)
    return line.right - line.left > 0.7 * (right - left) and is_like(line, style.size)


def _is_text(line: Line, column: int, page: Sequence[Line], style: Style) -> bool:
    """Whether a line belongs to text that goes on in another column, beside the abstract."""
    if line.column in (column, -1) or column < 0:
        return False
    beside = [each for each in page if each.column == line.column and _is_wide(each, style)]
    return bool(beside) and line.baseline >= min(each.baseline for each in beside) - 1


def abstract_of(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Line]:
    """The lines of the abstract, in whatever letters it is set; ``lines`` are those behind the
    front, as they are read.

    Where nothing says "Abstract", it is what stands before the first heading in letters that are
    not the prose's.
    """
    first = [at for at, line in enumerate(lines) if line.page < 2]
    begin = next((at for at in first if _ABSTRACT.match(plain_heading(lines[at].text))), None)
    if begin is None:
        head = next((at for at in first if kinds[at] is Kind.HEADING), len(first))
        other = [line for line, kind in zip(lines[:head], kinds, strict=False) if kind is Kind.NOTE]
        return _block(other)
    found: list[Line] = []
    alone = _ABSTRACT.fullmatch(plain_heading(lines[begin].text)) is not None
    for line, kind in zip(lines[begin + alone :], kinds[begin + alone :], strict=True):
        if (found and kind is Kind.HEADING) or _BEHIND.match(line.text) or kind is Kind.CAPTION:
            break
        if found and not is_like(line, found[0].size):
            if kind is Kind.PROSE:
                break
            continue
        if kind is not Kind.RUNNING:
            found.append(line)
    return found


def _block(lines: Sequence[Line]) -> list[Line]:
    """The first three lines and more of one size that follow each other closely."""
    found: list[Line] = []
    for line in lines:
        if found and (
            not is_like(line, found[0].size) or line.baseline - found[-1].baseline > 2 * line.size
        ):
            if len(found) > 2:
                break
            found = []
        if not _BEHIND.match(line.text):
            found.append(line)
    return found if len(found) > 2 else []


def abstract_text(text: str) -> str:
    """An abstract without the word that heads it."""
    return _ABSTRACT.sub("", text, count=1) if _ABSTRACT.match(text) else text


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
        return _before_affiliations(below)
    largest = max(line.size for line in named)
    names: list[str] = []
    for line in named:
        if line.size > 0.97 * largest:
            names += [_MARKS.sub("", name).strip() for name in _BETWEEN_NAMES.split(line.text)]
    return tuple(name_from_display(name) for name in names if 1 < len(name.split()) < 6)


def _before_affiliations(lines: Sequence[Line]) -> tuple[str, ...]:
    """Names in capitals that begin the lines of their affiliations."""
    firsts = [_MARKS.sub("", line.text.partition(",")[0]).strip() for line in lines]
    names = [first for first in firsts if first.isupper() and 1 < len(first.split()) < 6]
    return tuple(name_from_display(name.title()) for name in names)


def _doi(page: Sequence[Line]) -> str | None:
    """The DOI that the page states; of two the longer, where a line broke the other off."""
    found = [doi for line in page if (doi := doi_in(line.text))]
    first = next(iter(found), None)
    return next((doi for doi in found if first and doi.startswith(f"{first}.")), first)


def _year(text: str) -> int | None:
    stated = next((match for pattern in _YEARS if (match := pattern.search(text))), None)
    return int(stated[1]) if stated else None
