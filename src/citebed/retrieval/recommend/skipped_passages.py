"""Skipped passages: which texts get no recommendation, and the notes that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citebed.drafts.prose import is_caption
from citebed.drafts.records import Passage, Place
from citebed.errors import CitebedError
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Query
from citebed.text.words import is_routine
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


class PassageSkipped(CitebedError):
    """A passage gets no recommendation; ``kind`` describes such passages.

    ``is_unsearchable`` if no word of it can be searched for.
    """

    def __init__(self, message: str, kind: str = "", *, is_unsearchable: bool = False) -> None:
        super().__init__(message)
        self.kind, self.is_unsearchable = kind or message, is_unsearchable


def check_passage(
    passage: Passage, query: Query, index: Index, min_probability: float | None
) -> None:
    """Raise `PassageSkipped` if a passage gets no recommendation, whatever it would find."""
    if passage.silent:
        raise PassageSkipped(passage.silent)
    if min_probability is None and is_caption(query.raw):
        raise PassageSkipped("caption")
    is_asked_for = min_probability is not None or passage.wanted or query.judged.moves
    if query.sentences and not is_asked_for and all(map(is_routine, query.sentences)):
        raise PassageSkipped(WITHOUT_NEED)
    if len(query.terms.ids) or len(query.named[0]):
        return
    words = [term for term in index.analyser.terms(query.text) if is_telling(term)]
    for has_words, what in (
        (bool(index.analyser.words(query.text)), "no words"),
        (bool(words), "only stop words"),
    ):
        if not has_words:
            message = f"the text has {what}. Give a sentence or a paragraph of prose."
            raise PassageSkipped(message, f"passage with {what}", is_unsearchable=True)
    # The sentences that cite a paper may have the words that its title lacks.
    if not (index.citing and any(index.term_number(term) >= 0 for term in words)):
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
