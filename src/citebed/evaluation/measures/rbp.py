"""Rank-biased precision, and how much of it is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


@dataclass(frozen=True, kw_only=True)
class RBP(Measure):
    """What a reader finds per document looked at who goes on to the next with probability p.

    RBP = (1 − p) · Σ p^(rank − 1) over the relevant documents retrieved.
    """

    CITATION = "Moffat & Zobel, Rank-biased precision, TOIS 27(1), 2008"
    CUTOFF = "rank"

    p: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise CitebedError(f"{self.NAME}: p={self.p} is not between 0 and 1.")

    def score(self, rankings: Rankings) -> Floats:
        counts = self.relevant(rankings) & self.above_cutoff(rankings)
        return rankings.total(counts * self.weights(rankings))

    def weights(self, rankings: Rankings) -> Floats:
        """What each rank is worth; over all ranks they add up to 1."""
        return np.asarray((1.0 - self.p) * self.p ** (rankings.rank - 1.0))


@dataclass(frozen=True, kw_only=True)
class RBPResidual(RBP):
    """By how much RBP would rise if all that is not judged, and all beyond the end, were relevant.

    The true RBP lies between RBP and RBP + this.
    """

    def score(self, rankings: Rankings) -> Floats:
        judged = (rankings.relevance >= 0) & self.above_cutoff(rankings)
        return 1.0 - rankings.total(judged * self.weights(rankings))
