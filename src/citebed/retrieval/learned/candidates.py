"""Candidates: the documents that may answer a query, put forward by words, vectors and citers.

They are the best by BM25, the most similar to the text and to one of its sentences by each kind of
vectors, and those that other papers cite with sentences like the text's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.vectors import DocumentVectors, Similarities, Vectors
from citebed.retrieval.index.citing import CitingSentences
from citebed.retrieval.learned.constants import Constants
from citebed.retrieval.query import Query
from citebed.retrieval.search.exhaustive import Hits

Docs = NDArray[np.int64]
Allowed = NDArray[np.bool_] | None
"""Which documents may be found; ``None`` for all."""


class Liked(NamedTuple):
    """Documents, and how much is said like a text when each is cited: the sum of what is alike
    (logarithm)."""

    docs: Docs
    likeness: NDArray[np.float32]


NOBODY = Liked(np.zeros(0, np.int64), np.zeros(0, np.float32))


class Candidates(NamedTuple):
    """Candidates by number, rising; the similarities to all documents by kind of vectors; what
    citing sentences say; and which were put forward by signals that all documents have."""

    docs: Docs
    similar: Mapping[str, Similarities]
    liked: Liked
    by_all: NDArray[np.bool_]


def allowed_for(query: Query, in_time: Allowed, documents: int) -> Allowed:
    """Which documents may be found, whatever else is asked of them: those in time that are not
    excluded."""
    if in_time is None and not len(query.excluded):
        return None
    allowed = np.ones(documents, bool) if in_time is None else in_time.copy()
    allowed[query.excluded] = False
    return allowed


def liked(
    citing: CitingSentences, vectors: Vectors, known: NDArray[np.bool_], alike: float
) -> Liked:
    """The documents that are cited with sentences like the text's; ``vectors`` are the text's and
    its sentences'."""
    sentences, likeness = citing.vectors.similar(vectors).above(-1, alike)
    may = known[sentences]
    docs, places = np.unique(citing.docs[sentences[may]], return_inverse=True)
    sums = np.zeros(len(docs), np.float32)
    np.add.at(sums, places, likeness[may])
    return Liked(docs.astype(np.int64), np.log1p(sums))


def candidates(
    hits: Hits,
    vectors: Mapping[str, tuple[DocumentVectors, Vectors]],
    liked: Liked,
    allowed: Sequence[Allowed],
    depth: int,
    constants: Constants,
) -> Candidates:
    """The candidates; ``hits`` are the best by BM25, ``vectors`` those of the documents and of the
    query by kind. There are as many for each of the masks that say what is ``allowed``."""
    wanted = max(constants.candidates, depth)
    similar = {kind: documents.similar(rows) for kind, (documents, rows) in vectors.items()}
    by_all, by_some = list[Docs](), list[Docs]()
    for may in allowed:
        by_all += [_among(hits.docs, may)[:wanted], _said(liked, may, constants.cited_candidates)]
        for kind, each in similar.items():
            known = vectors[kind][0].known
            lists, these = (by_all, may) if known is None else (by_some, _both(may, known))
            lists += [each.best(row, wanted, these) for row in range(len(each.rough))]
    docs = np.unique(np.concatenate(by_all + by_some))
    return Candidates(docs, similar, liked, np.isin(docs, np.concatenate(by_all)))


def _among(docs: Docs, allowed: Allowed) -> Docs:
    return docs if allowed is None else docs[allowed[docs]]


def _said(liked: Liked, allowed: Allowed, count: int) -> Docs:
    among = None if allowed is None else allowed[liked.docs]
    return liked.docs[_best(liked.likeness, among, count)]


def _both(allowed: Allowed, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return known if allowed is None else allowed & known


def _best(values: NDArray[np.float32], allowed: Allowed, count: int) -> Docs:
    """The places of the greatest values that are allowed, and of what is equal to the last."""
    places = np.arange(len(values)) if allowed is None else np.flatnonzero(allowed)
    if len(places) <= count:
        return places
    last = np.partition(values[places], len(places) - count)[len(places) - count]
    return np.asarray(places[values[places] >= last], np.int64)
