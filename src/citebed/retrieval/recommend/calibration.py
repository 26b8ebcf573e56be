"""Calibration: the probabilities that users see, the end of a list, and the strength of a match.

Probabilities are shown only if they were calibrated for a collection of this size, a text of this
length, and its language. Otherwise a match is weak, fair or strong. Texts that probably need no
citation get no recommendation; for the others, the probabilities of documents are multiplied by the
citation need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.pipeline import Learned
from citebed.retrieval.query import Candidates
from citebed.retrieval.ranking.citation_need import (
    Background,
    NeedFeatures,
    WordRarity,
    compute_background,
    parse_background,
)
from citebed.retrieval.ranking.collection_weights import CALIBRATED_LANGUAGES, choose_language
from citebed.retrieval.ranking.features import Constants
from citebed.retrieval.ranking.ranker import NEED_FEATURES, shipped_ranker
from citebed.text.languages import language_of
from citebed.text.words import ENOUGH, FUNCTION_WORDS, plain_words, telling_words

_MIN_SHARED_TERMS, _SINGLE_TERM_PROBABILITY = 2, 0.1
"""A document that shares fewer terms with the text is at most this likely."""


class CitationNeed(NamedTuple):
    """The probability that a text needs a citation of the collection, the kind of text (below 0 for
    what papers say about themselves), and whether it is too low for recommendations."""

    probability: float
    kind: float = 1.0
    is_too_low: bool = False


class Calibration:
    """Calibrates the candidates of a runner; rankings that are not learned stay as they are."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._index = runner, runner.index
        self._is_learned = isinstance(runner.pipeline.stage, Learned)

    @cached_property
    def constants(self) -> Constants:
        """The constants of the ranking, or the shipped ones."""
        return self._runner.ranker.constants if self._is_learned else shipped_ranker().constants

    @cached_property
    def _need_features(self) -> NeedFeatures:
        return NeedFeatures(self._index, self._runner.ranker.citation_need)

    @cached_property
    def background(self) -> Background | None:
        """The features of everyday texts in this index."""
        stored = parse_background(self._index.description.background)
        return stored or compute_background(self._index)

    @cached_property
    def _rarity(self) -> WordRarity:
        return WordRarity(self._index)

    def citation_need(self, candidates: Candidates) -> CitationNeed:
        """Return the citation need of a text, whatever its filter.

        It is 1 if the user marked a paper as good, if the text is a few words without a sentence,
        and without a calibration.
        """
        query, best = candidates.query, candidates.best
        is_search = False
        if self.is_short(query.text):
            ends = query.text.rstrip().endswith((".", "!", "?"))
            is_search = not ends or FUNCTION_WORDS.isdisjoint(plain_words(query.text))
        is_calibrated = candidates.probabilities is not None and "static" in candidates.vectors
        if (
            not (self._is_learned and is_calibrated)
            or not len(candidates)
            or (best is None or self.background is None or is_search or query.judged.moves)
        ):
            return CitationNeed(1.0)
        row = self._need_features.compute(query.text, best, candidates.vectors["static"])
        model = self._runner.ranker.citation_need
        (probability,) = model.predict(self.background.standardise(row[None]))
        kind = float(row[list(NEED_FEATURES).index("kind")])
        return CitationNeed(float(probability), kind, bool(probability < model.min_probability))

    def calibrate(self, candidates: Candidates, need: CitationNeed) -> Candidates:
        """Return candidates with the probabilities that people see.

        They are higher in a collection with fewer documents than the training collection, lower for
        a low citation need, and at most 10 % for documents that share a single word.
        """
        learned = candidates.probabilities
        if learned is None or self.missing_probabilities(candidates.query.text):
            return candidates
        fewer = max(self._runner.ranker.training_documents / max(len(self._index.ids), 1), 1.0)
        odds = learned / np.maximum(1 - learned, 1e-9)
        odds = odds * fewer**self.constants.size_exponent
        probabilities = odds / (1 + odds) * need.probability
        if candidates.term_scores is not None:
            is_single = (candidates.term_scores > 0).sum(axis=1) < _MIN_SHARED_TERMS
            limited = np.minimum(probabilities, _SINGLE_TERM_PROBABILITY)
            probabilities = np.where(is_single, limited, probabilities)
        return replace(candidates, probabilities=probabilities)

    def missing_probabilities(self, text: str) -> str:
        """Return a note on why a text has no probabilities; empty if it has."""
        if not self._is_learned:
            return ""
        trained = self._runner.ranker.training_documents
        if not self._runner.ranker.has_probabilities:
            return (
                "no probabilities: the ranker was trained with other vectors. Train one with: "
                "citebed train ranker"
            )
        if len(self._index.ids) * self.constants.max_size_ratio < trained:
            needed = trained / self.constants.max_size_ratio
            rounded = round(needed, 2 - len(f"{needed:.0f}"))
            return (
                "no probabilities: this collection is too small for the calibration (it needs "
                f"about {rounded:,.0f} papers)"
            )
        if choose_language(self._index, _find_language(text)) not in CALIBRATED_LANGUAGES:
            return "no probabilities: they are calibrated for English texts only"
        if self.is_short(text):
            words = self.constants.short_text_words
            return f"no probabilities: the text has fewer than {words} content words"
        return ""

    def drop_unlikely(self, candidates: Candidates) -> Candidates:
        """Return candidates without unlikely ones, if probabilities are known."""
        if candidates.probabilities is None or not self._is_learned:
            return candidates
        if self.is_short(candidates.query.text):
            return candidates
        is_small = bool(self.missing_probabilities(candidates.query.text))
        least = self.constants.unlikely_if_small if is_small else self.constants.unlikely
        return candidates.take(np.flatnonzero(candidates.probabilities >= least))

    def require(self, candidates: Candidates, probability: float) -> Candidates:
        """Return candidates with at least this probability; all of them count as likely."""
        if probability and candidates.probabilities is None:
            raise CitebedError(
                "--min-probability needs a calibrated model. Remove it, or use --model "
                "bm25+learned."
            )
        if candidates.probabilities is not None:
            candidates = candidates.take(np.flatnonzero(candidates.probabilities >= probability))
        return replace(candidates, min_probability=0.0)

    def strengths(self, candidates: Candidates) -> list[str]:
        """Return how strong each match is if probabilities are missing, else nothing."""
        if not len(candidates) or not self.missing_probabilities(candidates.query.text):
            return []
        short = self.is_short(candidates.query.text)
        return [
            match_strength(self.constants, candidates.probability(row), share, is_short=short)
            for row, share in enumerate(self.word_shares(candidates).tolist())
        ]

    def word_shares(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return which share of a sentence's words each candidate has, by its best sentence."""
        texts: Sequence[str] = candidates.query.sentences or (candidates.query.text,)
        shares = [self._rarity.word_shares(text, candidates.docs) for text in texts]
        return np.asarray(np.max(shares, axis=0))

    def is_short(self, text: str) -> bool:
        """Return True if a text has only a few content words."""
        return _count_content_words(text) < self.constants.short_text_words


def match_strength(
    constants: Constants, probability: float | None, word_share: float, *, is_short: bool
) -> str:
    """Return ``weak``, ``fair`` or ``strong``, by the probability in a large collection and the
    share of words. Probabilities alone are too high outside the field they were learned in."""
    if word_share < constants.short_text_word_share and (is_short or probability is None):
        return "weak"
    if probability is None:
        return "fair"
    for strength, least, share in (
        ("strong", constants.strong_probability, constants.strong_word_share),
        ("fair", constants.fair_probability, constants.fair_word_share),
    ):
        if probability >= least and word_share >= share:
            return strength
    return "weak"


@lru_cache(8)
def _count_content_words(text: str) -> int:
    return len(telling_words(text))


@lru_cache(8)
def _find_language(text: str) -> str | None:
    return language_of(None, None, text[:ENOUGH])
