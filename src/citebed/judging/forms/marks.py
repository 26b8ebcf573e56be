"""How people mark boxes and write grades."""

from __future__ import annotations

import re
from enum import Enum


class Mark(Enum):
    """What stands in a box, or behind a label."""

    EMPTY = "empty"
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class NoGrade(Enum):
    """What stands where a grade is asked for, if it is none."""

    EMPTY = "empty"
    UNKNOWN = "unknown"


# The last two of the first row look like x: a sign, and a letter of Russian keyboards.
_YES = frozenset(("x", "xx", "xxx", "×", "х", "✓", "✔", "✅", "☑", "√", "yes", "y"))
_NO = frozenset(("no", "n"))
_CANNOT = frozenset(
    ("?", "??", "???", "can't say", "cant say", "cannot say", "can not say", "don't know",
     "dont know", "can't judge", "cannot judge", "n/a", "na", "n.a")
)  # fmt: skip
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_FILLING = " \t\n_.,;…'\""
_BRACKETS = "[](){}"
_BLANKS = re.compile(r"\s+")


def tidy(text: str) -> str:
    """A mark without what stands around it, its spaces and its capitals."""
    stripped = text.strip(_FILLING + _BRACKETS)
    return _BLANKS.sub(" ", stripped).casefold().removesuffix("\ufe0f")


def mark_in(text: str) -> Mark:
    """Whether a box is marked. Crosses (✗) may mean yes or no, so that they are unknown."""
    found = tidy(text)
    if not found:
        return Mark.EMPTY
    return Mark.YES if found in _YES else Mark.NO if found in _NO else Mark.UNKNOWN


def grade_in(text: str) -> int | NoGrade | None:
    """A grade, ``None`` for can't say; it may be out of the scale."""
    found = tidy(text)
    if not found:
        return NoGrade.EMPTY
    if found.isascii() and found.isdigit() and len(found) < 7:
        return int(found)
    if found in _WORDS:
        return _WORDS.index(found) + 1
    return None if found in _CANNOT else NoGrade.UNKNOWN


def verdict_in(relevant: Mark, not_relevant: Mark, cannot: Mark) -> int | Mark | None:
    """The judgement that three marks make: 1, 0, ``None`` for can't judge, or a mark.

    The mark is EMPTY where nothing was said, UNKNOWN where the marks contradict each other.
    ``relevant: no`` says that it is not relevant; ``not relevant: no`` alone may mean anything.
    """
    marks = (relevant, not_relevant, cannot)
    yes = [mark is Mark.YES for mark in marks]
    no = [mark is Mark.NO for mark in marks]
    if Mark.UNKNOWN in marks or sum(yes) > 1:
        return Mark.UNKNOWN
    if yes[0]:
        return 1
    if yes[1] or (no[0] and not no[1] and not yes[2]):
        return 0
    if no[0] != no[1] or (no[0] and not yes[2]):
        return Mark.UNKNOWN
    return None if yes[2] else Mark.EMPTY
