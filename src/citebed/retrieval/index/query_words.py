"""Marking the words of a query in a text, as an index takes words."""

from __future__ import annotations

from functools import lru_cache

from citebed.collection import Collection
from citebed.errors import CollectionError, UnknownName
from citebed.retrieval.analysis import ANALYSERS, Analyser, analyser_of, is_telling
from citebed.retrieval.analysis.words import word_spans
from citebed.retrieval.index.layout import FOLDER, read_description
from citebed.text.words import FUNCTION_WORDS

_MOST_WORDS = 100_000


class QueryWords:
    """The words of a query in a text, for readers to see at a glance.

    They are found by their terms, so that "ranked" is found for "ranking". Words that stand in
    every text ("from", "when") say nothing of two texts that have them.
    """

    def __init__(self, analyser: Analyser) -> None:
        self._term = lru_cache(_MOST_WORDS)(analyser.term)
        self._terms = lru_cache(1000)(self._terms_of)

    def _terms_of(self, query: str) -> frozenset[str]:
        words = (word for word, _, _ in word_spans(query) if word.lower() not in FUNCTION_WORDS)
        terms = (self._term(word) for word in words)
        return frozenset(term for term in terms if term is not None and is_telling(term))

    def marked(self, text: str, query: str) -> list[tuple[str, bool]]:
        """A text in pieces, and whether each is a word of the query."""
        wanted = self._terms(query)
        pieces, at = [], 0
        for word, start, end in word_spans(text) if wanted else ():
            if self._term(word) in wanted:
                pieces += [(text[at:start], False), (text[start:end], True)]
                at = end
        return [(piece, is_word) for piece, is_word in (*pieces, (text[at:], False)) if piece]


def query_words(collection: Collection) -> QueryWords:
    """As the collection's index takes words; where it has none that can be read, as English.

    Nothing but what is marked depends on it, and nobody is sent away for it.
    """
    try:
        return QueryWords(analyser_of(read_description(collection.folder / FOLDER).analyser))
    except (CollectionError, UnknownName):
        return QueryWords(ANALYSERS["english"])
