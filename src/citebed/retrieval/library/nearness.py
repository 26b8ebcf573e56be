"""Papers like these: what is near documents by their vectors and by their telling words.

Both count alike. A similarity by words is a share of what the best document has, one by vectors is
the cosine; documents are compared with the mean of those given, which are left out themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.tables import DOCUMENTS
from citebed.records import Document
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.library.catalogue import KNOWN_COLUMNS, Catalogue
from citebed.retrieval.search.searcher import NOTHING, Hits, Searcher
from citebed.retrieval.vectors.vectors import Docs, DocumentVectors, unit_rows

_TELLING_TERMS = 25
"""So many terms of a document look for others like it."""
_READ_WHOLE = 8
"""Of more documents than these, the rest is known by their titles."""
_CANDIDATES = 200
_BY_WORDS = 0.5
_KEPT = 512
_READ = tuple(name for name in Document._fields if name in DOCUMENTS and name not in KNOWN_COLUMNS)
"""What is read of a document that the catalogue does not have."""

Rows = dict[int, dict[str, Any]]


class Nearness:
    """A collection's documents, ready to be compared."""

    def __init__(self, collection: Collection, catalogue: Catalogue, searcher: Searcher) -> None:
        self._collection, self._catalogue, self._searcher = collection, catalogue, searcher
        self._rows: Rows = {}

    @cached_property
    def vectors(self) -> DocumentVectors | None:
        """The documents' vectors, if there are any."""
        found = self._searcher.index.vectors("static")
        if found is not None:
            found.prepare()
        return found

    def records(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """The whole rows of some documents; the last ones are remembered."""
        known = self._rows  # another thread may begin anew with none
        missing = [number for number in dict.fromkeys(numbers) if number not in known]
        if missing:
            if len(known) + len(missing) > _KEPT:
                known, missing = {}, list(dict.fromkeys(numbers))
            known = dict(known)
            cards = self._catalogue.cards(missing)
            read = self._collection.documents_at([card["row"] for card in cards], _READ)
            for number, card, row in zip(missing, cards, read.to_dicts(), strict=True):
                known[number] = {**card, **row}
            self._rows = known
        return [known[number] for number in numbers]

    def _texts(self, numbers: Sequence[int]) -> list[str]:
        """What documents say: title, abstract, keywords."""
        known = self._rows
        if all(number in known for number in numbers):
            return [_text(known[number]) for number in numbers]
        cards = self._catalogue.cards(numbers)
        rows = [card["row"] for card in cards[:_READ_WHOLE]]
        read = self._collection.documents_at(rows, ("abstract", "keywords")).to_dicts()
        whole = [{**card, **row} for card, row in zip(cards, read, strict=False)]
        return [*map(_text, whole), *(card["title"] for card in cards[_READ_WHOLE:])]

    def like(self, numbers: Sequence[int], k: int) -> Hits:
        """The ``k`` documents that are most like these, and how like (0 to 1), best first."""
        given = np.array(sorted(set(numbers)), np.int64)
        if not len(given) or k < 1:
            return NOTHING
        words = self._by_words(given, k)
        near = self._by_vectors(given, k)
        docs = np.union1d(words.docs, near)
        docs = docs[~np.isin(docs, given) & self._catalogue.there[docs]]
        scores, own = np.zeros(len(docs)), np.isin(words.docs, docs)
        scores[np.searchsorted(docs, words.docs[own])] = _shares(words.scores)[own]
        if self.vectors is not None:
            mean = unit_rows(self.vectors.decode(given).mean(axis=0, keepdims=True))
            cosines = np.clip(self.vectors.decode(docs) @ mean[0], 0, 1)
            scores = _BY_WORDS * scores + (1 - _BY_WORDS) * cosines
        order = np.lexsort((-docs, -scores))[:k]
        return Hits(docs[order], scores[order])

    def _by_words(self, given: Docs, k: int) -> Hits:
        """The best by the most telling terms of documents."""
        searcher = self._searcher
        query = searcher.query(" ".join(self._telling(given)), keep=bool)
        return searcher.search(query, max(k, _CANDIDATES), excluded=given)

    def _telling(self, given: Docs) -> list[str]:
        """The words of documents that tell most, as often as they have them."""
        index, texts = self._searcher.index, self._texts(given.tolist())
        counts: Counter[str] = Counter()
        spelled: dict[str, str] = {}
        for word in (word for text in texts for word in index.analyser.words(text)):
            term = index.analyser.term(word)
            if term is not None and is_telling(term) and index.term_number(term) >= 0:
                counts[term] += 1
                spelled.setdefault(term, word)
        number = len(index.ids)
        worth = {
            term: times * np.log(number / max(index.document_frequency(spelled[term]), 1))
            for term, times in counts.items()
        }
        best = sorted(worth, key=lambda term: (-worth[term], term))[:_TELLING_TERMS]
        return [spelled[term] for term in best for _ in range(counts[term])]

    def _by_vectors(self, given: Docs, k: int) -> Docs:
        if self.vectors is None:
            return NOTHING.docs
        mean = unit_rows(self.vectors.decode(given).mean(axis=0, keepdims=True))
        return self.vectors.compare(mean).top(0, max(k, _CANDIDATES) + len(given))


def _text(row: dict[str, Any]) -> str:
    return " ".join((row["title"] or "", row["abstract"] or "", *(row["keywords"] or ())))


def _shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    most = scores.max(initial=0.0)
    return np.clip(scores / most, 0, 1) if most > 0 else np.zeros(len(scores))
