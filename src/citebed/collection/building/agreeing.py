"""When titles agree, and when two places of publication cannot be the same.

A DOI, or a title with its author and year, makes two records likely to be one document. Titles that
have nothing in common, or another issue and other pages, say that they are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

AGREEING = 0.5
"""How alike (`alike`) titles under one DOI are that mean the same paper: spelt, cut or typed
otherwise they keep most of their trigrams, and titles of different papers share few."""
SHORT_AGREEING = 0.8
SHORTEST = 15
"""Folded titles of fewer letters ("Editorial", "Introduction") say too little when they stand in
another."""
MOST_TITLES = 60
"""A DOI that more titles have is no paper's: it stands in a form that nobody filled in."""
GRAM = 3

_COUNTED = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "one two three four five six seven eight nine ten "
    "january february march april june july august september october november december "
    "spring summer autumn fall winter"
)
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_COUNTED.split())}|[a-z]+(?:teen|ty)(?:th)?|[ivx]+)\b")
_SUBTITLE = re.compile(r"(?:[:;.?!]|\s[-–—]|[–—])\s|\s*[\[(]")


class Title(NamedTuple):
    """A title as it is written, and folded to its letters and digits."""

    text: str
    plain: str


def titles_agree(left: Title, right: Title) -> bool:
    """Whether two titles under one DOI are of one paper: nearly the same, or one within the other.

    Titles that count otherwise (Part I and Part II) do not agree, however alike they are.
    """
    if left.plain == right.plain:
        return True
    ours, theirs = set(numbers(left.text)), set(numbers(right.text))
    if not (ours <= theirs or theirs <= ours):
        return False
    short, long = sorted((left.plain, right.plain), key=len)
    if _same_but_subtitle(left, right):
        return True
    if len(short) < SHORTEST:
        return alike(short, long) >= SHORT_AGREEING
    return short in long or alike(short, long) >= AGREEING


def _same_but_subtitle(left: Title, right: Title) -> bool:
    """Whether one is the other without what follows a colon."""
    return any(
        _letters(_SUBTITLE.split(one.text, maxsplit=1)[0]) == _letters(other.text) != ""
        for one, other in ((left, right), (right, left))
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def numbers(title: str) -> list[str]:
    """What a title counts by: digits, Roman numerals, "Second", months. Titles that differ in
    these (Part I and Part II, the reports of two years) are meant to be alike."""
    return _NUMBER.findall(title.lower())


def alike(left: str, right: str) -> float:
    """The Jaccard coefficient of the trigrams of two folded titles; 0 where there are none."""
    ours, theirs = grams(left, GRAM), grams(right, GRAM)
    common = len(ours & theirs)
    return common / max(1, len(ours) + len(theirs) - common)


def grams(text: str, size: int) -> set[str]:
    """Every run of so many letters in a text."""
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def title_groups(titles: Sequence[Title]) -> list[int]:
    """A number for each title, the same for those that agree, directly or by way of others."""
    if len(titles) > MOST_TITLES:
        return list(range(len(titles)))
    owners = list(range(len(titles)))
    for later, title in enumerate(titles):
        for earlier in range(later):
            if owners[earlier] != owners[later] and titles_agree(titles[earlier], title):
                old, new = owners[later], owners[earlier]
                owners = [new if owner == old else owner for owner in owners]
    return owners


class Place(NamedTuple):
    """Where a record was published: numbers that stand for venue, volume and issue, and the first
    and last page; what is not known is ``None``."""

    venue: int | None
    volume: int | None
    issue: int | None
    first: int | None
    last: int | None


def is_elsewhere(left: Place, right: Place) -> bool:
    """Whether two places cannot be one: other pages of another volume or issue, or where both
    venues are known; or, where pages are not known, another issue of the same venue.

    Pages from 1 on may be those of a preprint, whatever it is said to have appeared in.
    """
    issue = _differ(left.issue, right.issue)
    same_venue = left.venue is not None and left.venue == right.venue
    counted = 1 not in (left.first, right.first)
    venues = same_venue or (counted and _differ(left.venue, right.venue))
    if left.first is None or right.first is None:
        return issue and same_venue
    apart = (left.last or left.first) < right.first or (right.last or right.first) < left.first
    return apart and (issue or venues or _differ(left.volume, right.volume))


def _differ(left: int | None, right: int | None) -> bool:
    return left is not None and right is not None and left != right


def place_groups(places: Sequence[Place]) -> list[int]:
    """A number for each place, the same for those that can be one.

    One that could be several, since it says too little, is none of them.
    """
    order = sorted(range(len(places)), key=lambda at: places[at].count(None))
    groups: list[list[Place]] = []
    found = [0] * len(places)
    for at in order:
        fitting = [
            number
            for number, group in enumerate(groups)
            if not any(is_elsewhere(places[at], other) for other in group)
        ]
        if len(fitting) != 1:
            fitting = [len(groups)]
            groups.append([])
        found[at] = fitting[0]
        groups[found[at]].append(places[at])
    return found
