"""Recall at a rank."""

from __future__ import annotations

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class R(Measure):
    """The share of the relevant documents that stand within the first k.

    Without relevant documents it is 0.
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        found = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        return ratio(found, rankings.judged(self.rel))
