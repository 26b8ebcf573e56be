"""Measures of a reader who may stop: rank-biased precision, expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.ndcg import GainMeasure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


@dataclass(frozen=True, kw_only=True)
class RBP(Measure):
    """Relevant documents per document read, if readers go on to the next one with probability p.

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
        """Return the weight of each rank; the weights of all ranks sum to 1."""
        return np.asarray((1.0 - self.p) * self.p ** (rankings.rank - 1.0))


def powers(p: float, most: int) -> Floats:
    """Return the powers of p from 0 on by repeated multiplication, exactly as in trec_eval."""
    return np.cumprod(np.append(1.0, np.full(most, p)))


@dataclass(frozen=True, kw_only=True)
class GradedRBP(RBP, GainMeasure):
    """RBP with gains: each document counts its gain as a share of its query's highest gain.

    A document's gain is its grade, unless ``gains='1=3,2=9'`` says otherwise. trec_eval 10:
    ``rbp``.
    """

    p: float = 0.9

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        highest = gained.ideal[rankings.ideal_place == 1][rankings.query]
        counts = self.above_cutoff(rankings) * ratio(gained.retrieved, highest)
        going_on = powers(self.p, int(rankings.rank.max(initial=0)))
        return (1.0 - self.p) * rankings.total(counts * going_on[rankings.rank - 1])


@dataclass(frozen=True, kw_only=True)
class RBPResidual(RBP):
    """How much RBP would rise if all documents unjudged or beyond the end were relevant.

    The true RBP lies between RBP and RBP + RBPResidual.
    """

    def score(self, rankings: Rankings) -> Floats:
        judged = (rankings.relevance >= 0) & self.above_cutoff(rankings)
        return 1.0 - rankings.total(judged * self.weights(rankings))


@dataclass(frozen=True, kw_only=True)
class ERR(Measure):
    """The expected reciprocal of the rank at which a reader is satisfied and stops.

    A document of grade g satisfies the reader with probability (2^g − 1) / 2^max;
    ERR = Σ 1/rank · P(satisfied here) · Π P(not satisfied above). ``max_rel`` is the highest
    grade of the scale; by default the highest in the judgements. Grades below ``rel`` and
    unjudged documents never satisfy the reader.
    """

    CITATION = "Chapelle et al., Expected reciprocal rank, CIKM 2009"
    CUTOFF = "rank"

    max_rel: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rel is not None and self.max_rel < 1:
            raise CitebedError(f"ERR: max_rel={self.max_rel} is not a grade from 1.")

    def score(self, rankings: Rankings) -> Floats:
        highest = rankings.highest
        if self.max_rel is not None:
            if highest > self.max_rel:
                raise CitebedError(
                    f"{self}: the judgements have grade {highest}, above max_rel={self.max_rel}."
                )
            highest = self.max_rel
        counts = (rankings.relevance >= max(self.rel, 1)) & self.above_cutoff(rankings)
        rows = np.flatnonzero(counts)
        # (2^g - 1) / 2^max, written so that no grade is too high for it
        satisfied = np.exp2(rankings.relevance[rows] - float(highest)) - np.exp2(-float(highest))
        query, place, rank = (
            rankings.query[rows],
            rankings.so_far(counts)[rows],
            rankings.rank[rows],
        )
        # Walk down all rankings together, one relevant document at a time.
        total, unsatisfied = np.zeros(rankings.queries), np.ones(rankings.queries)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(1, place.max(initial=0) + 2))
        for start, end in pairwise(ends.tolist()):
            some = order[start:end]
            at = query[some]
            total[at] += unsatisfied[at] * satisfied[some] / rank[some]
            unsatisfied[at] *= 1.0 - satisfied[some]
        return total
