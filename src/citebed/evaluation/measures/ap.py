"""Average precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

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
        return ratio(self.precisions(rankings), rankings.judged(self.rel))

    def precisions(self, rankings: Rankings) -> Floats:
        """The sum of the precisions at the ranks of the relevant documents."""
        relevant = self.relevant(rankings)
        place = rankings.so_far(relevant)
        counts = relevant & self.above_cutoff(rankings)
        return rankings.total(counts * place / rankings.rank)


class YAAP(AP):
    """Average precision on a scale without ends, for statistics: log((1 + S) / (1 + R − S)).

    S is the sum of the precisions that AP averages. A query without relevant documents has 0.
    trec_eval: ``yaap``.
    """

    CITATION = "Robertson, On smoothing average precision, ECIR 2012"
    CUTOFF = "none"
    RANGE = (float("-inf"), float("inf"))

    def score(self, rankings: Rankings) -> Floats:
        found, known = self.precisions(rankings), rankings.judged(self.rel)
        return np.log((1.0 + found) / (1.0 + known - found))
