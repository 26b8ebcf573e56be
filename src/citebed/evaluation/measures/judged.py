"""The share of judged documents at a rank."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from citebed.evaluation.measures.base import CutoffKind, Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class Judged(Measure):
    """The share of the first k retrieved documents that somebody judged, relevant or not.

    Where fewer than k were retrieved, it is the share of those.
    """

    NAME: ClassVar[str] = "Judged"
    CUTOFF: ClassVar[CutoffKind] = "rank"
    NEEDS_CUTOFF: ClassVar[bool] = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return ratio(judged, np.minimum(rankings.retrieved, self.cutoff).astype(np.float64))
