"""Binary preference."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import FLOOR, Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class Bpref(Measure):
    """How rarely documents judged not relevant stand above relevant ones; others are ignored.

    bpref = 1/R · Σ (1 − min(n above d, R) / min(N, R)) over the relevant documents d retrieved,
    with N the documents judged not relevant, n above d those of them ranked above d.
    """

    CITATION = "Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        known = rankings.judged(self.rel)
        refused = rankings.judged(0) - known
        bound = np.minimum(known, refused)[rankings.query]
        above = rankings.so_far((rankings.relevance >= 0) & ~relevant)
        blame = ratio(np.minimum(above, known[rankings.query]), bound)
        return ratio(rankings.total(relevant * (1.0 - blame)), known)


class GMBpref(Bpref):
    """The geometric mean over queries of Bpref, at least 0.00001 each. trec_eval: ``gm_bpref``."""

    SUMMARY = "geometric mean"

    def score(self, rankings: Rankings) -> Floats:
        return np.maximum(super().score(rankings), FLOOR)
