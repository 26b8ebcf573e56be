"""Geometric mean of average precision."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.measures.ap import AP
from citebed.evaluation.measures.base import FLOOR
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class GMAP(AP):
    """The geometric mean over queries of average precision, which heeds the hardest queries.

    A query's value is its AP, at least 0.00001 as in trec_eval (``gm_map``), so that one zero
    does not make everything zero.
    """

    CITATION = "Robertson, On GMAP: and other transformations, CIKM 2006"
    CUTOFF = "none"
    SUMMARY = "geometric mean"

    def score(self, rankings: Rankings) -> Floats:
        return np.maximum(super().score(rankings), FLOOR)
