"""Normalised discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import UnknownName
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats, Ints

KINDS = ("log2", "exp-log2")


@dataclass(frozen=True, kw_only=True)
class nDCG(Measure):
    """Gains discounted by rank, over the same of the ideal ranking.

    DCG = Σ gain(d) / log2(rank(d) + 1); the ideal ranks all judged documents of the query by
    grade. A document's gain is its grade, as in trec_eval (``ndcg``, ``ndcg_cut``), or
    2^grade − 1 with ``dcg='exp-log2'`` (Burges et al. 2005). Grades below ``rel`` gain nothing.
    With ``@R`` the cut-off is the number of relevant documents of each query. Where the ideal
    is 0 so is the measure.
    """

    CITATION = "Järvelin & Kekäläinen, Cumulated gain-based evaluation, TOIS 20, 2002"
    CUTOFF = "rank or R"

    dcg: str = "log2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dcg not in KINDS:
            raise UnknownName("nDCG's dcg", self.dcg, KINDS)

    def score(self, rankings: Rankings) -> Floats:
        gains = self._gain(rankings, rankings.query, rankings.relevance)
        gains = self.above_cutoff(rankings) * gains / np.log2(rankings.rank + 1.0)
        return ratio(rankings.total(gains), self._ideal(rankings))

    def _ideal(self, rankings: Rankings) -> Floats:
        place, query = rankings.ideal_place, rankings.judged_query
        gains = self._gain(rankings, query, rankings.judged_relevance) / np.log2(place + 1.0)
        if self.cutoff is not None:
            last = rankings.judged(self.rel)[query] if self.cutoff == "R" else self.cutoff
            gains = gains * (place <= last)
        return np.bincount(query, gains, rankings.queries).astype(np.float64)

    def _gain(self, rankings: Rankings, query: Ints, grades: Ints) -> Floats:
        counted = np.where(grades >= max(self.rel, 1), grades, 0).astype(np.float64)
        if self.dcg == "log2":
            return counted
        # 2^grade - 1 over 2^(the query's highest): the ratio stays, and no grade is too high.
        highest = np.maximum(rankings.judged_relevance[rankings.ideal_place == 1], 0.0)[query]
        return np.asarray(np.exp2(counted - highest) - np.exp2(-highest))
