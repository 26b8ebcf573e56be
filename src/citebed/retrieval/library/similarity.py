"""Similar documents: what is near some documents by their vectors and by their content words.

Both count the same. Similarity by words is a share of the best document's score, similarity by
vectors the cosine to the mean of the given documents, which are left out themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from citebed.collection import Collection
from citebed.collection.tables import DOCUMENTS
from citebed.records import Document
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.library.catalogue import COLUMNS, Catalogue
from citebed.retrieval.memory import LruCache
from citebed.retrieval.query import Docs
from citebed.retrieval.search.searcher import NOTHING, Hits, Searcher
from citebed.retrieval.vectors.vectors import DocumentVectors, unit_rows

_QUERY_TERMS = 25
"""Terms of a document to search with."""
_WHOLE_TEXTS = 8
"""Number of documents that are read completely; citebed reads only the titles of the others."""
_CANDIDATES = 200
_WORD_WEIGHT = 0.5
_CACHED_RECORDS = 512
_EXTRA = tuple(name for name in Document._fields if name in DOCUMENTS and name not in COLUMNS)
"""The fields of a document that the catalogue does not have."""


class SimilarityIndex:
    """A collection's documents, ready to be compared."""

    def __init__(self, collection: Collection, catalogue: Catalogue, searcher: Searcher) -> None:
        self._collection, self._catalogue, self._searcher = collection, catalogue, searcher
        self._records: LruCache[int, dict[str, Any]] = LruCache(_CACHED_RECORDS)

    @cached_property
    def vectors(self) -> DocumentVectors | None:
        """The documents' word vectors, if any."""
        vectors = self._searcher.index.vectors("static")
        if vectors is not None:
            vectors.prepare()
        return vectors

    def records(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return the complete records of documents; the last ones are cached."""

        def read(missing: list[int]) -> Iterator[dict[str, Any]]:
            rows = self._catalogue.rows(missing)
            more = self._collection.documents_at([row["row"] for row in rows], _EXTRA).to_dicts()
            return ({**row, **extra} for row, extra in zip(rows, more, strict=True))

        return self._records.get_many(numbers, read)

    def find(self, numbers: Sequence[int], k: int) -> Hits:
        """Return the ``k`` documents that are most similar to these, best first (0 to 1)."""
        given = np.array(sorted(set(numbers)), np.int64)
        if not len(given) or k < 1:
            return NOTHING
        depth = max(k, _CANDIDATES)
        query = self._searcher.query(" ".join(self._query_words(given)), keep=bool)
        hits = self._searcher.search(query, depth, excluded=given)
        docs = hits.docs
        if self.vectors is not None:
            mean = unit_rows(self.vectors.decode(given).mean(axis=0, keepdims=True))
            near = self.vectors.compare(mean).top(0, depth + len(given))
            docs = np.union1d(docs, near)
        docs = np.unique(docs)
        docs = docs[~np.isin(docs, given) & self._catalogue.present[docs]]
        scores, own = np.zeros(len(docs)), np.isin(hits.docs, docs)
        best = hits.scores.max(initial=0.0)
        shares = np.clip(hits.scores / best, 0, 1) if best > 0 else np.zeros(len(hits.docs))
        scores[np.searchsorted(docs, hits.docs[own])] = shares[own]
        if self.vectors is not None:
            cosines = np.clip(self.vectors.decode(docs) @ mean[0], 0, 1)
            scores = _WORD_WEIGHT * scores + (1 - _WORD_WEIGHT) * cosines
        order = np.lexsort((-docs, -scores))[:k]
        return Hits(docs[order], scores[order])

    def _query_words(self, given: Docs) -> list[str]:
        """Return the most specific words of documents, as often as they occur."""
        index, numbers = self._searcher.index, given.tolist()
        whole = self.records(numbers[:_WHOLE_TEXTS])
        rows = [*whole, *self._catalogue.rows(numbers[_WHOLE_TEXTS:])]
        counts: Counter[str] = Counter()
        spelled: dict[str, str] = {}
        for row in rows:
            text = row["title"] or ""
            if "abstract" in row:
                text = " ".join((text, row["abstract"] or "", *(row["keywords"] or ())))
            for word in index.analyser.words(text):
                term = index.analyser.term(word)
                if term is not None and is_telling(term) and index.term_number(term) >= 0:
                    counts[term] += 1
                    spelled.setdefault(term, word)
        worth = {
            term: times * np.log(len(index.ids) / max(index.document_frequency(spelled[term]), 1))
            for term, times in counts.items()
        }
        best = sorted(worth, key=lambda term: (-worth[term], term))[:_QUERY_TERMS]
        return [spelled[term] for term in best for _ in range(counts[term])]
