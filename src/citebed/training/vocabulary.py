"""The words that get vectors, and the pieces that all other words are put together from."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase, digits

from citebed.errors import import_extra
from citebed.retrieval.vectors.static_model import CONTINUATION, WordPieces, can_be_split
from citebed.text.words import plain_words
from citebed.training.prepared import Form, TrainingTexts

_FREQUENT = 10_000
"""Words that are never cut."""


def texts_by_field(texts: TrainingTexts, fold: int) -> list[list[str]]:
    """All texts that words are counted in, by field: documents, and contexts to learn from."""
    found: dict[str, list[str]] = {}
    for place, document in enumerate(texts.documents):
        found.setdefault(document.field, []).append(texts.document_text(Form(place)))
    for each in texts.part("training", fold):
        found[texts.documents[each.cited[0]].field].append(each.text)
    return list(found.values())


def vocabulary(fields: Iterable[Sequence[str]]) -> list[str]:
    """All words, first those that stand in the most texts; of equals, the first in the alphabet.

    Texts come by field. A text counts the less the more texts its field has, by the square root:
    else the words of the larger field would leave no room.
    """
    counts: dict[str, float] = {}
    for texts in fields:
        found: Counter[str] = Counter()
        for text in texts:
            found.update(set(plain_words(text)))
        for word, times in found.items():
            counts[word] = counts.get(word, 0.0) + times / math.sqrt(len(texts))
    return sorted(counts, key=lambda word: (-counts[word], word))


def pieces_for(words: Sequence[str], known: int, most: int) -> list[str]:
    """Pieces that rare words are made of: all letters and digits, and what stands together most.

    ``words`` are all words, the most frequent first; beyond the first of them, each counts once.
    """
    if not most:
        return []
    tokenizers = import_extra("train", "tokenizers")
    rare = [word for word in words[min(_FREQUENT, known) :] if can_be_split(word)]
    alphabet = [*ascii_lowercase, *digits]
    model = tokenizers.Tokenizer(tokenizers.models.BPE(continuing_subword_prefix=CONTINUATION))
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=most,
        initial_alphabet=alphabet,
        continuing_subword_prefix=CONTINUATION,
        show_progress=False,
    )
    model.train_from_iterator(rare, trainer)
    letters = [mark + each for mark in ("", CONTINUATION) for each in alphabet]
    found = sorted(set(model.get_vocab()) - set(letters))
    return [*letters, *found][:most]


class WordIds:
    """The numbers of the vectors of words: known words first, then pieces of others."""

    def __init__(self, words: Sequence[str], pieces: Sequence[str]) -> None:
        self._cut = WordPieces(pieces, len(words))
        self._ids: dict[str, Sequence[int]] = {word: (at,) for at, word in enumerate(words)}
        self._cuts: dict[str, Sequence[int]] = {}

    def __call__(self, word: str) -> Sequence[int]:
        """The numbers of a word's vectors."""
        found = self._ids.get(word)
        return self._pieces(word) if found is None else found

    def sometimes_cut(self, share: float, rng: random.Random) -> Callable[[str], Sequence[int]]:
        """The same, but that words beyond the frequent ones are cut with a chance."""

        def ids_of(word: str) -> Sequence[int]:
            found = self._ids.get(word)
            if found is None:
                return self._pieces(word)
            if found[0] < _FREQUENT or rng.random() >= share:
                return found
            return self._pieces(word) or found

        return ids_of if share else self

    def _pieces(self, word: str) -> Sequence[int]:
        found = self._cuts.get(word)
        if found is None:
            found = self._cuts[word] = self._cut.split(word)
        return found
