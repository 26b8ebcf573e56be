"""Find many names in many texts: whole words, case-folded, the longest name first.

A text is a sequence of words (runs of letters and digits; each CJK character is a word), so that
a name is found across line ends, hyphens and underscores, but never inside a word. Matches go
from left to right and do not overlap. If several names start at a word, the longest wins:
"Paul Smith" does not mention "Paul".

Most documents mention no name. ``candidates`` finds all documents that might, with one
Aho-Corasick pass over the raw text; ``mentions`` then looks at these exactly.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product

import polars as pl

from citebed.errors import CitebedError
from citebed.text.regex import limit_combining_marks
from citebed.timeline.filters.topics import Topic
from citebed.timeline.streams.stream_files import TEXTS

# Letters only: the middle dot and the sound marks between them are not words.
_CJK = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufa6d\ufa70-\ufad9"
)
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_ASCII_RUN = re.compile(r"[a-z0-9]+")
_LONGEST = 32
_LAST = 0x30000  # no character from here on folds, composes or decomposes
Words = tuple[str, ...]


def words(text: str) -> list[str]:
    """Split a text into words for comparison: composed (NFC) and case-folded."""
    composed = unicodedata.normalize("NFC", limit_combining_marks(text))
    return _WORD.findall(composed.casefold())


class NameTable:
    """The names of all topics, by number, with (topic, weight) pairs as ``uses``.

    A weight is the share of the name's occurrences that mean the topic. If the weights that the
    topics state for one name sum to more than 1, they are divided by the sum: a name of two topics
    weighs half for each.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        stated: dict[Words, dict[int, float]] = {}
        for number, topic in enumerate(topics):
            for name, weight in topic.names:
                key = tuple(words(name))
                if not key:
                    raise CitebedError(
                        f"the name '{name}' of '{topic.query_id}' has no letter or digit in it"
                    )
                uses = stated.setdefault(key, {})
                uses[number] = max(weight, uses.get(number, 0.0))
        self.names = list(stated)
        self.uses = [_shares(uses) for uses in stated.values()]
        self._by_first = _by_first_word(self.names)
        self._anchors = sorted({anchor for name in self.names for anchor in _anchors(name)})

    def mentions(self, text: str) -> list[int]:
        """Return the name number of each mention, in text order."""
        there = words(text)
        by_first = self._by_first
        if by_first.keys().isdisjoint(there):
            return []
        numbers: list[int] = []
        free = 0
        for place, word in enumerate(there):
            if place < free or word not in by_first:
                continue
            for name, number in by_first[word]:
                if tuple(there[place : place + len(name)]) == name:
                    numbers.append(number)
                    free = place + len(name)
                    break
        return numbers

    def candidates(self, table: pl.DataFrame) -> pl.DataFrame:
        """Select the rows that may mention a name, with ``row`` numbers; other texts are null."""
        anchors, texts = self._anchors, pl.col(TEXTS)
        hit = texts.str.contains_any(anchors, ascii_case_insensitive=True)
        marked = table.with_row_index("row").with_columns(pl.when(hit).then(texts))
        return marked.filter(pl.any_horizontal(texts.is_not_null()))

    def found(self, table: pl.DataFrame) -> Iterator[tuple[int, list[int]]]:
        """Yield the rows that mention a name, with their mentions in text order.

        A mention is twice the name's number, plus 1 if it is in the title.
        """
        for row, *texts in self.candidates(table).select("row", *TEXTS).iter_rows():
            mentions = [
                2 * name + (place == 0)
                for place, text in enumerate(texts)
                if text
                for name in self.mentions(text)
            ]
            if mentions:
                yield row, mentions

    def topics_of(self, mentions: Iterable[int]) -> set[int]:
        """Return the topics that these mentions (from ``found``) can mean."""
        return {topic for mention in mentions for topic, _ in self.uses[mention >> 1]}


def _shares(uses: dict[int, float]) -> tuple[tuple[int, float], ...]:
    total = max(1.0, sum(uses.values()))
    return tuple((topic, weight / total) for topic, weight in sorted(uses.items()))


def _by_first_word(names: list[Words]) -> dict[str, list[tuple[Words, int]]]:
    """Group names by their first word, the longest first."""
    by_word: dict[str, list[tuple[Words, int]]] = {}
    for number, name in enumerate(names):
        by_word.setdefault(name[0], []).append((name, number))
    for same in by_word.values():
        same.sort(key=lambda pair: -len(pair[0]))
    return by_word


# --- anchors --------------------------------------------------------------------------------


def _anchors(name: Words) -> set[str]:
    """Return strings such that every text with the name contains one of them.

    The anchor is the start of the name's longest run of ASCII letters. Characters that fold to
    ASCII ("ß", "ﬁ", the Kelvin sign) are anchors too, since a text may use them instead. A name
    without ASCII letters is anchored by its first two characters, in every way to write them, and
    by the marks that compose with a character before them.
    """
    runs = [run for word in name for run in _ASCII_RUN.findall(word)]
    if runs:
        return {max(runs, key=len)[:_LONGEST], *_fold_to_ascii()}
    start = name[0][:2]
    together = {c for c in _written(start[0]) if len(_folded(c)) > 1}
    return {*map("".join, product(*map(_written, start))), *together, *_composing()}


@cache
def _fold_to_ascii() -> tuple[str, ...]:
    """Return the non-ASCII characters whose folded form has an ASCII letter or digit."""
    return tuple(c for c in _changing() if _ASCII_RUN.search(_folded(c)))


@cache
def _written(folded: str) -> tuple[str, ...]:
    """Return a folded character and all characters whose folded form contains it."""
    return (folded, *(c for c in _changing() if folded in _folded(c)))


@cache
def _changing() -> tuple[str, ...]:
    """Return the non-ASCII characters that folding changes."""
    return tuple(c for c in map(chr, range(128, _LAST)) if _folded(c) != c)


@cache
def _composing() -> frozenset[str]:
    """Return the characters that composition (NFC) can join to the one before them."""
    decomposed = (unicodedata.normalize("NFD", chr(code)) for code in range(128, _LAST))
    return frozenset(c for text in decomposed for c in text[1:])


def _folded(character: str) -> str:
    return unicodedata.normalize("NFC", character).casefold()
