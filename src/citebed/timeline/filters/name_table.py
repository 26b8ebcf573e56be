"""Names of topics in texts: whole words in any case, the longest name first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.runs.tables import Floats
from citebed.text.regex import limit_combining_marks
from citebed.timeline.filters.topics import Topic, Vectors
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
    """The names of all topics, by number; ``uses`` has the topics of each with their weights.

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
        self._topics = len(topics)
        several = stated.values()
        shares = [use / max(1.0, sum(uses.values())) for uses in several for use in uses.values()]
        self.uses = Vectors(
            np.cumsum([0, *map(len, several)]),
            np.array([topic for uses in several for topic in uses], np.int64),
            np.array(shares, np.float64),
        )
        self._by_first: dict[str, list[tuple[Words, int]]] = {}  # by first word, the longest first
        for number, key in sorted(enumerate(self.names), key=lambda pair: -len(pair[1])):
            self._by_first.setdefault(key[0], []).append((key, number))
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

    def read(self, table: pl.DataFrame) -> Vectors:
        """Return the names that each row mentions, in text order."""
        sizes = np.zeros(table.height, np.int64)
        numbers: list[int] = []
        in_title: list[bool] = []
        for row, *texts in self.candidates(table).select("row", *TEXTS).iter_rows():
            for place, text in enumerate(texts):
                found = self.mentions(text) if text else []
                numbers += found
                in_title += [place == 0] * len(found)
                sizes[row] += len(found)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return Vectors(ends, np.array(numbers, np.int64), np.array(in_title, np.float64))

    def topics(self, mentions: Vectors, weights: Floats) -> Vectors:
        """Return the topics that each document mentions.

        Their values are the sums of the mentions' weights, each times the share of the topic.
        """
        uses = self.uses.take(mentions.numbers)
        mention = uses.places()
        keys = mentions.places()[mention] * self._topics + uses.numbers
        different, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, uses.values * weights[mention], different.size)
        places, topics = np.divmod(different, max(1, self._topics))
        ends = np.searchsorted(places, np.arange(len(mentions.ends)))
        return Vectors(ends, topics, np.asarray(sums, np.float64))


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
