"""Rank-biased precision, and how much of it is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.gains import Gainful
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


def powers(p: float, most: int) -> Floats:
    """The powers of p from 0 on, each made from the one before: in trec_eval's very digits."""
    return np.cumprod(np.append(1.0, np.full(most, p)))


@dataclass(frozen=True, kw_only=True)
class GradedRBP(RBP, Gainful):
    """RBP that counts gains: each document's share of the highest gain of its query.

    A document's gain is its grade, unless ``gains='1=3,2=9'`` says otherwise. trec_eval 10:
    ``rbp``.
    """

    p: float = 0.9

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        highest = gained.ideal[rankings.ideal_place == 1][rankings.query]
        counts = self.above_cutoff(rankings) * ratio(gained.found, highest)
        going_on = powers(self.p, int(rankings.rank.max(initial=0)))
        return (1.0 - self.p) * rankings.total(counts * going_on[rankings.rank - 1])


@dataclass(frozen=True, kw_only=True)
class RBPResidual(RBP):
    """By how much RBP would rise if all that is not judged, and all beyond the end, were relevant.

    The true RBP lies between RBP and RBP + this.
    """

    def score(self, rankings: Rankings) -> Floats:
        judged = (rankings.relevance >= 0) & self.above_cutoff(rankings)
        return 1.0 - rankings.total(judged * self.weights(rankings))
