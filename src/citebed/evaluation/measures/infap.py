"""Inferred average precision."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats

EPSILON = 1e-5


class infAP(Measure):
    """Average precision estimated from a judged sample of the pool.

    Documents below 0 in the judgements were in the pool and not sampled; those not in the
    judgements at all were not in the pool. At a relevant document of rank k, with ``in`` the
    documents above it that were in the pool, ``r`` and ``n`` those judged relevant and not,
    the expected precision is 1/k + (in/k) · (r + ε) / (r + n + 2ε), ε = 0.00001.
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
