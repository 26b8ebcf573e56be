"""Normalised discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import ratio
from citebed.evaluation.measures.gains import Gainful
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats

KINDS = ("log2", "exp-log2")


@dataclass(frozen=True, kw_only=True)
class nDCG(Gainful):
    """Gains discounted by rank, over the same of the ideal ranking.

    DCG = Σ gain(d) / log2(rank(d) + 1); the ideal ranks all judged documents of the query by
    grade. A document's gain is its grade, as in trec_eval (``ndcg``, ``ndcg_cut``), or
    2^grade − 1 with ``dcg='exp-log2'`` (Burges et al. 2005). Grades below ``rel`` gain nothing;
    ``gains='1=3,2=9'`` gives grades gains of your own, and the ideal ranks by them.
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
        if self.gains and self.dcg != "log2":
            raise CitebedError(
                f"nDCG: gains='{self.gains}' and dcg='{self.dcg}' exclude each other."
            )

    def score(self, rankings: Rankings) -> Floats:
        found, ideal = self._gains(rankings)
        found = self.above_cutoff(rankings) * found / np.log2(rankings.rank + 1.0)
        return ratio(rankings.total(found), self._total_of_ideal(rankings, ideal))

    def _total_of_ideal(self, rankings: Rankings, ideal: Floats) -> Floats:
        place, query = rankings.ideal_place, rankings.judged_query
        ideal = ideal / np.log2(place + 1.0)
        if self.cutoff is not None:
            last = rankings.judged(self.rel)[query] if self.cutoff == "R" else self.cutoff
            ideal = ideal * (place <= last)
        return np.bincount(query, ideal, rankings.queries).astype(np.float64)

    def _gains(self, rankings: Rankings) -> tuple[Floats, Floats]:
        """Of the retrieved documents, and of the ideal ranking."""
        gained = self.gained(rankings)
        if self.dcg == "log2":
            return gained.found, gained.ideal
        # 2^grade - 1 over 2^(the query's highest): the ratio stays, and no grade is too high.
        highest = np.maximum(rankings.judged_relevance[rankings.ideal_place == 1], 0.0)
        return (
            _raised(gained.found, highest[rankings.query]),
            _raised(gained.ideal, highest[rankings.judged_query]),
        )


def _raised(grades: Floats, highest: Floats) -> Floats:
    return np.asarray(np.exp2(grades - highest) - np.exp2(-highest))
