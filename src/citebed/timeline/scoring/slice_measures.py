"""Measures of a slice: those of `citebed.evaluation` that have a mean."""

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
    """The measures that texts name, each once; ``AUC:rescaled`` is ``RescaledAUC``.

    Relevance is decided before slices and weights are made, so a measure's own ``rel`` is
    refused; so is one that has no mean, such as a count.
    """
    chosen: dict[Measure, None] = {}
    for text in [texts] if isinstance(texts, str | Measure) else texts:
        parts = [text] if isinstance(text, Measure) else split_names(text)
        chosen.update((_measure(part), None) for part in parts)
    for each in chosen:
        _check(each)
    return list(chosen) or slice_measures()


def _measure(text: str | Measure) -> Measure:
    if text == "AUC:rescaled":  # as the robustness study writes it
        return RescaledAUC()
    return measures([text])[0]


def _check(each: Measure) -> None:
    if each.rel != 1:
        raise CitebedError(
            f"{each}: slices and weights go by the relevant documents, so say for all measures "
            f"what is relevant: --rel {each.rel}."
        )
    if each.SUMMARY != "mean":
        raise CitebedError(f"{each} has no mean over slices; take another measure, such as AP.")


def uses_grades(each: Measure, graded: bool | None) -> bool:
    """Whether a measure is shown grades; else all relevant documents are alike, as in the paper.

    Unless told, those are that ask for gains: ERR, and nDCG with gains of its own
    (``dcg='exp-log2'``).
    """
    asks = isinstance(each, ERR) or (isinstance(each, nDCG) and each.dcg != "log2")
    return asks if graded is None else graded


def slice_values(
    measures: Sequence[Measure], everything: Rankings, accepted: Rankings, graded: bool | None
) -> Floats:
    """Every measure of every cell; 0 where the run returned nothing, whatever a measure says.

    Only RescaledAUC, of which 0 is an order at random, says itself what nothing is worth: −1.
    Measures of sets look at what was accepted: the documents above the threshold.
    """
    alike = {True: (everything, accepted), False: (binary(everything), binary(accepted))}
    rows = []
    for each in measures:
        seen = alike[uses_grades(each, graded)][isinstance(each, SET_BASED)]
        rows.append(np.where(seen.in_run, each.values(seen), empty_slice_score(each)))
    return np.stack(rows)


def empty_slice_score(each: Measure) -> float:
    """What a cell is worth in which the run returned nothing."""
    return each.empty if isinstance(each, RescaledAUC) else 0.0


def binary(rankings: Rankings) -> Rankings:
    """The same with all relevant documents alike."""
    return replace(
        rankings,
        relevance=np.minimum(rankings.relevance, 1),
        judged_relevance=np.minimum(rankings.judged_relevance, 1),
        highest=1,
        counts={},
    )
