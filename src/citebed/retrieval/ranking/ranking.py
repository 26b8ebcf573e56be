"""Ranking: the best documents for each query by several signals, and how likely each is right."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import LruCache
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, Dense, Learned, Ranking
from citebed.retrieval.query import Features, Query, Result
from citebed.retrieval.ranking.candidates import Allowed
from citebed.retrieval.ranking.features import SIGNALS, Signals
from citebed.retrieval.ranking.fitted_weights import KNOWN, Fit, fit_of, fitted_level, language_in
from citebed.retrieval.ranking.ranker import Level, Ranker, mixed, read_ranker, shipped_ranker
from citebed.retrieval.search.searcher import Hits, Searcher
from citebed.retrieval.vectors.static_model import find_model
from citebed.retrieval.vectors.vectors import Embedder, Vectors

_LOG = logging.getLogger("citebed")
_ABSTRACTS = 500
"""So many documents' sentences are remembered with their vectors: a text that is being written
finds the same again and again."""


class Ranks:
    """A ranking of an index's documents, its models open; ``abstracts`` are the sentences of those
    that were explained lately, with their vectors."""

    def __init__(self, searcher: Searcher, ranking: Ranking) -> None:
        self.ranking = ranking
        models = models_for(searcher.index, ranking)
        source = ranking.source if isinstance(ranking, Learned) else None
        ranker = read_ranker(source) if source else shipped_ranker()
        self.constants, self.asking = ranker.constants, ranker.asking
        self.signals, self.models = Signals(searcher, models, ranker.constants), models
        self.facts: dict[str, Any] = {
            kind: {"name": model.name, "fingerprint": model.fingerprint}
            for kind, model in models.items()
        }
        self.notes = self.signals.notes
        self.has_probabilities, self.learned_among = False, 0
        self._fit: Fit | None = None
        self._speaks_all = True
        self._levels: dict[str | None, Level] = {}
        self.abstracts: LruCache[int, tuple[Sequence[str], Vectors]] = LruCache(_ABSTRACTS)
        if isinstance(ranking, Learned):
            self._fit = fit_of(searcher.index) if ranking.fit == "yes" and not source else None
            if self._fit is not None:
                self.facts["fit"] = asdict(self._fit)
            self._speaks_all = bool(source)
            self._level = self._level_of(ranker)
            self.has_probabilities = bool(self._level.probability.any()) and ranker.knows(models)
            self.learned_among = ranker.documents
            self.facts["ranker"] = ranker.fingerprint
        elif isinstance(ranking, Dense):
            self._level = _plain(ranking)

    def _level_of(self, ranker: Ranker) -> Level:
        """The weights for the models at hand; the encoder counts as much as the share of documents
        that it has read: what it says of few should not push the others aside."""
        static, encoder = ranker.level(False), ranker.level(True)
        if "encoder" not in self.models:
            return static
        return mixed(static, encoder, self.signals.share("encoder"))

    def prepare(self) -> None:
        """Make ready for many queries."""
        self.signals.prepare()

    def rank(
        self,
        queries: Sequence[Query],
        first: Sequence[Hits],
        in_time: Iterable[Allowed],
        depth: int,
    ) -> Iterator[Result]:
        """The best documents for each query; ``first`` are the best by BM25, ``in_time`` which
        documents are not too late for each."""
        found = self.features(queries, first, in_time, depth)
        for query, (features, vectors) in zip(queries, found, strict=True):
            yield self._best(query, features, vectors, depth)

    def features(
        self,
        queries: Sequence[Query],
        first: Sequence[Hits],
        in_time: Iterable[Allowed],
        depth: int,
    ) -> Iterator[tuple[Features, dict[str, Vectors]]]:
        """The candidates of each query with their signals, and the vectors of its texts."""
        vectors = self.signals.embedded_in_turn(queries)
        for query, hits, own, times in zip(queries, first, vectors, in_time, strict=True):
            yield self.signals.features(query, hits, own, depth, times), own

    @cached_property
    def words(self) -> Embedder:
        """The word vectors, which evidence comes from whatever ranks."""
        return self.models.get("static") or _model(self.signals.index, "static")

    def _best(
        self, query: Query, features: Features, vectors: dict[str, Vectors], depth: int
    ) -> Result:
        language = None if self._speaks_all else language_in(self.signals.index, query.language)
        level = self._level_for(language)
        scores = level.scores(features)
        # Of equal documents the later id first, as everywhere; numbers are in the order of ids.
        order = np.lexsort((-features.docs, -scores))
        of_all = features.only(order[:CALIBRATION_DEPTH])
        order = order[query.lets_through(features.docs[order])]
        best, scores = features.only(order[:depth]), scores[order[:depth]]
        told = self.has_probabilities and language in KNOWN
        likely = _falling(level.probabilities(best, scores)) if told else None
        hits = Hits(best.docs, scores)
        return Result(query, hits, best, vectors, likely, level.min_probability, of_all)

    def _level_for(self, language: str | None) -> Level:
        """The weights for texts in a language, as the collection taught them."""
        if self._fit is None:
            return self._level
        if language not in self._levels:
            self._levels[language] = fitted_level(self._level, self._fit, language)
        return self._levels[language]


def _falling(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities of a list, none greater than what stands higher.

    A document is as likely as any after it of those that probabilities were learned from; what
    comes later is no likelier than they, so that a longer list changes nothing that is said of
    them.
    """
    parts = np.split(probabilities, [CALIBRATION_DEPTH])
    first, later = (np.maximum.accumulate(part[::-1])[::-1] for part in parts)
    return np.concatenate([first, np.minimum(later, first[-1:])])


def _plain(ranking: Dense) -> Level:
    """The weights that a ranking was given by hand."""
    weights = dict.fromkeys(SIGNALS, 0.0) | {"bm25": 1.0}
    weights[ranking.source] = 1.0 if ranking.whole is None else ranking.whole
    weights[f"{ranking.source}_sentence"] = 1.0 if ranking.sentence is None else ranking.sentence
    return Level(np.array(list(weights.values())), np.zeros(0), 0.0)


def models_for(index: Index, ranking: Ranking) -> dict[str, Embedder]:
    """The models whose vectors a ranking needs, by kind; they must be those of the index.

    Where the encoder need not count and is none of the user's, words alone do, which is told.
    """
    if isinstance(ranking, Dense):
        return {ranking.source: _model(index, ranking.source)}
    asked = ranking.encoder if isinstance(ranking, Learned) else "auto"
    models = {"static": _model(index, "static")}
    some = index.vectors("encoder", incomplete=True)
    if asked == "yes" or (asked == "auto" and some is not None):
        from citebed.retrieval.encoders.dense_encoder import ForeignEncoder

        try:
            models["encoder"] = _model(index, "encoder", incomplete=asked == "auto")
        except ForeignEncoder as error:
            if asked == "yes":
                raise
            _LOG.warning("note: only word vectors are used: %s", error)
    return models


def _model(index: Index, kind: str, *, incomplete: bool = False) -> Embedder:
    vectors = index.vectors(kind, incomplete=incomplete)
    model: Embedder
    if kind == "encoder" and vectors is not None:
        from citebed.retrieval.encoders.dense_encoder import load_encoder_for_index

        model = load_encoder_for_index(vectors)
    else:
        model = find_model("" if vectors is None else vectors.fingerprint)
    index.vectors_of(
        model, kind, incomplete=incomplete
    )  # says what to do where there are none of this model
    return model
