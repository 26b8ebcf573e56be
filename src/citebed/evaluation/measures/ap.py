"""Average precision: of one query, over queries, and estimated from a sample."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from citebed.evaluation.measures.base import FLOOR, CutoffKind, Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class AP(Measure):
    """Average precision: the mean precision at the ranks of the relevant documents.

    AP = 1/R · Σ P@rank(d) over the relevant documents d retrieved (within the cut-off); those
    not retrieved count 0. Without relevant documents AP is 0. trec_eval: ``map``, ``map_cut``.
    """

    CITATION = "Harman, Evaluation issues in information retrieval, IP&M 28(4), 1992"
    CUTOFF: ClassVar[CutoffKind] = "rank or R"

    def score(self, rankings: Rankings) -> Floats:
        return ratio(self.precisions(rankings), rankings.judged(self.rel))

    def precisions(self, rankings: Rankings) -> Floats:
        """The sum of the precisions at the ranks of the relevant documents."""
        relevant = self.relevant(rankings)
        place = rankings.so_far(relevant)
        counts = relevant & self.above_cutoff(rankings)
        return rankings.total(counts * place / rankings.rank)


class YAAP(AP):
    """Average precision on an unbounded scale, for statistics: log((1 + S) / (1 + R − S)).

    S is the sum of the precisions that AP averages. A query without relevant documents scores 0.
    trec_eval: ``yaap``.
    """

    CITATION = "Robertson, On smoothing average precision, ECIR 2012"
    CUTOFF = "none"
    RANGE = (float("-inf"), float("inf"))

    def score(self, rankings: Rankings) -> Floats:
        precisions, known = self.precisions(rankings), rankings.judged(self.rel)
        return np.log((1.0 + precisions) / (1.0 + known - precisions))


class GMAP(AP):
    """The geometric mean of average precision over queries, which emphasises hard queries.

    A query's value is its AP, or 0.00001 if that is higher, as in trec_eval (``gm_map``), so that
    one zero does not make the mean zero.
    """

    CITATION = "Robertson, On GMAP: and other transformations, CIKM 2006"
    CUTOFF = "none"
    SUMMARY = "geometric mean"

    def score(self, rankings: Rankings) -> Floats:
        return np.maximum(super().score(rankings), FLOOR)


EPSILON = 1e-5


class infAP(Measure):
    """Average precision estimated from a judged sample of the pool.

    A grade below 0 marks a document that was in the pool and not sampled; a document without a
    grade was not in the pool. At a relevant document of rank k, ``in`` documents above it were
    in the pool, of them ``r`` judged relevant and ``n`` not. The expected precision
    there is 1/k + (in/k) · (r + ε) / (r + n + 2ε), ε = 0.00001.
    """

    CITATION = "Yilmaz & Aslam, Estimating average precision, CIKM 2006"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        good = rankings.so_far(relevant) - relevant
        bad = rankings.so_far((rankings.relevance >= 0) & ~relevant)
        pooled = rankings.so_far(np.ones(len(relevant), bool)) - 1
        share = (good + EPSILON) / (good + bad + 2 * EPSILON)
        expected = (1.0 + pooled * share) / rankings.rank
        return ratio(rankings.total(relevant * expected), rankings.judged(self.rel))
