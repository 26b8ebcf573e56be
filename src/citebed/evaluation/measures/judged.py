"""The judged share of a ranking, and a measure that ignores unjudged documents."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import FLOOR, Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class Judged(Measure):
    """The share of the first k retrieved documents that have a judgement, relevant or not.

    If fewer than k were retrieved, it is the share of all retrieved documents.
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return ratio(judged, np.minimum(rankings.retrieved, self.cutoff).astype(np.float64))


class Unjudged(Measure):
    """The share of the first k documents without a judgement.

    Divided by k even if fewer documents were retrieved, as in trec_eval 10 (``unj``).
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return np.asarray((np.minimum(rankings.retrieved, self.cutoff) - judged) / self.cutoff)


class Bpref(Measure):
    """How rarely documents judged not relevant rank above relevant ones; unjudged ones are ignored.

    bpref = 1/R · Σ (1 − min(n above d, R) / min(N, R)) over the relevant documents d retrieved,
    where N documents are judged not relevant, and "n above d" of them rank above d.
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
    """The geometric mean of Bpref over queries, at least 0.00001 each. trec_eval: ``gm_bpref``."""

    SUMMARY = "geometric mean"

    def score(self, rankings: Rankings) -> Floats:
        return np.maximum(super().score(rankings), FLOOR)
