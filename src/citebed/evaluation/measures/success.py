"""Success at a rank."""

from __future__ import annotations

from typing import ClassVar

from citebed.evaluation.measures.base import CutoffKind, Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class Success(Measure):
    """1 if a relevant document stands within the first k, else 0."""

    NAME: ClassVar[str] = "Success"
    CITATION: ClassVar[str] = "Tomlinson, Sampling precision to depth 9000, TREC 2006"
    CUTOFF: ClassVar[CutoffKind] = "rank"
    NEEDS_CUTOFF: ClassVar[bool] = True

    def score(self, rankings: Rankings) -> Floats:
        found = rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))
        return (found > 0).astype(float)
