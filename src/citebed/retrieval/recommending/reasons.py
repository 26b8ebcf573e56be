"""Why a document was found: the words of the text that asked for it, and in which sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index

_MOST = 6


class Reason(NamedTuple):
    """The telling words, strongest first, and the number of the sentence that asked most.

    There is no sentence where only feedback's terms asked.
    """

    words: tuple[str, ...]
    sentence: int | None


class Reasons:
    """What the terms of one question are in the words of its text.

    ``passed`` are words that give no reason, such as "which". A term that feedback added is
    spelled as the documents that were found have it, never as a stem.
    """

    def __init__(
        self, index: Index, ids: NDArray[np.int64], sentences: Sequence[str], passed: frozenset[str]
    ) -> None:
        self._index = index
        self._at = {number: at for at, number in enumerate(ids.tolist())}
        self._spelled: dict[int, str] = {}
        found: list[tuple[int, int]] = []
        for number, sentence in enumerate(sentences):
            for at, word in self._read(sentence):
                found.append((at, number))
                self._spelled.setdefault(at, word)
        self._terms, self._places = np.array(found, np.int64).reshape(-1, 2).T
        # A term's share goes to the sentences that have it, in parts.
        self._often = np.bincount(self._terms, minlength=len(ids))[self._terms]
        self._passed, self._telling = passed, np.ones(len(ids), bool)
        self._pass()

    def _pass(self) -> None:
        passed = [at for at, word in self._spelled.items() if word in self._passed]
        self._telling[passed] = False

    def _read(self, text: str) -> Iterable[tuple[int, str]]:
        """The terms of a text that are the question's, and the words that they are there."""
        analyser = self._index.analyser
        for word in analyser.words(text):
            at = self._at.get(self._index.term_number(analyser.term(word) or ""), -1)
            if at >= 0:
                yield at, word

    def unspelled(self, shares: NDArray[np.float64]) -> bool:
        """Whether a word is missing of a term among the best reasons for some document."""
        if len(self._spelled) == len(self._at):  # as always without feedback
            return False
        return any(at not in self._spelled for row in shares for at in self._best(row))

    def spell(self, texts: Iterable[str]) -> None:
        """Take the words of feedback's terms from what the documents say."""
        for text in texts:
            for at, word in self._read(text):
                self._spelled.setdefault(at, word)
        self._pass()

    def _best(self, shares: NDArray[np.float64]) -> list[int]:
        telling = shares * self._telling
        order = np.argsort(-telling, kind="stable")[:_MOST]
        return [int(at) for at in order if telling[at] > 0]

    def why(self, shares: NDArray[np.float64]) -> Reason | None:
        """The reason for a document, by the terms' shares in its score; ``None`` where nothing but
        words that give no reason asked for it."""
        best = self._best(shares)
        if not best and (shares > 0).any():
            return None
        words = dict.fromkeys(self._spelled[at] for at in best if at in self._spelled)
        parts = (shares * self._telling)[self._terms] / self._often
        sums = np.bincount(self._places, weights=parts)
        asked = int(sums.argmax()) if sums.max(initial=0.0) > 0 else None
        return Reason(tuple(words), asked)
