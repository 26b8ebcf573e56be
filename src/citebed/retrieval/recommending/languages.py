"""Whether a text is in a language that a collection has: if not, what it finds is chance."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from citebed.collection import Collection
from citebed.retrieval.index.index import Index
from citebed.retrieval.learned.constants import Constants
from citebed.retrieval.learned.ranker import shipped_ranker
from citebed.text.languages import SMALL_WORDS, language_name, language_of
from citebed.text.words import FUNCTION_WORDS, PREFIXES

_WORDS = {**SMALL_WORDS, "en": FUNCTION_WORDS}
_ENOUGH = 5000
"""So many characters tell the language of a text."""
_SAMPLE = 500
# No stop words of the analyser, so that they are in the index; an English abstract has several.
_ENGLISH = ("we", "our", "from", "which", "can", "has", "have", "its", "between", "more")


def function_words(text: str) -> frozenset[str]:
    """The function words of a text's language (English where that is not known), and prefixes."""
    return _WORDS.get(language_of(None, None, text[:_ENOUGH]) or "", FUNCTION_WORDS) | PREFIXES


class Languages:
    """The languages of a collection."""

    def __init__(
        self, collection: Collection, index: Index, constants: Constants | None = None
    ) -> None:
        self._collection, self._index = collection, index
        self._constants = constants or shipped_ranker().constants

    def foreign(self, text: str) -> str:
        """The name of the language of a text that the collection does not have, else nothing."""
        text = text[:_ENOUGH]
        code = language_of(None, None, text)
        if (code == "en" and self._shows_english) or code in self.codes:
            return ""
        ours = frozenset().union(*(_WORDS[known] for known in self.codes if known in _WORDS))
        words = self._index.analyser.words(text)
        share = sum(word in ours for word in words) / max(len(words), 1)
        least = self._constants.hardly_own_words if code is None else self._constants.own_words
        if not ours or share >= least:
            return ""
        if code is not None:
            return language_name(code)
        is_known = [self._index.document_frequency(word) > 0 for word in words]
        enough = len(set(words)) >= self._constants.foreign_words
        strange = sum(is_known) < self._constants.known_words * len(words)
        return "another language" if enough and strange else ""

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes of its languages, by a sample of its titles; none where these do not tell."""
        titles = self._collection.scan_documents().select("language", "title").collect()
        rows = titles.gather_every(max(1, titles.height // _SAMPLE)).iter_rows()
        found = Counter(filter(None, (_language_of(stated, title or "") for stated, title in rows)))
        enough = self._constants.language_share * found.total()
        return frozenset(code for code, many in found.items() if many >= enough)

    @cached_property
    def _shows_english(self) -> bool:
        """Whether the index tells that much of the collection is English: sooner than titles."""
        seen = sum(map(self._index.document_frequency, _ENGLISH))
        return seen > self._constants.english_share * len(self._index.ids)


def _language_of(stated: str | None, title: str) -> str | None:
    """The language of a title: as stated, by its script, or by very few small words."""
    if stated or not title.isascii():
        return language_of(stated, title, None)
    words = title.lower().split()
    many = Counter({code: sum(word in own for word in words) for code, own in _WORDS.items()})
    (best, most), (_, second) = many.most_common(2)
    return best if most > second else None
