"""Area under the ROC curve."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class AUC(Measure):
    """The share of pairs of a relevant and another retrieved document that are in the right order.

    Ties count half. Documents not judged are not relevant; relevant ones that were not retrieved
    stand below everything retrieved. Where only relevant documents were retrieved it is the
    share of the relevant ones retrieved.
    """

    CITATION = "Hanley & McNeil, The meaning and use of the area under a ROC curve, 1982"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        found = rankings.count(relevant)
        others = rankings.retrieved - found
        right = rankings.total(relevant * self._below(rankings, others))
        known = rankings.judged(self.rel)
        return np.where(others > 0, ratio(right, known * others), ratio(found, known))

    def _below(self, rankings: Rankings, others: Floats) -> Floats:
        """For each row: documents not relevant with a lower score, those of equal score half."""
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
