"""Ranking at work: for each question the best documents by several signals, and the evidence."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Embedder
from citebed.retrieval.dense.static_model import model_of
from citebed.retrieval.index.index import Index
from citebed.retrieval.learned.evidence import Evidence, evidence
from citebed.retrieval.learned.ranker import Level, read_ranker, shipped_ranker
from citebed.retrieval.learned.signals import SIGNALS, Features, Question, Signals
from citebed.retrieval.pipeline import SEEN, Dense, Learned, Ranking
from citebed.retrieval.search.exhaustive import Hits
from citebed.retrieval.search.searcher import Searcher

_LOG = logging.getLogger("citebed")
Docs = NDArray[np.int64]
_AT_ONCE = 64
"""Questions whose texts are given to the models at a time."""


class Ranked(NamedTuple):
    """The best documents, and of each the chance that it is right; ``least`` is that of a good
    match.

    There are no chances where none were learned with the models at hand.
    """

    hits: Hits
    chances: NDArray[np.float64] | None
    least: float

    def kept(self, those: NDArray[np.bool_]) -> Ranked:
        """Only some of the documents."""
        hits = Hits(self.hits.docs[those], self.hits.scores[those])
        chances = None if self.chances is None else self.chances[those]
        return Ranked(hits, chances, self.least)


class Ranks:
    """A ranking of an index's documents, its models open."""

    def __init__(self, searcher: Searcher, ranking: Ranking) -> None:
        self.ranking = ranking
        models = models_for(searcher.index, ranking)
        self.signals, self._models = Signals(searcher, models), models
        self.facts: dict[str, Any] = {
            kind: {"name": model.name, "fingerprint": model.fingerprint}
            for kind, model in models.items()
        }
        self.has_chances, self.learned_among = False, 0
        if isinstance(ranking, Learned):
            ranker = read_ranker(ranking.source) if ranking.source else shipped_ranker()
            self._level = ranker.level("encoder" in models)
            self.has_chances = bool(self._level.chance.any()) and ranker.knows(models)
            self.learned_among = ranker.documents
            self.facts["ranker"] = ranker.fingerprint
        elif isinstance(ranking, Dense):
            self._level = _plain(ranking)

    def prepare(self) -> None:
        """Make ready for many questions."""
        self.signals.prepare()

    def rank(self, asked: Sequence[Question], first: Sequence[Hits], depth: int) -> list[Ranked]:
        """The best documents for each question; ``first`` are the best by BM25."""
        found: list[Ranked] = []
        for start in range(0, len(asked), _AT_ONCE):
            part = asked[start : start + _AT_ONCE]
            vectors = self.signals.embedded(part)
            for one, hits, rows in zip(part, first[start:], vectors, strict=False):
                found.append(self._ranked(self.signals.weigh(one, hits, rows, depth), depth))
        return found

    def evidence(self, asked: Question, numbers: Docs, abstracts: Sequence[str]) -> list[Evidence]:
        """What speaks for documents, by their numbers, beside the words they share with a text."""
        citing = self.signals.citing
        known = np.zeros(0, bool) if citing is None else self.signals.known(asked)
        rows = [np.array(citing.of(n), np.int64) for n in numbers.tolist()] if citing else []
        said = [(citing, some[known[some]]) for some in rows] if citing else []
        vectors = self.signals.index.vectors_of(self._words, "static").of(numbers)
        sentences = self._words.queries(asked.sentences or [asked.text])
        return evidence(sentences, vectors, abstracts, said, self._words)

    @cached_property
    def _words(self) -> Embedder:
        """The word vectors, which evidence comes from whatever ranks."""
        return self._models.get("static") or _model(self.signals.index, "static")

    def _ranked(self, weighed: Features, depth: int) -> Ranked:
        level = self._level
        scores = level.scores(weighed)
        # Of equal documents the later id first, as everywhere; numbers are in the order of ids.
        order = np.lexsort((-weighed.docs, -scores))[:depth]
        best = Features(weighed.docs[order], weighed.values[order], weighed.raw[order])
        chances = level.chances(best, scores[order]) if self.has_chances else None
        falling = None if chances is None else _falling(chances)
        return Ranked(Hits(best.docs, scores[order]), falling, level.least)


def _falling(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chances of a list, none greater than what stands higher.

    A document is as likely as any after it of those that chances were learned from; what comes
    later is no likelier than they, so that a longer list changes nothing that is said of them.
    """
    first, later = (np.maximum.accumulate(part[::-1])[::-1] for part in np.split(chances, [SEEN]))
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
    if asked == "yes" or (asked == "auto" and index.vectors("encoder") is not None):
        from citebed.retrieval.encoders.encoder import ForeignEncoder

        try:
            models["encoder"] = _model(index, "encoder")
        except ForeignEncoder as error:
            if asked == "yes":
                raise
            _LOG.warning("note: only word vectors are used: %s", error)
    return models


def _model(index: Index, kind: str) -> Embedder:
    vectors = index.vectors(kind)
    model: Embedder
    if kind == "encoder" and vectors is not None:
        from citebed.retrieval.encoders.encoder import encoder_of

        model = encoder_of(vectors)
    else:
        model = model_of("" if vectors is None else vectors.fingerprint)
    index.vectors_of(model, kind)  # says what to do where there are none of this model
    return model
