"""Average precision."""

from __future__ import annotations

from typing import ClassVar

from citebed.evaluation.measures.base import CutoffKind, Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class AP(Measure):
    """The mean of the precisions at the ranks of the relevant documents.

    AP = 1/R · Σ P@rank(d) over the relevant documents d retrieved (within the cut-off); those
    not retrieved count 0. Without relevant documents it is 0. trec_eval: ``map``, ``map_cut``.
    """

    CITATION = "Harman, Evaluation issues in information retrieval, IP&M 28(4), 1992"
    CUTOFF: ClassVar[CutoffKind] = "rank or R"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        place = rankings.so_far(relevant)
        counts = relevant & self.above_cutoff(rankings)
        return ratio(rankings.total(counts * place / rankings.rank), rankings.judged(self.rel))
