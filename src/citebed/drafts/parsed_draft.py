"""The content of a draft as the format readers collect it, with its positions in the file.

Each block of prose keeps the raw text that it was made from, with the line and column of each piece
(counted from 1, in characters). The position of a sentence is found afterwards: its letters and
digits are searched for in the raw text, whatever markup is between them. So no conversion has to
track positions.
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
from citebed.text.identifiers import arxiv_in, doi_in, normalise_doi
from citebed.text.normalise import unique
from citebed.wording import list_first

_RUN = re.compile(r"[^\W_]+")
_SIZES, _SKIPS = (24, 12, 7), (8, 16, 32)
"""The number of letters to search for, and of letters to skip that a command may have made."""
_FAR, _FAR_WORDS = 5000, 50
"""The maximum number of letters and words of markup between two sentences."""


class Origin(NamedTuple):
    """The position of raw text from its character ``at`` on.

    Text that is not ``exact`` (from a macro) is not in the file and has one position only.
    """

    at: int
    place: Place
    exact: bool = True


class Raw(NamedTuple):
    """The text that a block was made from, with its ``origins`` in order, from its start on."""

    text: str
    origins: Sequence[Origin]

    def place(self, at: int) -> Place:
        """Return the position of a character."""
        index = bisect_right(self.origins, at, key=attrgetter("at")) - 1
        origin = self.origins[max(index, 0)]
        source, line, column = origin.place
        if not origin.exact:
            return origin.place
        last = self.text.rfind("\n", origin.at, at)
        if last < 0:
            return Place(source, line, column + at - origin.at)
        return Place(source, line + self.text.count("\n", origin.at, at), at - last)


class Line(NamedTuple):
    """A line of the file or a part of it, its number, and its first column."""

    text: str
    number: int
    column: int = 1


def join_lines(lines: Iterable[Line]) -> Raw:
    """Return the raw text of lines."""
    texts, origins, at = [], [], 0
    for text, number, column in lines:
        texts.append(text)
        origins.append(Origin(at, Place("", number, column)))
        at += len(text) + 1
    return Raw("\n".join(texts), origins or [Origin(0, Place())])


class _Letters:
    """The letters and digits of a text, with their offsets."""

    def __init__(self, text: str) -> None:
        runs = list(_RUN.finditer(text))
        self._words = [run[0] for run in runs]
        self.text = "".join(self._words)
        self._starts = [run.start() for run in runs]
        self._before = [0, *accumulate(map(len, self._words))]

    def position(self, at: int) -> int:
        """Return the offset of a letter; a number that is too high means the last letter."""
        if not self._starts:
            return 0
        at = min(at, len(self.text) - 1)
        run = bisect_right(self._before, at) - 1
        return self._starts[run] + at - self._before[run]

    def find(self, words: Sequence[str], at: int) -> int:
        """Return the letter at which words begin, from ``at`` on; ``at`` if they are not found.

        There may be markers between the words, and a command may have made some letters.
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


def find_places(raw: Raw, sentences: Sequence[str]) -> tuple[Place, ...]:
    """Return the position of each sentence; the raw text has them in this order."""
    letters = _Letters(raw.text)
    places, at = [], 0
    for sentence in sentences:
        words = _RUN.findall(sentence)
        at = letters.find(words, at) if words else at
        offset = letters.position(at)
        first = _RUN.search(sentence)
        lead = sentence[: first.start()] if first else ""
        places.append(
            raw.place(offset - len(lead) if lead and raw.text.endswith(lead, 0, offset) else offset)
        )
        at += sum(map(len, words))  # raw text has all the letters of the words, and some of markup
    return tuple(places)


# --- Content ----------------------------------------------------------------------------------


# In raw text, a citation is its number between two characters of the private use area. They pass
# through every conversion, and drafts do not use them.
_OPEN, _CLOSE = "\ue000", "\ue001"
PLACE = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_PLACEHOLDER = re.compile(
    r"[?.…_-]+|x{2,}|(?:todo|fixme|tbd)(?:[-_:.].*)?|missing|cite|ref|citation(?:[-_]?needed)?",
    re.IGNORECASE,
)
_RESERVED = str.maketrans({_OPEN: " ", _CLOSE: " "})


def without_places(text: str) -> str:
    """Replace the two reserved characters in a text by blanks."""
    return text.translate(_RESERVED) if _OPEN in text or _CLOSE in text else text


class Block(NamedTuple):
    """A paragraph with citation marks, and the ``raw`` text that it was made from.

    ``kind`` is ``caption``, ``item`` or ``""``.
    """

    text: str
    raw: Raw
    section: str = ""
    kind: str = ""


@dataclass
class ParsedDraft:
    """The blocks of a draft, its citations by number, its own bibliography, and notes.

    ``unplaced`` are citations outside of prose: in tables, or by ``\\nocite``. ``author_year`` are
    citations by authors and year without an entry in the bibliography. ``library`` are the texts of
    its .bib files, ``library_files`` their paths; ``every_entry`` is set if the draft cites all
    entries (``\\nocite{*}``).
    """

    blocks: list[Block] = field(default_factory=list)
    citations: list[tuple[str, ...]] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    title: str = ""
    authors: tuple[str, ...] = ()
    bibliographies: dict[str, None] = field(default_factory=dict)
    library: list[str] = field(default_factory=list)
    library_files: list[str] = field(default_factory=list)
    numbers: dict[int, None] = field(default_factory=dict)
    author_year: dict[str, None] = field(default_factory=dict)
    every_entry: bool = False
    _notes: dict[str, list[Place | str]] = field(default_factory=dict)

    def cite(self, names: Iterable[str]) -> str:
        """Return a mark to put into the text for a citation of these keys or identifiers.

        A citation without any key is a placeholder.
        """
        every = tuple(names)
        known = tuple(name for name in every if not is_placeholder(name))
        self.citations.append(known)
        place = f"{_OPEN}{len(self.citations) - 1}{_CLOSE}"
        return place + self.cite(()) if known and known != every else place

    def cite_url(self, url: str) -> str:
        """Return a mark for the citation in a URL of a DOI or of arXiv, or "" for other URLs."""
        if doi := doi_in(url):
            return self.cite([doi])
        arxiv = arxiv_in(url)
        return self.cite([f"arXiv:{arxiv}"]) if arxiv else ""

    def name_bibliographies(self, names: Iterable[str]) -> None:
        """Add bibliography files, named with or without their suffix."""
        for name in map(str.strip, names):
            full = name if not name or re.search(r"\.\w{2,6}$", name) else f"{name}.bib"
            if full:
                self.bibliographies.setdefault(full)

    def note(self, what: str, about: Place | str | None = None) -> None:
        """Add a note for the user; equal notes become one with all their positions or files."""
        self._notes.setdefault(what, []).extend([about] if about else [])

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes for the user: ``line 3: what``, or ``what (lines 3, 9 and 12 more)``."""
        return tuple(
            f"{list_places(places)}: {what}" if len(places) == 1
            else f"{what} ({list_places(places)})" if places else what
            for what, places in self._notes.items()
        )  # fmt: skip

    def cited_names(self) -> list[str]:
        """Return all cited keys and identifiers, in order and without duplicates."""
        return list(dict.fromkeys(chain(*self.citations, self.unplaced)))


def list_places(places: Sequence[Place | str]) -> str:
    """Format positions as ``line 3``, ``lines 3, 9 and 12 more``, or ``a.tex:4``, and names."""
    named = unique(map(_named, places))
    word = "lines " if len(named) > 1 else "line "
    return f"{word if named[0].isdecimal() else ''}{list_first(named)}"


def _named(place: Place | str) -> str:
    if isinstance(place, str):
        return place
    return str(place).removeprefix("line ")


def is_placeholder(name: str) -> bool:
    """Return True for a name in place of a key: ``?``, ``TODO``, ``XXX``."""
    return _PLACEHOLDER.fullmatch(name) is not None


def is_key(name: str) -> bool:
    """Return True for a citation key; False for a DOI or an arXiv id."""
    return normalise_doi(name) is None and not name.startswith("arXiv:")
