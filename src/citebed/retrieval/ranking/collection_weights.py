"""Collection weights: how much word vectors and citation counts count in one collection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Candidates
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import Level, shipped_ranker
from citebed.text.languages import is_language, language_code

Reals = NDArray[np.float64]
WORD_SIGNALS = ("bm25", "bm25_sentence")
VECTOR_SIGNALS = ("static", "static_sentence")
_TEXT_SIGNALS = (*WORD_SIGNALS, *VECTOR_SIGNALS, "encoder", "encoder_sentence")
CITATION_SIGNALS = ("cited", "lately", "authors")
CALIBRATED_LANGUAGES = (None, "en")
"""Word vectors and probabilities were learned from English; ``None`` is an unknown language."""
NDCG_DEPTH = 10
MIN_DOCUMENTS = 20
"""Smaller collections teach nothing."""
_MAX_NUMBER = 1 << 32


@dataclass(frozen=True)
class CollectionWeights:
    """Weights that were fitted to a collection, as ``index.json`` stores them.

    ``static`` is the weight of word vectors as a share of the ranker's, for English texts and
    unknown languages; ``languages`` has those for others, by code. They were learned from so many
    ``sentences`` of a collection of so many ``documents``, with terms of an ``analyser`` and the
    vectors with this ``fingerprint``; 0 documents means that fitting is switched off. ``bm25``,
    ``shipped`` and ``fitted`` are nDCG@10 on these sentences. ``tuned`` is the number of queries
    that ``citebed tune`` used, of the query sets ``sets`` (with commas). ``fame`` is the weight of
    citation counts as a share of the ranker's, which only tuning changes.
    """

    sentences: int
    documents: int
    static: float
    fingerprint: str
    bm25: float = 0.0
    shipped: float = 0.0
    fitted: float = 0.0
    tuned: int = 0
    sets: str = ""
    languages: Mapping[str, float] = field(default_factory=dict)
    analyser: str = "english"
    fame: float = 1.0

    def share(self, language: str | None = None) -> float:
        """Return the weight of word vectors for texts in a language, as a share of the ranker's.

        In a language that the collection did not teach they do not count.
        """
        if language in CALIBRATED_LANGUAGES or not self.documents:
            return self.static
        return self.languages.get(language or "", 0.0)

    def with_share(self, language: str | None, share: float) -> CollectionWeights:
        """Return weights with another share for texts in a language."""
        if language in CALIBRATED_LANGUAGES:
            return replace(self, static=share)
        return replace(self, languages={**self.languages, language or "": share})

    def words_share(self, language: str | None = None) -> float:
        """Return the share of words in the weight of words and word vectors together."""
        weights = apply_weights(shipped_ranker().levels["static"], self, language).weights
        words, vectors = (
            float(weights[columns(names)].sum()) for names in (WORD_SIGNALS, VECTOR_SIGNALS)
        )
        return words / (words + vectors)


def read_weights(index: Index) -> CollectionWeights | None:
    """Return the weights that an index stores, or ``None`` if it has none that are valid."""
    return parse_weights(index.description.fit)


def parse_weights(values: Mapping[str, Any]) -> CollectionWeights | None:
    """Return weights of their stored values, or ``None`` if these are invalid."""

    def is_number(value: object) -> bool:
        return isinstance(value, int | float) and 0 <= value < _MAX_NUMBER

    try:
        weights = CollectionWeights(**values) if values else None
    except TypeError:
        return None
    for name, value in asdict(weights).items() if weights else ():
        if name in ("fingerprint", "sets", "analyser"):
            is_valid = isinstance(value, str)
        elif name == "languages":
            is_valid = isinstance(value, dict) and all(
                isinstance(code, str) and is_number(share) for code, share in value.items()
            )
        else:
            is_valid = is_number(value)
        if not is_valid:
            return None
    return weights


def choose_language(index: Index, language: str | None) -> str | None:
    """Return a text's language; if unknown, the index's language unless it is English."""
    if language is not None:
        return language
    of_index = re.fullmatch(r"snowball\((\w+)\)", index.description.analyser)
    code = language_code(of_index[1]) if of_index else None
    return code if code and is_language(code) else None


def apply_weights(level: Level, own: CollectionWeights, language: str | None = None) -> Level:
    """Return a level with a collection's weights, for texts in a language.

    The sum of the text signals' weights stays, so that other signals keep their share and
    probabilities their meaning.
    """
    weights = level.weights.copy()
    texts = columns(_TEXT_SIGNALS)
    before = float(weights[texts].sum())
    weights[columns(VECTOR_SIGNALS)] *= own.share(language)
    after = float(weights[texts].sum())
    weights[texts] *= before / after if after > 0 else 1.0
    weights[columns(CITATION_SIGNALS)] *= own.fame
    return replace(level, weights=weights)


def columns(names: Sequence[str]) -> list[int]:
    """Return the columns of signals."""
    return [list(SIGNALS).index(name) for name in names]


def ndcg(candidates: Candidates, weights: Reals, relevant: Mapping[int, int]) -> Reals:
    """Return nDCG@10 with each row of weights; ``relevant`` are grades by document.

    Of equal documents the later id is first.
    """
    grades = np.array([float(relevant.get(each, 0)) for each in candidates.docs.tolist()])
    discounts = 1 / np.log2(np.arange(2, NDCG_DEPTH + 2))
    ideal = np.sort(np.array(list(relevant.values()), np.float64))[::-1][:NDCG_DEPTH]
    found = np.zeros(len(weights))
    for row, scores in enumerate(weights @ candidates.signals.T):
        first = grades[np.lexsort((-candidates.docs, -scores))[:NDCG_DEPTH]]
        found[row] = first @ discounts[: len(first)]
    return found / (ideal @ discounts[: len(ideal)])


def choose_weight(gains: Reals, prior: int) -> int:
    """Return the row of gains to use: the prior's if it is within a standard error of the best,
    else the nearest such row."""
    behind = gains[gains.mean(axis=1).argmax()] - gains
    errors = behind.std(axis=1) / np.sqrt(gains.shape[1])
    good = np.flatnonzero(behind.mean(axis=1) <= errors)
    return int(good[np.abs(good - prior).argmin()])
