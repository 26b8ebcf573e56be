"""Where sentences stand in their files: line and column, both counted from 1, in characters.

Beside the words of a block a reader keeps the raw text that they were made of, and where each
piece of that stands. Sentences are found in it again by their letters and digits, whatever markup
is between them: no conversion on the way has to know of places.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from citebed.drafts.records import Place

_RUN = re.compile(r"[^\W_]+")
_SIZES, _SKIPS = (24, 12, 7), (8, 16, 32)
"""What is looked for of a sentence: so many letters, after so many that a command may have made."""
_FAR, _FAR_WORDS = 5000, 50
"""No markup between two sentences has more letters or words than this."""


class Origin(NamedTuple):
    """Where raw text stands from its character ``at`` on.

    What is not ``exact`` does not stand there to the letter (a macro made it): all of it is in
    one place.
    """

    at: int
    place: Place
    exact: bool = True


class Raw(NamedTuple):
    """The text that a block was made of; ``origins`` are in order, the first one of its start."""

    text: str
    origins: Sequence[Origin]

    def place(self, at: int) -> Place:
        """The place of a character."""
        index = bisect_right(self.origins, at, key=attrgetter("at")) - 1
        origin = self.origins[max(index, 0)]
        source, line, column = origin.place
        if not origin.exact:
            return origin.place
        last = self.text.rfind("\n", origin.at, at)
        if last < 0:
            return Place(source, line, column + at - origin.at)
        return Place(source, line + self.text.count("\n", origin.at, at), at - last)


def raw_of_lines(lines: Iterable[tuple[str, int, int]]) -> Raw:
    """Raw text of lines, each with its number and the column in which it begins."""
    texts, origins, at = [], [], 0
    for text, number, column in lines:
        texts.append(text)
        origins.append(Origin(at, Place("", number, column)))
        at += len(text) + 1
    return Raw("\n".join(texts), origins or [Origin(0, Place())])


class _Letters:
    """The letters and digits of a text, and where each of them stands in it."""

    def __init__(self, text: str) -> None:
        runs = list(_RUN.finditer(text))
        self._words = [run[0] for run in runs]
        self.text = "".join(self._words)
        self._starts = [run.start() for run in runs]
        self._before = [0, *accumulate(map(len, self._words))]

    def position(self, at: int) -> int:
        """Where the letter of this number stands; of one that there is not, where the last does."""
        if not self._starts:
            return 0
        at = min(at, len(self.text) - 1)
        run = bisect_right(self._before, at) - 1
        return self._starts[run] + at - self._before[run]

    def find(self, words: Sequence[str], at: int) -> int:
        """Where words begin, at letter ``at`` or later; there itself where they are not found.

        Markers may stand between any two of them, and a command may have made some letters.
        """
        own = "".join(words)
        for size in _SIZES:
            found = self.text.find(own[:size], at, at + _FAR)
            if found >= 0:
                return found
        first = bisect_left(self._before, at)
        for number in range(first, min(first + _FAR_WORDS, len(self._words))):
            if self._words[number] == words[0]:
                return self._before[number]
        for skip in _SKIPS:
            found = self.text.find(own[skip : skip + _SIZES[-1]], at, at + _FAR)
            if found >= 0 and len(own) >= skip + _SIZES[-1]:
                return max(at, found - skip)
        return at


def places_of(raw: Raw, sentences: Sequence[str]) -> tuple[Place, ...]:
    """Where each of the sentences begins, which stand in the raw text in this order."""
    letters = _Letters(raw.text)
    places, at = [], 0
    for sentence in sentences:
        words = _RUN.findall(sentence)
        at = letters.find(words, at) if words else at
        places.append(raw.place(_with_lead(raw.text, letters.position(at), sentence)))
        at += sum(map(len, words))  # raw text has all the letters of the words, and some of markup
    return tuple(places)


def _with_lead(text: str, at: int, sentence: str) -> int:
    """Where a sentence begins whose first letter is at ``at``: at its bracket or quotation mark."""
    first = _RUN.search(sentence)
    lead = sentence[: first.start()] if first else ""
    return at - len(lead) if lead and text.endswith(lead, 0, at) else at
