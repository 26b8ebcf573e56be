"""What a reader gathers on its way through a draft before it becomes passages, and where it stands.

Beside the words of a block a reader keeps the raw text that they were made of, and where each
piece of that stands: line and column, both counted from 1, in characters. Sentences are found in it
again by their letters and digits, whatever markup is between them: no conversion on the way has to
know of places.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from operator import attrgetter
from typing import NamedTuple

from citebed.drafts.records import Entry, Place
from citebed.drafts.wanting import is_no_key
from citebed.text.identifiers import normalise_doi
from citebed.text.normalise import unique
from citebed.wording import first_few

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
            start = self.text.find(own[:size], at, at + _FAR)
            if start >= 0:
                return start
        first = bisect_left(self._before, at)
        for number in range(first, min(first + _FAR_WORDS, len(self._words))):
            if self._words[number] == words[0]:
                return self._before[number]
        for skip in _SKIPS:
            start = self.text.find(own[skip : skip + _SIZES[-1]], at, at + _FAR)
            if start >= 0 and len(own) >= skip + _SIZES[-1]:
                return max(at, start - skip)
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


# --- What is gathered -------------------------------------------------------------------------


# Two characters of the private use area stand around the number of a citation in raw text:
# they pass through every conversion, and no draft means anything by them.
_OPEN, _CLOSE = "\ue000", "\ue001"
PLACE = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_RESERVED = str.maketrans({_OPEN: " ", _CLOSE: " "})


def without_places(text: str) -> str:
    """Text from outside, in which the two reserved characters are blanks."""
    return text.translate(_RESERVED) if _OPEN in text or _CLOSE in text else text


class Block(NamedTuple):
    """A paragraph with its citations as places, and the ``raw`` text that it was made of.

    ``kind`` is ``caption`` or ``item`` where the reader can tell.
    """

    text: str
    raw: Raw
    section: str = ""
    kind: str = ""


@dataclass
class Findings:
    """The blocks of a draft, its citations by number, its own bibliography, and notes.

    What is cited ``nowhere`` is cited where no prose is: in a table, or by ``\\nocite``; what is
    ``authored`` by authors and year alone, which no entry of its bibliography tells of.
    ``every_entry`` is set where the draft cites all that its files hold (``\\nocite{*}``), whose
    texts are the ``library``.
    """

    blocks: list[Block] = field(default_factory=list)
    citations: list[tuple[str, ...]] = field(default_factory=list)
    nowhere: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    title: str = ""
    authors: tuple[str, ...] = ()
    bibliographies: dict[str, None] = field(default_factory=dict)
    library: list[str] = field(default_factory=list)
    numbers: dict[int, None] = field(default_factory=dict)
    authored: dict[str, None] = field(default_factory=dict)
    every_entry: bool = False
    _notes: dict[str, list[Place | str]] = field(default_factory=dict)

    def cite(self, names: Iterable[str]) -> str:
        """A place to put into the text for a citation of these keys or identifiers; of none where
        one is still to come."""
        every = tuple(names)
        known = tuple(name for name in every if not is_no_key(name))
        self.citations.append(known)
        place = f"{_OPEN}{len(self.citations) - 1}{_CLOSE}"
        return place + self.cite(()) if known and known != every else place

    def name_bibliographies(self, names: Iterable[str]) -> None:
        """Bibliography files that the draft names, with or without their ending; each once."""
        for name in map(str.strip, names):
            full = name if not name or re.search(r"\.\w{2,6}$", name) else f"{name}.bib"
            if full:
                self.bibliographies.setdefault(full)

    def note(self, what: str, about: Place | str | None = None) -> None:
        """Something to tell the user; said once, with all the places or files it is true of."""
        self._notes.setdefault(what, []).extend([about] if about else [])

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to tell: ``line 3: what``, or ``what (lines 3, 9 and 12 more)``."""
        return tuple(
            f"{lines_of(places)}: {what}" if len(places) == 1
            else f"{what} ({lines_of(places)})" if places else what
            for what, places in self._notes.items()
        )  # fmt: skip

    def cited_names(self) -> list[str]:
        """All keys and identifiers that were cited, in order, each once."""
        return list(dict.fromkeys(chain(*self.citations, self.nowhere)))


def lines_of(places: Sequence[Place | str]) -> str:
    """``line 3``, ``lines 3, 9 and 12 more``; those of included files as ``a.tex:4``, and names
    as they are."""
    named = unique(map(_named, places))
    word = "lines " if len(named) > 1 else "line "
    return f"{word if named[0].isdecimal() else ''}{first_few(named)}"


def _named(place: Place | str) -> str:
    if isinstance(place, str):
        return place
    return str(place).removeprefix("line ")


def is_key(name: str) -> bool:
    """Whether something cited is a key, not a DOI or an arXiv id."""
    return normalise_doi(name) is None and not name.startswith("arXiv:")
