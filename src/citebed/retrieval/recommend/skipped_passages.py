"""Skipped passages: which texts get no recommendation, and the notes that say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from citebed.collection import Collection
from citebed.drafts.prose import is_caption
from citebed.drafts.records import Passage, Place
from citebed.errors import CitebedError
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.features import Constants
from citebed.text.languages import language_name, language_of
from citebed.text.words import ENOUGH, FUNCTION_WORDS_OF
from citebed.wording import count

WITHOUT_MATCH = "passage without a good match"
WITHOUT_NEED = "passage that needs no citation"
_WITHOUT_WORDS = "passage without a word in the index"
COMMAND_HINT = "; --min-probability 0 shows the best matches anyway"
"""The end of notes of the command line; a page has a button instead."""
_HINTS = {
    WITHOUT_MATCH: COMMAND_HINT,
    WITHOUT_NEED: COMMAND_HINT,
    _WITHOUT_WORDS: "; is it in another language, or on another subject?",
}
_SAMPLE = 500
_ENGLISH = ("we", "our", "from", "which", "can", "has", "have", "its", "between", "more")
"""Words of English abstracts that are not stop words, so that they are in the index."""


class PassageSkipped(CitebedError):
    """A passage gets no recommendation; ``kind`` describes such passages.

    ``is_unsearchable`` if no word of it can be searched for.
    """

    def __init__(self, message: str, kind: str = "", *, is_unsearchable: bool = False) -> None:
        super().__init__(message)
        self.kind, self.is_unsearchable = kind or message, is_unsearchable


def check_passage(
    passage: Passage,
    query: Query,
    index: Index,
    languages: CollectionLanguages,
    min_probability: float | None,
) -> None:
    """Raise `PassageSkipped` if a passage gets no recommendation, whatever it would find."""
    if passage.silent:
        raise PassageSkipped(passage.silent)
    if min_probability != 0 and (language := languages.find_foreign(passage.text)):
        raise PassageSkipped(f"passage in {language}")
    if min_probability is None and is_caption(query.raw):
        raise PassageSkipped("caption")
    if len(query.terms.ids):
        return
    for has_words, what in (
        (bool(index.analyser.words(query.text)), "no words"),
        (any(map(is_telling, index.analyser.terms(query.text))), "only stop words"),
    ):
        if not has_words:
            message = f"the text has {what}. Give a sentence or a paragraph of prose."
            kind = f"passage with {what}"
            raise PassageSkipped(message, kind, is_unsearchable=True)
    raise PassageSkipped(_WITHOUT_WORDS)


def skipped_notes(skipped: Iterable[tuple[str, Passage]]) -> list[str]:
    """Return a note for each kind of skipped passage, with their number and places.

    A kind is a noun with what follows it: ``caption``, ``passage in German``.
    """
    from citebed.drafts.parsed_draft import list_places

    kinds: dict[str, list[Passage]] = {}
    for kind, passage in skipped:
        kinds.setdefault(kind, []).append(passage)
    notes = []
    for kind, passages in kinds.items():
        plural = re.sub(r"^\w+|(?<=^heading or )\w+", r"\g<0>s", kind)
        counted = count(len(passages), kind, plural.replace("that needs", "that need"))
        where = list_places([Place(each.source, each.line, each.column) for each in passages])
        notes.append(f"skipped {counted} ({where}){_HINTS.get(kind, '')}")
    return notes


class CollectionLanguages:
    """The languages of a collection; texts in other languages match only by chance."""

    def __init__(self, collection: Collection, index: Index, constants: Constants) -> None:
        self._collection, self._index, self._constants = collection, index, constants

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes of the languages, from a sample of titles; empty if they are unknown."""
        table = self._collection.scan_documents().select("language", "title").collect()
        sample = table.gather_every(max(1, table.height // _SAMPLE))
        counts: Counter[str] = Counter()
        for stated, title in sample.iter_rows():
            code = None
            if stated or not (title or "").isascii():
                code = language_of(stated, title or "", None)
            else:  # by a few function words
                words = (title or "").lower().split()
                hits = {
                    name: sum(word in own for word in words)
                    for name, own in FUNCTION_WORDS_OF.items()
                }
                (best, most), (_, second) = Counter(hits).most_common(2)
                code = best if most > second else None
            counts.update([code] if code else [])
        enough = self._constants.min_language_share * counts.total()
        return frozenset(code for code, number in counts.items() if number >= enough)

    @cached_property
    def _has_english(self) -> bool:
        """True if the index has many English words, which is faster to see than titles."""
        found = sum(map(self._index.document_frequency, _ENGLISH))
        return found > self._constants.min_english_share * len(self._index.ids)

    def find_foreign(self, text: str) -> str:
        """Return the name of a text's language if the collection does not have it, or ``""``."""
        text, constants = text[:ENOUGH], self._constants
        code = language_of(None, None, text)
        if (code == "en" and self._has_english) or code in self.codes:
            return ""
        known = [FUNCTION_WORDS_OF[each] for each in self.codes if each in FUNCTION_WORDS_OF]
        native, words = frozenset().union(*known), self._index.analyser.words(text)
        share = sum(word in native for word in words) / max(len(words), 1)
        is_named = code is not None
        least = constants.min_native_share if is_named else constants.min_native_share_if_unknown
        if not native or share >= least:
            return ""
        if code is not None:
            return language_name(code)
        known_words = sum(self._index.document_frequency(word) > 0 for word in words)
        is_long = len(set(words)) >= constants.min_foreign_words
        is_strange = known_words < constants.min_known_share * len(words)
        return "another language" if is_long and is_strange else ""
