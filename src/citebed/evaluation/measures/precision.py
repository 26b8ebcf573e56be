"""Precision at a rank, and as a share of the best there can be."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class P(Measure):
    """The share of the first k documents that are relevant.

    Divided by k even where fewer documents were retrieved, as trec_eval does (``P``).
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        found = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return found / self.cutoff


class RelativeP(Measure):
    """Precision as a share of the best that k documents can have: found / min(k, R).

    trec_eval: ``relative_P``.
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        found = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return ratio(found, np.minimum(rankings.judged(self.rel), self.cutoff))
