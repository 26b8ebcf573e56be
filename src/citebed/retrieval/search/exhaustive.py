"""Scoring everything, in numpy: obvious, exact, and without a compiler's pause.

A single query from a cold start is answered this way, and whatever the bounds of
``kernels`` do not allow: impacts or weights that may be negative, views with something
taken out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.feedback.base import TermWeights, summed
from citebed.retrieval.models.base import Floats
from citebed.retrieval.search.view import View


class Hits(NamedTuple):
    """Documents by number with their scores, best first; of equal ones the later id first."""

    docs: NDArray[np.int64]
    scores: NDArray[np.float64]


_NONE, _NOUGHT = np.zeros(0, np.int64), np.zeros(0, np.float64)
NOTHING = Hits(_NONE, _NOUGHT)

FREQUENT = 32
"""A term is frequent if more than one document in so many has it.

Frequent terms are added first, then the others, both in the order of terms: a sum of floats
depends on its order, and whoever adds must do it in this one.
"""


def score_all(view: View, query: TermWeights) -> tuple[Floats, NDArray[np.bool_]]:
    """Every document's score, and whether it has a term of the query at all."""
    documents = len(view.index.ids)
    order = np.argsort(query.df * FREQUENT <= view.stats.documents, kind="stable")
    terms = list(zip(query.ids[order].tolist(), query.weights[order].tolist(), strict=True))
    docs = np.concatenate([_NONE, *(view.term(term).docs for term, _ in terms)])
    gains = [weight * view.impacts(term).astype(np.float64) for term, weight in terms]
    # It adds one after another, as they come.
    scores = summed(docs, np.concatenate([_NOUGHT, *gains]), documents)
    has_term = np.zeros(documents, bool)
    has_term[docs] = True
    if view.document_scores is not None:
        scores += view.document_weight(query) * view.document_scores
    return scores + view.constant(query), has_term


def search(
    view: View,
    query: TermWeights,
    k: int,
    allowed: NDArray[np.bool_] | None = None,
    excluded: NDArray[np.int64] = NOTHING.docs,
) -> Hits:
    """The best ``k`` documents; ``query`` has final weights."""
    if not len(query.ids):
        return NOTHING
    scores, eligible = score_all(view, query)
    if allowed is not None:
        eligible &= allowed
    eligible[excluded] = False
    docs = np.flatnonzero(eligible)
    scores = scores[docs]
    if len(docs) > k:
        least = np.partition(scores, len(docs) - k)[len(docs) - k]
        docs, scores = docs[scores >= least], scores[scores >= least]
    order = np.lexsort((-docs, -scores))[:k]
    return Hits(docs[order], scores[order])
