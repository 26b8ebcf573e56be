"""Asking: how likely a text asks for a citation, and for one that is in the collection.

A small model learned it (``citebed train ranker``) from sentences that cite and from texts that
cite nothing: everyday ones, and what papers say of themselves. What it looks at is measured by the
collection's own background, which is what everyday texts find in it: among 100,000 documents
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
from citebed.retrieval.pipeline import CALIBRATION_DEPTH
from citebed.retrieval.query import Features, Query
from citebed.retrieval.ranking.features import RAW, Signals
from citebed.retrieval.ranking.ranker import CLUES, MEASURED, Asking, Level, Ranker
from citebed.retrieval.ranking.topics import Subject
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.vectors.vectors import Embedder, Vectors
from citebed.text.words import telling_words

Reals = NDArray[np.float64]

_LEAST, _MOST = -5.0, 10.0
"""Clues lie between these: a background of few documents may have hardly any spread."""
_NO_SPREAD = 1e-3
_DEPTH = 100


class Background(NamedTuple):
    """What everyday texts find in a collection: of each clue the mean, and its spread."""

    means: Reals
    spreads: Reals

    def measured(self, clues: Reals) -> Reals:
        """Clues (a row a text) with those that are measured in spreads from the mean."""
        found = clues.copy()
        found[:, : len(MEASURED)] = (clues[:, : len(MEASURED)] - self.means) / self.spreads
        return np.clip(found, _LEAST, _MOST)

    @property
    def values(self) -> dict[str, list[float]]:
        """As an index keeps it: the mean and the spread of each clue."""
        pairs = zip(self.means.tolist(), self.spreads.tolist(), strict=True)
        return {
            name: [round(each, 4) for each in pair]
            for name, pair in zip(MEASURED, pairs, strict=True)
        }


def background_of(index: Index) -> Background | None:
    """The background that an index has; ``None`` where it has none that can be used."""
    return read_background(index.description.background)


def read_background(values: Mapping[str, Any]) -> Background | None:
    """A background of its values, whoever wrote them."""
    try:
        rows = np.array([values[name] for name in MEASURED], np.float64)
    except (KeyError, TypeError, ValueError):
        return None
    usable = rows.shape == (len(MEASURED), 2) and np.isfinite(rows).all() and (rows[:, 1] > 0).all()
    return Background(rows[:, 0], rows[:, 1]) if usable else None


class Clues:
    """What tells of an index whether texts ask for something in it."""

    def __init__(self, index: Index, asking: Asking) -> None:
        self._index, self._asking = index, asking

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self._index)

    def of(self, text: str, best: Features, vectors: Vectors) -> Reals:
        """The clues of a text, not yet measured; ``best`` are the documents that a person would
        see first, ``vectors`` those of the text and its sentences by words."""
        matched = 0 if best.shares is None else (best.shares > 0).sum(axis=1).max(initial=0)
        return np.array(
            [
                best.raw[:, RAW.index("static")].max(initial=0.0),
                np.log1p(best.raw[:, RAW.index("bm25")].max(initial=0.0)),
                np.log1p(matched),
                self._subject.strangeness(text),
                np.log1p(len(telling_words(text))),
                self._asking.kind_of(vectors[:1])[0],
            ]
        )


@cache
def everyday_texts() -> tuple[str, ...]:
    """The texts that a collection's background is found with."""
    text = files(__package__).joinpath("everyday.txt").read_text("utf-8")
    return tuple(text.splitlines())


def background(index: Index, ranker: Ranker, model: Embedder, level: Level) -> Background:
    """What everyday texts find in an index, by the level of its word vectors."""
    rows = clues_of(index, ranker, model, level, everyday_texts())[:, : len(MEASURED)]
    return Background(rows.mean(axis=0), rows.std(axis=0) + _NO_SPREAD)


def clues_of(
    index: Index, ranker: Ranker, model: Embedder, level: Level, texts: Sequence[str]
) -> Reals:
    """The clues of texts (a row each), of what is found by words and their vectors."""
    searcher = Searcher(index, MODELS["bm25"]())
    signals = Signals(searcher, {"static": model}, ranker.constants)
    clues = Clues(index, ranker.asking)
    queries = [Query(text, searcher.query(text)) for text in texts]
    hits = searcher.search_all([query.terms for query in queries], ranker.constants.by_words)
    found = np.zeros((len(texts), len(CLUES)))
    for place, vectors in enumerate(signals.score_ahead(signals.embedded(queries))):
        features = signals.features(queries[place], hits[place], vectors, _DEPTH)
        order = np.argsort(-level.scores(features), kind="stable")[:CALIBRATION_DEPTH]
        found[place] = clues.of(texts[place], features.only(order), vectors["static"])
    return found
