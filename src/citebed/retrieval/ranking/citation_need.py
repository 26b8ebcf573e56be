"""Citation need: how likely a text needs a citation of a document in the collection.

``citebed train ranker`` learned a small model from sentences that cite and from texts that cite
nothing: everyday texts, and what papers say about themselves. Its features are standardised with
the collection's background, which is what everyday texts find there: among 100,000 documents
something similar turns up for any text, among 1,000 it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.models import MODELS
from citebed.retrieval.models.bm25 import lucene_idf
from citebed.retrieval.pipeline import CALIBRATION_DEPTH
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.collection_weights import CollectionWeights, apply_weights
from citebed.retrieval.ranking.features import RAW, Signals
from citebed.retrieval.ranking.ranker import (
    BACKGROUND_FEATURES,
    NEED_FEATURES,
    CitationNeedModel,
    Level,
    Ranker,
    shipped_ranker,
)
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.vectors.static_model import StaticModel, find_model
from citebed.retrieval.vectors.vectors import Docs, Embedder, Vectors
from citebed.text.words import FUNCTION_WORDS, telling_words

Reals = NDArray[np.float64]
MIN_DOCUMENTS = 20
"""Smaller collections teach nothing."""
_RANGE = (-5.0, 10.0)
"""Features are clipped to this: a background of few documents can have hardly any spread."""
_MIN_SPREAD = 1e-3
_DEPTH = 100
_WORDS = 7
"""Words of a text depend on each other: more than these count like this many independent ones."""


class Background(NamedTuple):
    """The features of everyday texts in a collection: the mean and standard deviation of each."""

    means: Reals
    spreads: Reals

    def standardise(self, features: Reals) -> Reals:
        """Return features (a row for each text) in standard deviations from the mean."""
        found = features.copy()
        count = len(BACKGROUND_FEATURES)
        found[:, :count] = (features[:, :count] - self.means) / self.spreads
        return np.clip(found, *_RANGE)

    @property
    def values(self) -> dict[str, list[float]]:
        """The mean and standard deviation of each feature, as an index stores them."""
        pairs = zip(self.means.tolist(), self.spreads.tolist(), strict=True)
        return {
            name: [round(each, 4) for each in pair]
            for name, pair in zip(BACKGROUND_FEATURES, pairs, strict=True)
        }


def parse_background(values: Mapping[str, Any]) -> Background | None:
    """Return a background of its stored values, or ``None`` if they are invalid."""
    try:
        rows = np.array([values[name] for name in BACKGROUND_FEATURES], np.float64)
    except (KeyError, TypeError, ValueError):
        return None
    is_table = rows.shape == (len(BACKGROUND_FEATURES), 2) and np.isfinite(rows).all()
    return Background(rows[:, 0], rows[:, 1]) if is_table and (rows[:, 1] > 0).all() else None


class WordRarity:
    """How rare words are in an index, by their inverse document frequency.

    The words of a text on another subject are rarer than a document's words: a recipe has few words
    of computing. Names are rare everywhere, and do not count.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        # The document frequency of each term, and 0 for number -1, an unknown term.
        self._df = np.append(np.diff(index.offsets), 0)

    @cached_property
    def usual(self) -> tuple[float, float]:
        """The mean and standard deviation of the rarity of a document's words, itself excluded."""
        weights = self._df.astype(np.float64)
        weights[self._terms(FUNCTION_WORDS)] = 0
        if not weights.any():
            return 0.0, np.inf
        rarities = lucene_idf(np.maximum(self._df - 1, 0), len(self._index.ids))
        mean = float(np.average(rarities, weights=weights))
        return mean, float(np.sqrt(np.average((rarities - mean) ** 2, weights=weights)))

    def strangeness(self, text: str) -> float:
        """Return how much rarer a text's words are than usual, in standard errors; 0 if it has no
        content words."""
        rarities = lucene_idf(self._df[self._content_terms(text)], len(self._index.ids))
        mean, spread = self.usual
        if not len(rarities) or not 0 < spread < np.inf:
            return 0.0
        return float((rarities.mean() - mean) / (spread / np.sqrt(min(len(rarities), _WORDS))))

    def word_shares(self, text: str, documents: Docs) -> Reals:
        """Return the share of a text's words that each document has, weighted by rarity."""
        terms = self._content_terms(text)
        if not len(terms):
            return np.zeros(len(documents))
        has_term = []
        for term in terms.tolist():
            start = int(self._index.offsets[term]) if term >= 0 else 0
            postings = self._index.docs[start : start + int(self._df[term])]
            has_term.append(np.isin(documents, np.asarray(postings, np.int64)))
        weights = lucene_idf(self._df[terms], len(self._index.ids))
        return np.asarray(np.average(np.stack(has_term), axis=0, weights=weights), np.float64)

    def _content_terms(self, text: str) -> Docs:
        """Return the terms of a text's words that are neither function words nor names."""
        small = " ".join(word for word in text.split() if word.islower())
        words = {word for word in self._index.analyser.words(small) if len(word) > 1}
        return self._terms(words - FUNCTION_WORDS)

    def _terms(self, words: set[str] | frozenset[str]) -> Docs:
        """Return the numbers of the words' terms, each once; -1 for unknown ones."""
        terms = {term for word in words if (term := self._index.analyser.term(word))}
        return np.array([self._index.term_number(term) for term in sorted(terms)], np.int64)


class NeedFeatures:
    """Computes the features of the citation need for texts, in one index."""

    def __init__(self, index: Index, model: CitationNeedModel) -> None:
        self._model, self._rarity = model, WordRarity(index)

    def compute(self, text: str, best: Candidates, vectors: Vectors) -> Reals:
        """Return a text's features, not standardised; ``best`` are its first candidates,
        ``vectors`` the word vectors of the text and its sentences."""
        scores = best.term_scores
        matched = 0 if scores is None else (scores > 0).sum(axis=1).max(initial=0)
        return np.array(
            [
                best.raw[:, RAW.index("static")].max(initial=0.0),
                np.log1p(best.raw[:, RAW.index("bm25")].max(initial=0.0)),
                np.log1p(matched),
                self._rarity.strangeness(text),
                np.log1p(len(telling_words(text))),
                self._model.score_kind(vectors[:1])[0],
            ]
        )


def compute_features(
    index: Index, ranker: Ranker, model: Embedder, level: Level, texts: Sequence[str]
) -> Reals:
    """Return the features of texts (a row each), from words and word vectors."""
    searcher = Searcher(index, MODELS["bm25"]())
    signals = Signals(searcher, {"static": model}, ranker.constants)
    need = NeedFeatures(index, ranker.citation_need)
    queries = [Query(text, searcher.query(text)) for text in texts]
    hits = searcher.search_all([query.terms for query in queries], ranker.constants.bm25_depth)
    found = np.zeros((len(texts), len(NEED_FEATURES)))
    for place, vectors in enumerate(signals.precompute(signals.embed(queries))):
        candidates = signals.compute(queries[place], hits[place], vectors, _DEPTH)
        order = np.argsort(-level.score(candidates), kind="stable")[:CALIBRATION_DEPTH]
        found[place] = need.compute(texts[place], candidates.take(order), vectors["static"])
    return found


@cache
def everyday_texts() -> tuple[str, ...]:
    """Return the texts that measure a collection's background."""
    text = files(__package__).joinpath("everyday.txt").read_text("utf-8")
    return tuple(text.splitlines())


def measure_background(index: Index, ranker: Ranker, model: Embedder, level: Level) -> Background:
    """Return the background of an index, by the level without the encoder."""
    rows = compute_features(index, ranker, model, level, everyday_texts())
    rows = rows[:, : len(BACKGROUND_FEATURES)]
    return Background(rows.mean(axis=0), rows.std(axis=0) + _MIN_SPREAD)


def compute_background(index: Index, weights: CollectionWeights | None = None) -> Background | None:
    """Return the background of an index with these weights, or ``None`` for a tiny collection."""
    if len(index.ids) < MIN_DOCUMENTS:
        return None
    ranker = shipped_ranker()
    level = ranker.levels["static"]
    level = level if weights is None else apply_weights(level, weights)
    return measure_background(index, ranker, load_static_model(index), level)


def load_static_model(index: Index) -> StaticModel:
    """Load the word vectors that an index uses."""
    vectors = index.vectors("static")
    return find_model("" if vectors is None else vectors.fingerprint)
