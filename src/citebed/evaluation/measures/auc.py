"""Area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class AUC(Measure):
    """How often a relevant document ranks above a retrieved document that is not relevant.

    Ties count half. Unjudged documents are not relevant. Relevant documents that were not
    retrieved rank below all retrieved ones. If only relevant documents were retrieved, AUC is
    the share of relevant documents retrieved.
    """

    CITATION = "Hanley & McNeil, The meaning and use of the area under a ROC curve, 1982"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        hits = rankings.count(relevant)
        others = rankings.retrieved - hits
        right = rankings.total(relevant * self._below(rankings, others))
        known = rankings.judged(self.rel)
        return np.where(others > 0, ratio(right, known * others), ratio(hits, known))

    def _below(self, rankings: Rankings, others: Floats) -> Floats:
        """Count, per row, non-relevant documents with a lower score; equal scores count half."""
        relevant = self.relevant(rankings).astype(np.float64)
        same = np.stack((rankings.query, rankings.tie_first))
        new = np.ones(len(relevant), bool)
        new[1:] = (same[:, 1:] != same[:, :-1]).any(axis=0)
        group = np.cumsum(new) - 1
        in_tie = np.bincount(group, relevant, len(relevant))[group]
        earlier = rankings.so_far(relevant > 0) - relevant
        above = (rankings.tie_first - 1) - earlier[np.flatnonzero(new)][group]
        tied = rankings.tie_size - in_tie
        return np.asarray(others[rankings.query] - above - tied / 2)


@dataclass(frozen=True, kw_only=True)
class RescaledAUC(AUC):
    """AUC on the scale from −1 to 1: 2·AUC − 1, so that a random order scores 0.

    If nothing was retrieved, it is ``empty``: −1, because AUC is 0 there. With ``empty=0``,
    returning nothing is worth as much as a random order, and more than one wrong document.
    """

    CITATION = (
        "Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation "
        "Systems, 2013, section 4.4; the paper does not say what an empty list scores"
    )
    RANGE: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    empty: float = -1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -1 <= self.empty <= 1:
            raise CitebedError(f"{self.NAME}: empty={self.empty:g} is not from -1 to 1.")

    def score(self, rankings: Rankings) -> Floats:
        return np.where(rankings.retrieved > 0, 2 * super().score(rankings) - 1, self.empty)
