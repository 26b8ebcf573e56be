"""Subjects: whether a text is on a subject of a collection, by how rare its words are there.

The words of a document have some rarity among the other documents, with a mean and a spread. Those
of a text that is about something else are rarer, by more than chance would have it: a recipe has
few words of computing. Names are rare everywhere, and do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.models.bm25 import lucene_idf
from citebed.text.words import FUNCTION_WORDS

Numbers = NDArray[np.int64]
_TOGETHER = 7
"""Words of a text go together: more of them tell no more than so many drawn alone."""


class Rarity(NamedTuple):
    """How rare the words of documents are among the others: the mean (as inverse document
    frequency), and its standard deviation."""

    mean: float
    spread: float


class Subject:
    """What an index's documents are about, as far as the rarity of words tells it."""

    def __init__(self, index: Index) -> None:
        self._index = index
        # In how many documents each term is; that of number -1, which is in none, is the last.
        self._often = np.append(np.diff(index.offsets), 0)

    def strangeness(self, text: str) -> float:
        """How much rarer the words of a text are than those of documents, in standard errors; 0
        for one without words that tell."""
        rarities = self._rarity(self._often[self._words(text)])
        if not len(rarities) or not 0 < self.usual.spread < np.inf:
            return 0.0
        error = self.usual.spread / np.sqrt(min(len(rarities), _TOGETHER))
        return float((rarities.mean() - self.usual.mean) / error)

    def held(self, text: str, documents: Numbers) -> NDArray[np.float64]:
        """The share of a text's words, by their rarity, that each of documents has."""
        numbers = self._words(text)
        if not len(numbers):
            return np.zeros(len(documents))
        held = np.stack([np.isin(documents, self._holders(number)) for number in numbers])
        return np.average(held, axis=0, weights=self._rarity(self._often[numbers]))

    @cached_property
    def usual(self) -> Rarity:
        """The rarity of a document's words, its own document not counted."""
        weights = self._often.astype(np.float64)
        weights[self._numbers(FUNCTION_WORDS)] = 0
        if not weights.any():
            return Rarity(0.0, np.inf)
        rarities = self._rarity(np.maximum(self._often - 1, 0))
        mean = float(np.average(rarities, weights=weights))
        return Rarity(mean, float(np.sqrt(np.average((rarities - mean) ** 2, weights=weights))))

    def _words(self, text: str) -> Numbers:
        """The words of a text that hold no sentence together and are no names, as terms."""
        small = " ".join(word for word in text.split() if word.islower())
        words = {word for word in self._index.analyser.words(small) if len(word) > 1}
        return self._numbers(words - FUNCTION_WORDS)

    def _numbers(self, words: Iterable[str]) -> Numbers:
        """The numbers of the words' terms, each term once; -1 for each that is not there."""
        terms = {term for word in words if (term := self._index.analyser.term(word))}
        return np.array([self._index.term_number(term) for term in sorted(terms)], np.int64)

    def _rarity(self, often: Numbers) -> NDArray[np.float64]:
        return np.asarray(lucene_idf(often, len(self._index.ids)), np.float64)

    def _holders(self, number: int) -> Numbers:
        """The documents that have a term."""
        start = int(self._index.offsets[number]) if number >= 0 else 0
        return np.asarray(self._index.docs[start : start + int(self._often[number])], np.int64)
