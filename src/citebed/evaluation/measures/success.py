"""Success at a rank."""

from __future__ import annotations

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class Success(Measure):
    """1 if a relevant document stands within the first k, else 0."""

    CITATION = "Tomlinson, Sampling precision to depth 9000, TREC 2006"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        found = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        return (found > 0).astype(float)
