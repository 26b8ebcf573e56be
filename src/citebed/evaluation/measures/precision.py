"""Precision at a rank."""

from __future__ import annotations

from citebed.evaluation.measures.base import Measure
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
