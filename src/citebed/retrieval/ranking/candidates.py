"""Candidates: the documents that may answer a query, put forward by words, vectors and citers.

They are the best by BM25, the most similar to the text and to one of its sentences by each kind of
vectors, and those that other papers cite with sentences like the text's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.citation_contexts import CitingSentences
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.constants import Constants
from citebed.retrieval.search.searcher import Hits
from citebed.retrieval.vectors.vectors import DocumentVectors, Similarities, Vectors

Docs = NDArray[np.int64]
Allowed = NDArray[np.bool_] | None
"""Which documents may be found; ``None`` for all."""


WORDS, SAID, OF_SENTENCE = "words", "said", "_sentence"
_NONE: Docs = np.zeros(0, np.int64)


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
    sentences, likeness = citing.vectors.compare(vectors).above(-1, alike)
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
    similar = {kind: documents.compare(rows) for kind, (documents, rows) in vectors.items()}
    known = {kind: documents.present for kind, (documents, _) in vectors.items()}
    by_all, by_some = [_NONE], list[Docs]()
    for may in allowed:
        for name, docs in put_forward(
            hits, similar, known, liked, allowed=may, depth=depth, constants=constants
        ):
            has_all = known.get(name.removesuffix(OF_SENTENCE)) is None
            (by_all if has_all else by_some).append(docs)
    docs = np.unique(np.concatenate(by_all + by_some))
    return Candidates(docs, similar, liked, np.isin(docs, np.concatenate(by_all)))


def put_forward(  # noqa: PLR0913 - what each signal knows of the documents
    hits: Hits,
    similar: Mapping[str, Similarities],
    known: Mapping[str, NDArray[np.bool_] | None],
    liked: Liked,
    *,
    allowed: Allowed,
    depth: int,
    constants: Constants,
) -> Iterator[tuple[str, Docs]]:
    """The documents that each signal puts forward: words, citing sentences, and vectors by their
    kind, of the text and of its best sentence; by vectors, only those that are ``known``."""
    wanted = max(constants.candidates, depth)
    yield WORDS, _among(hits.docs, allowed)[:wanted]
    yield SAID, _said(liked, allowed, constants.cited_candidates)
    for kind, each in similar.items():
        has_one = known[kind]
        may = allowed if has_one is None else _both(allowed, has_one)
        for row in range(len(each.rough)):
            yield f"{kind}{OF_SENTENCE if row else ''}", each.top(row, wanted, may)


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
