"""Measures of a slice: all of `citebed.evaluation` that have a mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures import (
    ERR,
    SU,
    Measure,
    RescaledAUC,
    SetAP,
    SetF,
    SetP,
    SetR,
    Utility,
    nDCG,
)
from citebed.evaluation.measures.names import measures, split_names
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats

DEFAULT_MEASURES = ("AP", "nDCG@R", "Rprec")
SET_BASED = (SetP, SetR, SetF, SetAP, SU, Utility)


def slice_measures(
    texts: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
) -> list[Measure]:
    """Parse measures, each once; ``AUC:rescaled`` is ``RescaledAUC``.

    A measure must not set ``rel``, since slices and weights depend on which documents are
    relevant. It must have a mean, unlike counts.
    """
    chosen: dict[Measure, None] = {}
    for text in [texts] if isinstance(texts, str | Measure) else texts:
        for part in [text] if isinstance(text, Measure) else split_names(text):
            # The robustness study writes AUC:rescaled.
            chosen[RescaledAUC() if part == "AUC:rescaled" else measures([part])[0]] = None
    for each in chosen:
        if each.rel != 1:
            raise CitebedError(
                f"{each}: a measure cannot set rel here, since slices and weights depend on it. "
                f"Use --rel {each.rel} for all measures."
            )
        if each.SUMMARY != "mean":
            raise CitebedError(f"{each} has no mean over slices; take another measure, such as AP.")
    return list(chosen) or slice_measures()


def uses_grades(each: Measure, graded: bool | None) -> bool:
    """Return True if a measure uses grades; otherwise relevance is binary, as in the paper.

    With ``graded=None`` only ERR and nDCG with ``dcg='exp-log2'`` use grades.
    """
    asks = isinstance(each, ERR) or (isinstance(each, nDCG) and each.dcg != "log2")
    return asks if graded is None else graded


def slice_values(
    measures: Sequence[Measure], everything: Rankings, accepted: Rankings, graded: bool | None
) -> Floats:
    """Score every pair with every measure; a pair without documents scores 0.

    RescaledAUC has its own value there (by default −1), because 0 is the score of a random order.
    Set-based measures use only the ``accepted`` documents, those above the threshold.
    """
    alike = {True: (everything, accepted), False: (binary(everything), binary(accepted))}
    rows = []
    for each in measures:
        seen = alike[uses_grades(each, graded)][isinstance(each, SET_BASED)]
        rows.append(np.where(seen.in_run, each.values(seen), empty_slice_score(each)))
    return np.stack(rows)


def empty_slice_score(each: Measure) -> float:
    """Return the score of a pair without documents."""
    return each.empty if isinstance(each, RescaledAUC) else 0.0


def binary(rankings: Rankings) -> Rankings:
    """Return the rankings with binary relevance."""
    return replace(
        rankings,
        relevance=np.minimum(rankings.relevance, 1),
        judged_relevance=np.minimum(rankings.judged_relevance, 1),
        highest=1,
        counts={},
    )
