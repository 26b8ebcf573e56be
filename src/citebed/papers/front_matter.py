"""Find the front matter of a paper: title, authors, DOI, year and abstract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from citebed.papers.pages import Line, group_while
from citebed.papers.structure import Kind, Style, has_size, plain_heading
from citebed.text.identifiers import doi_in
from citebed.text.names import (
    NAME,
    NOT_NAMES,
    display_name,
    name_from_display,
    name_from_parts,
)
from citebed.text.normalise import fold
from citebed.text.regex import compile_regex
from citebed.wording import count

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
"""Years on the first page, the most reliable first: of the copyright, of a date, any."""
_NOT_A_NAME = re.compile(
    r"[@\d:/]|universit|institut|department|laborator|school|college|\b(?:inc|ltd|corp)\b|research"
    r"|\b(?:open access|hospital|faculty|cent(?:er|re)|academy)\b",
    re.I,
)
_BETWEEN_NAMES = re.compile(r"\s*(?:[,;·•&]|\band\b)\s*")
_MARKS = re.compile(
    r"[\d*†‡§¶∗⁎#]+|(?<=[a-zß-ÿ])ID(?=[\W\d]|$)|(?<=[ ,])[a-z](?=[ ,*]|$)"
    r"|\b(?:Jr|Sr|Ph\.?\s?D|M\.?D|Dr|Prof)\b\.?"
)
"""Marks of footnotes and affiliations, the icon of ORCID (``ID``), suffixes and degrees."""
_PERSON = compile_regex(NAME)
_PREFIX = re.compile(r"\b[a-z]{2,3}(?=[A-Z])")
"""For example in ``dePamphilis``."""
_MOST_PROPERTIES = 20_000
_LISTED = 5
_COLLABORATION = re.compile(r"(?:the )?(\S.*?) collaborations?", re.I)
_SAME_ROW = 0.3
"""Largest distance between baselines in one row, in font sizes."""


@dataclass(frozen=True)
class FrontMatter:
    """The front matter on the first page."""

    title: str = ""
    authors: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    notes: tuple[str, ...] = ()
    lines: frozenset[int] = field(default_factory=frozenset)
    """Its lines, by ``id``."""


def parse_front_matter(page: Sequence[Line], style: Style, properties: str = "") -> FrontMatter:
    """Return the front matter of the first page, given its lines in reading order.

    ``properties`` is the author property of the file.
    """
    below, column = _text_start(page, style)
    # Baselines in a row differ a little.
    lines = [
        line
        for line in page
        if line.baseline < below - 1 and not _is_text(line, column, page, style)
    ]
    rows = group_while(
        sorted(lines, key=lambda line: line.baseline),
        lambda row, line: line.baseline - row[0].baseline < _SAME_ROW * line.size,
    )
    above = [each for row in rows for each in sorted(row, key=lambda line: line.left)]
    # The title has the largest letters.
    tall = [line for line in above if sum(map(str.isalpha, line.text)) > 3]
    largest = max((line.size for line in tall), default=0.0)
    title = [line for line in tall if line.size > 0.97 * largest]
    below_title = [line for line in above if title and line.baseline > title[-1].baseline]
    authors, notes = _reconcile(_authors(below_title), properties, below_title)
    text = "\n".join(line.text for line in page)
    # A line end may have cut off the first DOI.
    dois = [doi for line in page if (doi := doi_in(line.text))]
    first = next(iter(dois), None)
    dated = next((match for pattern in _YEARS if (match := pattern.search(text))), None)
    return FrontMatter(
        title=" ".join(line.text for line in title),
        authors=authors,
        doi=next((doi for doi in dois if first and doi.startswith(f"{first}.")), first),
        year=int(dated[1]) if dated else None,
        notes=notes,
        lines=frozenset(map(id, above)),
    )


def is_beginning(line: Line, style: Style) -> bool:
    """Return True if a line may head the abstract or the introduction."""
    if line.size > 1.45 * style.size:
        return False
    plain = plain_heading(line.text)
    return _INTRODUCTION.fullmatch(plain) is not None or _ABSTRACT.match(plain) is not None


def _text_start(page: Sequence[Line], style: Style) -> tuple[float, int]:
    """Return the height and the column at which abstract or text begin; 0 if unknown."""
    heads = [(line.baseline, line.column) for line in page if is_beginning(line, style)]
    for line, after, third in zip(page, page[1:], page[2:], strict=False):
        if all(_is_wide(each, style) for each in (line, after, third)):
            heads.append((line.baseline, line.column))
            break
    start = min(heads, default=(0.0, 0))
    for line, after, third in zip(page, page[1:], page[2:], strict=False):
        if line.baseline < start[0] and _is_unheaded_abstract((line, after, third), style):
            return line.baseline, line.column
    return start


def _is_unheaded_abstract(lines: Sequence[Line], style: Style) -> bool:
    """Return True if lines are sentences in another size than the prose."""
    first = lines[0]
    close = all(
        0 < after.baseline - line.baseline < 1.8 * line.size and has_size(after, first.size)
        for line, after in pairwise(lines)
    )
    if not close or first.size > 1.1 * style.size or has_size(first, style.size):
        return False
    words = [word.text for line in lines for word in line.words if word.text[0].isalpha()]
    small = sum(word[0].islower() for word in words)
    return len(words) > 20 and small > 0.7 * len(words)


def _is_wide(line: Line, style: Style) -> bool:
    """Return True if a line is as large and as wide as prose."""
    left, right = style.edges(line)
    return line.right - line.left > 0.7 * (right - left) and has_size(line, style.size)


def _is_text(line: Line, column: int, page: Sequence[Line], style: Style) -> bool:
    """Return True if a line belongs to text in another column, beside the abstract."""
    if line.column in (column, -1) or column < 0:
        return False
    beside = [each for each in page if each.column == line.column]
    # A single wide line is a running head, and there may be authors below it.
    first = next(
        (
            each.baseline
            for each, after in pairwise(beside)
            if _is_wide(each, style)
            and _is_wide(after, style)
            and 0 < after.baseline - each.baseline < 2 * each.size
        ),
        None,
    )
    return first is not None and line.baseline >= first - 1


def find_abstract(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Line]:
    """Return the lines of the abstract, given the lines after the front matter.

    Without a heading "Abstract", it is the smaller text before the first heading.
    """
    first = [at for at, line in enumerate(lines) if line.page < 2]
    begin = next((at for at in first if _ABSTRACT.match(plain_heading(lines[at].text))), None)
    if begin is None:
        head = next((at for at in first if kinds[at] is Kind.HEADING), len(first))
        other = [line for line, kind in zip(lines[:head], kinds, strict=False) if kind is Kind.NOTE]
        block: list[Line] = []
        for line in other:
            if block and (
                not has_size(line, block[0].size)
                or line.baseline - block[-1].baseline > 2 * line.size
            ):
                if len(block) > 2:
                    break
                block = []
            if not _BEHIND.match(line.text):
                block.append(line)
        return block if len(block) > 2 else []
    abstract: list[Line] = []
    alone = _ABSTRACT.fullmatch(plain_heading(lines[begin].text)) is not None
    for line, kind in zip(lines[begin + alone :], kinds[begin + alone :], strict=True):
        if (abstract and kind is Kind.HEADING) or _BEHIND.match(line.text) or kind is Kind.CAPTION:
            break
        if abstract and not has_size(line, abstract[0].size):
            if kind is Kind.PROSE:
                break
            continue
        if kind is not Kind.RUNNING:
            abstract.append(line)
    return abstract


def strip_abstract_heading(text: str) -> str:
    """Return an abstract without the word "Abstract" that begins it."""
    return _ABSTRACT.sub("", text, count=1) if _ABSTRACT.match(text) else text


def _authors(below: Sequence[Line]) -> tuple[str, ...]:
    """Return the names below the title, from the lines of names in the largest letters."""
    named = [(line.size, names) for line in below if (names := _names(line.text))]
    if not named:
        # Names in capitals may begin lines with their affiliations.
        firsts = [_MARKS.sub(" ", line.text.partition(",")[0]).strip() for line in below]
        capitals = [first for first in firsts if first.isupper() and 1 < len(first.split()) < 6]
        return tuple(name_from_display(name.title()) for name in capitals)
    largest = max(size for size, _ in named)
    return tuple(name for size, names in named if size > 0.97 * largest for name in names)


def _names(text: str) -> tuple[str, ...]:
    """Return the authors that a line lists, or () if it has any other text."""
    text = fold(_MARKS.sub(",", text))
    if group := _COLLABORATION.fullmatch(text.strip(" ,")):
        return tuple(f"{name} Collaboration" for name in _BETWEEN_NAMES.split(group[1]))
    parts = [part for each in _BETWEEN_NAMES.split(text) if (part := each.strip())]
    return tuple(map(name_from_display, parts)) if all(map(_is_person, parts)) else ()


def _is_person(name: str) -> bool:
    words = name.split()
    return (
        1 < len(words) < 6
        and words[0] not in NOT_NAMES
        and _NOT_A_NAME.search(name) is None
        and _PERSON.fullmatch(_PREFIX.sub("", name)) is not None
    )


def _reconcile(
    printed: tuple[str, ...], properties: str, below: Sequence[Line]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the authors, and a note if the page and the file's properties disagree.

    Properties may name a program, an uploader or one of several authors. They win only if they
    contain every name read from the page, and the page prints their names in their order, without
    any other name between them.
    """
    properties = properties[:_MOST_PROPERTIES]
    names = [name_from_parts(*part.split(",", 1)) for part in properties.split(";") if part.strip()]
    inverted = all(name.count(",") == 1 and _is_person(display_name(name)) for name in names)
    stated = _names(properties) or (tuple(names) if inverted else ())
    remaining = iter(map(_name_key, printed))
    if all(_name_key(name) in remaining for name in stated):
        return printed, ()
    whole = [f" {display_name(name)} ".lower() for name in stated]
    holds = all(any(f" {display_name(n)} ".lower() in each for each in whole) for n in printed)
    if holds and _are_printed(stated, below):
        return stated, (
            f"authors come from the file's properties: {_shown(stated)}; the page "
            f"was read as {_shown(printed)}",
        )
    return printed, (
        f"authors come from the page: {_shown(printed)}; the file's "
        f"properties name {_shown(stated)}",
    )


def _are_printed(names: Sequence[str], below: Sequence[Line]) -> bool:
    """Return True if lines print these names in this order, and no others in their font size."""
    patterns = [
        compile_regex(rf"(?i)\b{r'[ .]+'.join(map(re.escape, display_name(name).split()))}(?!\w)")
        for name in names
    ]
    texts = [fold(_MARKS.sub(" ", line.text)) for line in below]
    sizes = [
        line.size
        for line, text in zip(below, texts, strict=True)
        if any(pattern.search(text) for pattern in patterns)
    ]
    text = " ".join(
        text
        for line, text in zip(below, texts, strict=True)
        if any(0.97 * size < line.size < 1.03 * size for size in sizes)
    )
    at = 0
    for pattern in patterns:
        match = pattern.search(text, at)
        if match is None:
            return False
        text, at = f"{text[: match.start()]},{text[match.end() :]}", match.start()
    return not any(" " in other[0] for other in _PERSON.finditer(text))


def _name_key(name: str) -> tuple[str, str]:
    """Return family name and first initial, which identify a person within a paper."""
    family, _, given = name.casefold().partition(", ")
    return family, given[:1]


def _shown(names: Sequence[str]) -> str:
    more = f" and {count(len(names) - _LISTED, 'other')}" if len(names) > _LISTED else ""
    return ", ".join(map(display_name, names[:_LISTED])) + more or "none"
