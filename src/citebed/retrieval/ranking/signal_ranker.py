"""The ranking by several signals: the best documents for queries."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np

from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import LruCache
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, Dense, Learned, Ranking
from citebed.retrieval.query import Candidates, Mask, Query
from citebed.retrieval.ranking.collection_weights import (
    CollectionWeights,
    apply_weights,
    choose_language,
    read_weights,
)
from citebed.retrieval.ranking.features import SIGNALS, Signals
from citebed.retrieval.ranking.ranker import Level, read_ranker, shipped_ranker
from citebed.retrieval.search.searcher import Hits, Searcher
from citebed.retrieval.vectors.static_model import find_model
from citebed.retrieval.vectors.vectors import Embedder, Vectors

_LOG = logging.getLogger("citebed")
_ABSTRACTS = 500
"""Documents whose sentences are cached: a text that is being written finds the same ones again."""


class SignalRanker:
    """Ranks the documents of an index by a ``dense`` or ``learned`` ranking.

    ``abstracts`` caches the sentences of explained documents with their vectors.
    """

    def __init__(self, searcher: Searcher, ranking: Ranking) -> None:
        index = searcher.index
        self.models = load_models(index, ranking)
        source = ranking.source if isinstance(ranking, Learned) else None
        ranker = read_ranker(source) if source else shipped_ranker()
        self.constants = ranker.constants
        self.signals = Signals(searcher, self.models, ranker.constants)
        self.facts: dict[str, Any] = {
            kind: {"name": model.name, "fingerprint": model.fingerprint}
            for kind, model in self.models.items()
        }
        self.notes = self.signals.notes
        self.abstracts: LruCache[int, tuple[Sequence[str], Vectors]] = LruCache(_ABSTRACTS)
        self._weights: CollectionWeights | None = None
        self._ignores_language = not isinstance(ranking, Learned) or bool(source)
        self._levels: dict[str | None, Level] = {}
        if isinstance(ranking, Learned):
            self._weights = read_weights(index) if ranking.fit == "yes" and not source else None
            if self._weights is not None:
                self.facts["fit"] = asdict(self._weights)
            has_encoder = "encoder" in self.models
            self._level = ranker.level(self.signals.encoded_share("encoder") if has_encoder else 0)
            self.facts["ranker"] = ranker.fingerprint
        elif isinstance(ranking, Dense):
            weights = dict.fromkeys(SIGNALS, 0.0) | {"bm25": 1.0}
            for name, weight in (("", ranking.whole), ("_sentence", ranking.sentence)):
                weights[f"{ranking.source}{name}"] = 1.0 if weight is None else weight
            self._level = Level(np.array(list(weights.values())))

    def weigh(self, weights: CollectionWeights) -> None:
        """Use other collection weights from now on."""
        self._weights, self._levels = weights, {}

    @cached_property
    def words(self) -> Embedder:
        """The word vectors, which select evidence for every ranking."""
        return self.models.get("static") or _load_model(self.signals.index, "static")

    def compute(
        self,
        queries: Sequence[Query],
        first: Sequence[Hits],
        in_time: Iterable[Mask | None],
        depth: int,
    ) -> Iterator[Candidates]:
        """Yield each query's candidates with their signals; ``first`` are the best by BM25, and
        ``in_time`` masks of documents that are not too late."""
        vectors = self.signals.embed_in_batches(queries)
        for query, hits, own, times in zip(queries, first, vectors, in_time, strict=True):
            yield self.signals.compute(query, hits, own, depth, times)

    def rank(
        self,
        queries: Sequence[Query],
        first: Sequence[Hits],
        in_time: Iterable[Mask | None],
        depth: int,
    ) -> Iterator[Candidates]:
        """Yield the best ``depth`` candidates of each query."""
        for found in self.compute(queries, first, in_time, depth):
            query, language = found.query, None
            if not self._ignores_language:
                language = choose_language(self.signals.index, query.language)
            level = self._level
            if self._weights is not None:
                if language not in self._levels:
                    self._levels[language] = apply_weights(level, self._weights, language)
                level = self._levels[language]
            scores = level.score(found)
            # Ties: the later id first, as everywhere; numbers are in the order of ids.
            order = np.lexsort((-found.docs, -scores))
            ranked = replace(found.take(order), scores=scores[order])
            may = ~np.isin(ranked.docs, query.judged.nonrelevant)
            if query.filter_mask is not None:
                may &= query.filter_mask[ranked.docs]
            best = ranked.take(np.flatnonzero(may)[:depth])
            yield replace(best, best=ranked.take(np.arange(min(CALIBRATION_DEPTH, len(ranked)))))


def load_models(index: Index, ranking: Ranking) -> dict[str, Embedder]:
    """Load the models that a ranking needs, by kind; they must have made the vectors of the index.

    If the encoder is optional and is not the user's, only word vectors are used, with a warning.
    """
    if isinstance(ranking, Dense):
        return {ranking.source: _load_model(index, ranking.source)}
    encoder = ranking.encoder if isinstance(ranking, Learned) else "auto"
    models = {"static": _load_model(index, "static")}
    has_vectors = index.vectors("encoder", incomplete=True) is not None
    if encoder == "yes" or (encoder == "auto" and has_vectors):
        from citebed.retrieval.encoders.dense_encoder import ForeignEncoder

        try:
            models["encoder"] = _load_model(index, "encoder", incomplete=encoder == "auto")
        except ForeignEncoder as error:
            if encoder == "yes":
                raise
            _LOG.warning("note: only word vectors are used: %s", error)
    return models


def _load_model(index: Index, kind: str, *, incomplete: bool = False) -> Embedder:
    vectors = index.vectors(kind, incomplete=incomplete)
    model: Embedder
    if kind == "encoder" and vectors is not None:
        from citebed.retrieval.encoders.dense_encoder import load_encoder_for_index

        model = load_encoder_for_index(vectors)
    else:
        model = find_model("" if vectors is None else vectors.fingerprint)
    index.vectors_of(model, kind, incomplete=incomplete)  # raises if they are from another model
    return model
