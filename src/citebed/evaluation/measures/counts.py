"""Counts, which are added up over queries."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


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
        return rankings.count(self.relevant(rankings))


class NumNonRelRet(_Count):
    """The number of documents retrieved that were judged not relevant.

    trec_eval: ``num_nonrel_judged_ret``.
    """

    def score(self, rankings: Rankings) -> Floats:
        return rankings.count((rankings.relevance >= 0) & ~self.relevant(rankings))
