"""Surface names: a document is relevant if it mentions the topic by an unambiguous name.

After CWI's runs at TREC KBA 2012 (``google_dic``), which took the probability that a name means an
entity from a dictionary: here the topics file is the dictionary, and gives the weight of a name if
it is known.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.runs.tables import Ints
from citebed.runs.writer import FilterLine
from citebed.text.regex import limit_combining_marks
from citebed.timeline.filters.topics import (
    RELEVANT,
    DocumentFeatures,
    Filter,
    FilterContext,
    LearningDocuments,
    Skipped,
    State,
    TermStatistics,
    Topic,
    confidence,
    no_terms,
)
from citebed.timeline.streams.stream_files import TEXTS

PRIOR = 1000
"""Imaginary documents without names before the stream, so that no name is common at its start."""


@dataclass(frozen=True)
class Names(Filter):
    """Mentions of a topic's names, each weighed by how surely it means the topic.

    The evidence ``x`` is the sum over mentions of P(topic | name) · c(name), a mention in the
    title counting ``title`` times; the confidence is 1000 · x / (x + half), so one sure mention
    gives 500. A name is a common word if more than a share ``common`` of the documents before
    had it: c(name) = min(1, common · (N + 1000) / df), with df of the N documents seen before
    having the name. Documents without a mention are not returned.
    """

    name: ClassVar[str] = "names"
    block: ClassVar[int] = 1 << 24
    half: float = 1.0
    title: float = 2.0
    common: float = 0.01

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> NameFiltering:  # noqa: ARG002
        """Begin with a stream."""
        return NameFiltering(self, topics)


class NameFiltering:
    """A running name filter that counts the documents so far with each name."""

    def __init__(self, declared: Names, topics: Sequence[Topic]) -> None:
        self._declared = declared
        self._ids = [topic.query_id for topic in topics]
        self.names = NameTable(topics)
        self._df: NDArray[np.int64] = np.zeros(len(self.names.names), np.int64)

    def read(self, table: pl.DataFrame) -> DocumentFeatures:
        """Extract the documents that mention a name."""
        found = dict(self.names.found(table))
        there = table.select("doc_id", "time")[list(found)]
        rows: Ints = np.array(list(found), np.int64)
        mentions = dict(enumerate(found.values()))
        times = there["time"].to_numpy()
        return DocumentFeatures(rows, there["doc_id"], times, mentions, no_terms(len(rows)))

    def take(self, first: int, reads: DocumentFeatures) -> list[FilterLine]:
        """Return the lines for these documents."""
        half = self._declared.half
        ids, times, names = self._ids, reads.times.tolist(), reads.names.to_list()
        return [
            FilterLine(ids[topic], names[place], times[place], sure, RELEVANT, True)
            for place, evidence in self.evidence(first, reads).items()
            for topic, x in sorted(evidence.items())
            for sure in [confidence(x / (x + half) if x else 0.0)]
        ]

    def evidence(self, first: int, reads: DocumentFeatures) -> dict[int, dict[int, float]]:
        """Return the evidence for each topic, and count the documents' names.

        ``first`` is the number of documents before their batch.
        """
        found = {}
        for place, mentions in reads.mentions.items():
            df = {mention >> 1: int(self._df[mention >> 1]) for mention in mentions}
            for name in df:
                self._df[name] += 1
            found[place] = self._weighed(mentions, first + int(reads.rows[place]), df)
        return found

    def evidence_of(self, first: int, told: LearningDocuments) -> dict[int, dict[int, float]]:
        """Return the evidence in documents of a skipped part, without counting."""
        found = {}
        for place, mentions in told.reads.mentions.items():
            counted = zip(mentions, told.names[place].tolist(), strict=True)
            df = {mention >> 1: int(self._df[mention >> 1]) + more for mention, more in counted}
            found[place] = self._weighed(mentions, first + int(told.reads.rows[place]), df)
        return found

    def _weighed(
        self, mentions: Sequence[int], before: int, df: Mapping[int, int]
    ) -> dict[int, float]:
        evidence: dict[int, float] = {}
        for mention in mentions:
            name, in_title = divmod(mention, 2)
            common, rarity = self._declared.common, 1.0
            if df[name] and common:
                rarity = min(1.0, common * (before + PRIOR) / df[name])
            weight = rarity * (self._declared.title if in_title else 1.0)
            for topic, share in self.names.uses[name]:
                evidence[topic] = evidence.get(topic, 0.0) + share * weight
        return evidence

    def tally(self) -> TermStatistics:
        """Return empty document counts of names."""
        return TermStatistics(len(self.names.names))

    def skip(self, part: Skipped) -> None:
        """Count the names of a part."""
        self.count(part.tally)

    def count(self, tally: TermStatistics) -> None:
        """Count the names of many documents."""
        self._df += tally.names

    def judged(self, reads: DocumentFeatures) -> Collection[int]:  # noqa: ARG002
        """Return nothing: names do not learn from judgements."""
        return ()

    def unmet(self) -> list[str]:
        """Return nothing: names do not learn from judgements."""
        return []

    def state(self) -> State:
        """Return the counts of names."""
        return {"df": self._df.copy()}

    def restore(self, state: State) -> None:
        """Continue from a state."""
        self._df = state["df"].astype(np.int64)


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
