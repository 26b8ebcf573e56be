"""The words that get vectors, and the pieces of all other words; without PyTorch."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase, digits

from citebed.errors import import_extra
from citebed.retrieval.vectors.static_model import CONTINUATION, WordPieces, can_be_split
from citebed.text.words import plain_words
from citebed.training.texts import Form, TrainingTexts

_FREQUENT = 10_000
"""The most frequent words, which are never split into pieces."""


def count_words(texts: TrainingTexts, fold: int) -> list[str]:
    """Return all words of documents and training contexts, most frequent first, then by alphabet.

    The weight of a text falls with the square root of the number of texts in its field, so that the
    words of a large field leave room for the words of a small one.
    """
    by_field: dict[str, list[str]] = {}
    for place, document in enumerate(texts.documents):
        by_field.setdefault(document.field, []).append(texts.document_text(Form(place)))
    for context in texts.part("training", fold):
        by_field[texts.documents[context.cited[0]].field].append(context.text)
    counts: dict[str, float] = {}
    for own in by_field.values():
        numbers: Counter[str] = Counter()
        for text in own:
            numbers.update(set(plain_words(text)))
        for word, number in numbers.items():
            counts[word] = counts.get(word, 0.0) + number / math.sqrt(len(own))
    return sorted(counts, key=lambda word: (-counts[word], word))


def choose_pieces(words: Sequence[str], known: int, most: int) -> list[str]:
    """Return pieces of rare words: all letters and digits, and the most frequent combinations.

    ``words`` are all words, most frequent first; each word after the frequent ones counts once.
    """
    if not most:
        return []
    tokenizers = import_extra("torch", "tokenizers")
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
    return [*letters, *sorted(set(model.get_vocab()) - set(letters))][:most]


class WordIds:
    """The numbers of a word's vectors: known words come first, then pieces of others.

    With a ``share``, words after the frequent ones are split into pieces that often, at random.
    """

    def __init__(
        self,
        words: Sequence[str],
        pieces: Sequence[str],
        share: float = 0.0,
        rng: random.Random | None = None,
    ) -> None:
        self._pieces = WordPieces(pieces, len(words))
        self._ids: dict[str, Sequence[int]] = {word: (at,) for at, word in enumerate(words)}
        self._split: dict[str, Sequence[int]] = {}
        self._share, self._rng = share, rng

    def __call__(self, word: str) -> Sequence[int]:
        """Return the numbers of a word's vectors."""
        known, rng = self._ids.get(word), self._rng
        may_split = rng is not None and self._share and known and known[0] >= _FREQUENT
        if known is not None and not (may_split and rng and rng.random() < self._share):
            return known
        if word not in self._split:
            self._split[word] = self._pieces.split(word)
        return self._split[word] or known or []
