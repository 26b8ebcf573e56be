"""The shares of judged and unjudged documents at a rank."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class Judged(Measure):
    """The share of the first k retrieved documents that somebody judged, relevant or not.

    Where fewer than k were retrieved, it is the share of those.
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return ratio(judged, np.minimum(rankings.retrieved, self.cutoff).astype(np.float64))


class Unjudged(Measure):
    """The share of the first k documents that nobody judged.

    Divided by k even where fewer documents were retrieved, as trec_eval 10 does (``unj``).
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return np.asarray((np.minimum(rankings.retrieved, self.cutoff) - judged) / self.cutoff)
