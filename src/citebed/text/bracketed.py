"""What stands inside the brackets of a citation marker: numbers, keys, names with years.

These read the inside of one pair of brackets, and give what it cites or ``None`` if it is not a
citation at all. Which brackets count is decided in ``markers.py``.
"""

from __future__ import annotations

import re

from citebed.patterns import compiled
from citebed.text.names import AND, ET_AL, NAME, YEAR

LONGEST_RANGE = 200
LONGEST_INSIDE = 2000
DASH = "[-‐-―−]"

LOCATOR = (
    r"(?i:pp?\.?|pages?|sec(?:t(?:ion)?s?)?\.?|§§?|ch(?:ap(?:ter)?s?)?\.?|figs?\.?|figures?|tables?"
    r"|theorems?|thm\.?|lemma|def(?:inition)?\.?|eqs?\.?|algorithms?|appendix|vol\.?|no\.?)"
    rf"\s{{0,2}}+[\dA-Z][\w.]{{0,8}}+(?:\s?{DASH}\s?[\dA-Z][\w.]{{0,8}}+)?"
)
CUE = (
    r"(?:see(?: also)?|cf\.?|e\.?\s?g\.?|i\.?\s?e\.?|for (?:example|instance|a (?:review|survey))"
    r"|such as|inter alia|among others|also|as in|following|based on|cited (?:in|by)|compare)"
)
_CUES = compiled(rf"\s*+(?:{CUE}(?!\w)\.?+[,:]?+\s++){{0,3}}+", re.IGNORECASE)
_NUMBER = re.compile(rf"(\d{{1,4}})[a-z]?(?:\s{{0,2}}{DASH}{{1,2}}\s{{0,2}}(\d{{1,4}})[a-z]?)?")
_LOCATES = compiled(LOCATOR)
_KEY = re.compile(r"[A-Z][A-Za-z]{0,30}[+*]?[:-]?\d{2,4}[a-z]?")
_MASK = re.compile(r"CITE?|CITATIONS?|REF|\?+(?:\s?,\s?\?+){0,20}")
_AT_KEY = re.compile(r"(?:^|[\s;])-?@(\w(?:[\w:.#$%&+?<>~/-]*\w)?)")

_WHEN = rf"(?:{YEAR}[a-z]?|in press|forthcoming|to appear|n\.d\.)"
YEARS = rf"{_WHEN}(?:\s?[,/&]\s?(?:{_WHEN}|[a-z]\b)){{0,9}}"
AUTHORS = (
    rf"(?:{NAME}(?:\s?,\s?{NAME}){{0,12}}+(?:\s?,?\s{AND}\s{NAME})?+(?:\s?,?\s{ET_AL})?+"
    r"(?:['’]s?)?)"
)
_PAGES = rf"(?:\s?[,:]\s?(?:{LOCATOR}|\d+(?:{DASH}\d+)?)){{0,3}}"
_CITATION = compiled(rf"(?P<authors>{AUTHORS})(?P<comma>\s?,)?\s?\(?(?P<years>{YEARS})\)?{_PAGES}")
_NEXT = re.compile(r";|(?:(?<=\d{4})|(?<=\d{4}[a-z]))(?:,? (?:and|&) |, )(?=[^\W\d_]{2})")
LONE_YEARS = compiled(rf"[(\[](?P<years>{YEARS}){_PAGES}[)\]]")
# Capitalised words that stand before a year and are no authors.
_NO_AUTHOR = frozenset(
    (
        *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
        *("October", "November", "December", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug"),
        *("Sep", "Sept", "Oct", "Nov", "Dec", "Spring", "Summer", "Autumn", "Fall", "Winter"),
        *("Version", "Figure", "Table", "Section", "Edition", "Conference", "Workshop", "Track"),
        *("Challenge", "Task", "Year", "Equation", "Chapter", "Part", "Windows", "Symposium"),
    )
)


def cites_of(inside: str) -> tuple[str, ...] | None:
    """What the inside of a pair of square brackets cites; ``()`` for a mask such as ``CIT``."""
    inside = inside.strip()
    if not inside or len(inside) > LONGEST_INSIDE:
        return None
    if _MASK.fullmatch(inside):
        return ()
    if "@" in inside and (keys := _AT_KEY.findall(inside)):
        return tuple(keys)
    cites = numbers(inside)
    return cites if cites is not None else names_and_years(inside)


def numbers(inside: str) -> tuple[str, ...] | None:
    """Numbers, keys and ranges between commas, with pages and the like; ranges written out."""
    cites: list[str] = []
    for part in re.split("[,;]", _without_cues(inside)):
        item = part.strip()
        if (number := _NUMBER.fullmatch(item)) is not None:
            some = _range(item, number[1], number[2])
            if some is None:
                return None
            cites += some
        elif _KEY.fullmatch(item):
            cites.append(item)
        elif not cites or not _LOCATES.fullmatch(item):
            return None
    return tuple(cites)


def _range(item: str, first: str, last: str | None) -> list[str] | None:
    if last is None:
        return [item]
    low, high = int(first), int(last)
    if not 0 <= high - low < LONGEST_RANGE:
        return None
    return [str(number) for number in range(low, high + 1)]


def _without_cues(text: str) -> str:
    """``Smith 2019`` of ``see, e.g., Smith 2019``."""
    match = _CUES.match(text)
    return text[match.end() :] if match else text


def names_and_years(inside: str) -> tuple[str, ...] | None:
    """``Smith, 2019; Lee 2020a,b``: each with its year."""
    cites: list[str] = []
    if len(inside) > LONGEST_INSIDE:
        return None
    for part in _NEXT.split(" ".join(inside.split())):
        match = _CITATION.fullmatch(_without_cues(part).strip())
        if match is None or not may_be_authors(match["authors"], match["comma"] is not None):
            return None
        cites += dated(match["authors"], match["years"])
    return tuple(cites)


def may_be_authors(authors: str, comma: bool = False) -> bool:
    """Whether names before a year are those of authors.

    Without a comma before the year some of them must have small letters: ``TREC 2004`` is an
    event, ``WHO, 2004`` an author.
    """
    words = re.findall(r"[^\W\d_]+", authors)
    if not words or words[-1] in _NO_AUTHOR or all(word[0].islower() for word in words):
        return False
    return comma or any(not word.isupper() for word in words if len(word) > 1)


def dated(authors: str, years: str) -> list[str]:
    """One citation for each year; a lone letter is another of the same year."""
    authors = " ".join(re.sub(r"['’]s?$", "", authors).split())
    cites, year = [], ""
    for part in re.split(r"\s?[,/&]\s?", years):
        year = part if len(part) > 1 else year[:4] + part
        cites.append(f"{authors} {year}")
    return cites
