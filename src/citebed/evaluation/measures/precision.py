"""Precision and recall at a rank, and the rank of the first relevant document."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class P(Measure):
    """Precision: the share of the first k documents that are relevant.

    Divided by k even if fewer documents were retrieved, as in trec_eval (``P``).
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        hits = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return hits / self.cutoff


class RelativeP(Measure):
    """Precision divided by the best possible with k documents: found / min(k, R).

    trec_eval: ``relative_P``.
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        hits = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        assert isinstance(self.cutoff, int)
        return ratio(hits, np.minimum(rankings.judged(self.rel), self.cutoff))


class R(Measure):
    """Recall: the share of the relevant documents that are among the first k.

    Without relevant documents it is 0.
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        hits = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        return ratio(hits, rankings.judged(self.rel))


class Rprec(Measure):
    """Precision at rank R, the number of relevant documents of the query (where recall is equal).

    Without relevant documents it is 0.
    """

    CITATION = "Buckley & Voorhees, Retrieval system evaluation, in TREC, MIT 2005"

    def score(self, rankings: Rankings) -> Floats:
        known = rankings.judged(self.rel)
        within = rankings.rank <= known[rankings.query]
        return ratio(rankings.count(self.relevant(rankings) & within), known)


class RprecMult(Measure):
    """Precision at a multiple of R: after ⌊x · R + 0.9⌋ documents, for ``RprecMult@x``.

    trec_eval: ``Rprec_mult``.
    """

    CUTOFF = "multiple"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        assert isinstance(self.cutoff, int | float)
        last = np.floor(self.cutoff * rankings.judged(self.rel) + 0.9)
        within = rankings.rank <= last[rankings.query]
        return ratio(rankings.count(self.relevant(rankings) & within), last)


class RR(Measure):
    """Reciprocal rank: one over the rank of the first relevant document.

    It is 0 without a relevant document within the cut-off.
    """

    CITATION = "Kantor & Voorhees, The TREC-5 confusion track, Inf. Retr. 2, 2000"
    CUTOFF = "rank"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        first = relevant & (rankings.so_far(relevant) == 1) & self.above_cutoff(rankings)
        return rankings.total(first / rankings.rank)


class Success(Measure):
    """1 if a relevant document is among the first k, else 0."""

    CITATION = "Tomlinson, Sampling precision to depth 9000, TREC 2006"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        hits = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        return (hits > 0).astype(float)
