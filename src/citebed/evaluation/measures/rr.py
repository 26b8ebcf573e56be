"""Reciprocal rank."""

from __future__ import annotations

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class RR(Measure):
    """One over the rank of the first relevant document.

    0 when none is retrieved, or none within the cut-off.
    """

    CITATION = "Kantor & Voorhees, The TREC-5 confusion track, Inf. Retr. 2, 2000"
    CUTOFF = "rank"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        first = relevant & (rankings.so_far(relevant) == 1) & self.above_cutoff(rankings)
        return rankings.total(first / rankings.rank)
