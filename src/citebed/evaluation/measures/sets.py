"""Measures of the retrieved documents as a set, in whatever order, and counts of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class SetP(Measure):
    """The share of the retrieved documents that are relevant."""

    def score(self, rankings: Rankings) -> Floats:
        return ratio(self.hits(rankings), rankings.retrieved.astype(float))


class SetRelativeP(Measure):
    """SetP divided by the best possible with as many documents: found / min(retrieved, R).

    trec_eval: ``set_relative_P``.
    """

    def score(self, rankings: Rankings) -> Floats:
        best = np.minimum(rankings.retrieved, rankings.judged(self.rel))
        return ratio(self.hits(rankings), best)


class SetR(Measure):
    """The share of the relevant documents that are retrieved."""

    def score(self, rankings: Rankings) -> Floats:
        return ratio(self.hits(rankings), rankings.judged(self.rel))


@dataclass(frozen=True, kw_only=True)
class SetF(Measure):
    """The weighted harmonic mean of SetP and SetR.

    F = (1 + β)·P·R / (β·P + R), 0 if both are 0. As in trec_eval (``set_F``) and ir_measures β
    is not squared: van Rijsbergen's F₂ is ``beta=4`` here, and ``beta=0`` is SetP.
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.beta >= 0:
            raise CitebedError(f"SetF: beta={self.beta} is below 0.")

    def score(self, rankings: Rankings) -> Floats:
        precision, recall = (of(rel=self.rel).score(rankings) for of in (SetP, SetR))
        beta = self.beta
        return ratio((beta + 1) * precision * recall, beta * precision + recall)


class SetAP(Measure):
    """SetP times SetR."""

    def score(self, rankings: Rankings) -> Floats:
        hits = self.hits(rankings)
        return ratio(hits * hits, rankings.retrieved * rankings.judged(self.rel))


@dataclass(frozen=True, kw_only=True)
class Utility(Measure):
    """Relevant documents retrieved, minus other documents retrieved.

    The four parameters set the value of each relevant document retrieved, other document
    retrieved, relevant document missed and other document missed. ``documents`` is the size
    of the collection.
    """

    RANGE = (float("-inf"), float("inf"))

    relevant_retrieved: float = 1.0
    other_retrieved: float = -1.0
    relevant_missed: float = 0.0
    other_missed: float = 0.0
    documents: int = 0

    def score(self, rankings: Rankings) -> Floats:
        hits, known = self.hits(rankings), rankings.judged(self.rel)
        missed = known - hits
        others = self.documents - rankings.retrieved - missed
        with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest
            return np.asarray(
                self.relevant_retrieved * hits
                + self.other_retrieved * (rankings.retrieved - hits)
                + self.relevant_missed * missed
                + self.other_missed * others
            )


class SU(Measure):
    """Scaled utility of a filter: a hit is worth 2, a false alarm costs 1.

    SU = (max(NU, −0.5) + 0.5) / 1.5 with NU = (2·TP − FP) / (2·(TP + FN)). Returning nothing
    scores 1/3. Without relevant documents it is 0.
    """

    CITATION = "Robertson & Soboroff, The TREC 2002 filtering track report, TREC 2002"

    def score(self, rankings: Rankings) -> Floats:
        hits = self.hits(rankings)
        known = rankings.judged(self.rel)
        utility = 2 * hits - (rankings.retrieved - hits)
        scaled = (np.maximum(ratio(utility, 2 * known), -0.5) + 0.5) / 1.5
        return np.where(known > 0, scaled, 0.0)


class _Count(Measure):
    SUMMARY = "sum"
    RANGE = (0.0, float("inf"))

    def summary(self, values: Floats) -> float:
        return float(values.sum())


class NumQ(_Count):
    """The number of queries measured."""

    def score(self, rankings: Rankings) -> Floats:
        return np.ones(rankings.queries)


class NumRet(_Count):
    """The number of documents retrieved."""

    def score(self, rankings: Rankings) -> Floats:
        return rankings.retrieved.astype(np.float64)


class NumRel(_Count):
    """The number of relevant documents."""

    def score(self, rankings: Rankings) -> Floats:
        return rankings.judged(self.rel)


class NumRelRet(_Count):
    """The number of relevant documents retrieved."""

    def score(self, rankings: Rankings) -> Floats:
        return self.hits(rankings)


class NumNonRelRet(_Count):
    """The number of documents retrieved that were judged not relevant.

    trec_eval: ``num_nonrel_judged_ret``.
    """

    def score(self, rankings: Rankings) -> Floats:
        return rankings.count((rankings.relevance >= 0) & ~self.relevant(rankings))
