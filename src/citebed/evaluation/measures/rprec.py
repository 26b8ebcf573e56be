"""R-precision."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


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
