"""The analyser that fits a collection, and the query words that it finds in a text."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from citebed.collection import Collection
from citebed.errors import CollectionError, UnknownName
from citebed.retrieval.analysis import ANALYSERS, Analyser, analyser_of, is_telling
from citebed.retrieval.analysis.analysers import WITHOUT_BLANKS, languages
from citebed.retrieval.analysis.words import word_spans
from citebed.retrieval.index.layout import FOLDER, read_description
from citebed.text.languages import language_name, language_of
from citebed.text.words import function_words

AUTO = "auto"
"""The name that requests the fitting analyser."""
_ENGLISH = "english"
_SAMPLE = 400
_LEAST_SHARE = 0.02
"""A language counts if at least 2 % of the texts with a known language are in it."""
_CACHED_WORDS, _CACHED_QUERIES = 100_000, 1000


def choose_analyser(collection: Collection, name: str = AUTO) -> str:
    """Return the full name of an analyser; for ``auto``, of the one that fits a collection.

    Texts in English get ``english``, in another language its Snowball stemmer, in several languages
    all of these. Without a stemmer or a known language the analyser is ``english``.
    """
    if name.strip().lower() != AUTO:
        return str(analyser_of(name))
    codes = sample_languages(collection)
    known = {language_name(code).lower() for code in codes}
    known &= {*languages(), *WITHOUT_BLANKS}
    if known <= {_ENGLISH}:
        return _ENGLISH
    if len(known) == 1 and known.isdisjoint(WITHOUT_BLANKS):
        return str(analyser_of(f"snowball({known.pop()})"))
    if not known.isdisjoint(WITHOUT_BLANKS):  # among ideographs, Latin letters are mostly English
        known.add(_ENGLISH)
    return str(analyser_of(f"mixed({','.join(sorted(known))})"))


def sample_languages(collection: Collection) -> list[str]:
    """Return the language codes of a sample of a collection's texts, most frequent first."""
    columns = ("language", "title", "abstract")
    count = collection.document_count
    rows = collection.some_documents(range(0, count, max(1, count // _SAMPLE)), columns).iter_rows()
    codes = Counter(filter(None, (language_of(*row) for row in rows)))
    enough = _LEAST_SHARE * codes.total()
    return [code for code, number in codes.most_common() if number >= enough]


class QueryWords:
    """Finds the words of a query in a text, to highlight them.

    It compares terms, so that "ranking" finds "ranked". Function words ("from", "when") do not
    count: every text has them.
    """

    def __init__(self, analyser: Analyser) -> None:
        self._term = lru_cache(_CACHED_WORDS)(analyser.term)
        self._terms = lru_cache(_CACHED_QUERIES)(self._find_terms)

    def _find_terms(self, query: str) -> frozenset[str]:
        ignored = function_words(query)
        words = (word for word, _, _ in word_spans(query) if word.lower() not in ignored)
        terms = (self._term(word) for word in words)
        return frozenset(term for term in terms if term is not None and is_telling(term))

    def mark(self, text: str, query: str) -> list[tuple[str, bool]]:
        """Split a text into pieces, and return for each whether it is a word of the query."""
        wanted = self._terms(query)
        pieces, at = [], 0
        for word, start, end in word_spans(text) if wanted else ():
            if self._term(word) in wanted:
                pieces += [(text[at:start], False), (text[start:end], True)]
                at = end
        return [(piece, is_word) for piece, is_word in (*pieces, (text[at:], False)) if piece]


def query_words(collection: Collection) -> QueryWords:
    """Return query words under the analyser of a collection's index, or ``english`` without one."""
    try:
        return QueryWords(analyser_of(read_description(collection.folder / FOLDER).analyser))
    except (CollectionError, UnknownName):
        return QueryWords(ANALYSERS["english"])
