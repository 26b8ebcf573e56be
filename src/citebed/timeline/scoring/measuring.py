"""Measures of a slice: those of `citebed.evaluation`, and AUC rescaled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures import AUC, SU, Measure, SetAP, SetF, SetP, SetR, Utility
from citebed.evaluation.measures.grammar import measure, measures, split_names
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats

DEFAULT_MEASURES = ("AP", "nDCG@R", "Rprec")
SET_BASED = (SetP, SetR, SetF, SetAP, SU, Utility)


class RescaledAUC(AUC):
    """AUC on the scale from -1 to 1: 2·AUC - 1, so that an order at random scores 0.

    Dietz, Dalton & Balog found that the area agrees over slices of different size only so.
    """

    NAME: ClassVar[str] = "RescaledAUC"
    RANGE: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def score(self, rankings: Rankings) -> Floats:
        return 2 * super().score(rankings) - 1


def slice_measures(
    texts: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
) -> list[Measure]:
    """The measures that texts name, each once; ``RescaledAUC`` is known here too.

    Relevance is decided before slices and weights are made, so a measure's own ``rel`` is
    refused; so is one that has no mean, such as a count.
    """
    found: dict[Measure, None] = {}
    for text in [texts] if isinstance(texts, str | Measure) else texts:
        parts = [text] if isinstance(text, Measure) else split_names(text)
        found.update((_measure(part), None) for part in parts)
    for each in found:
        _check(each)
    return list(found) or slice_measures()


def _measure(text: str | Measure) -> Measure:
    if text == "AUC:rescaled":  # as the robustness study writes it
        return RescaledAUC()
    if isinstance(text, str) and text.lower().startswith(RescaledAUC.NAME.lower()):
        plain = measure(AUC.NAME + text[len(RescaledAUC.NAME) :])
        return RescaledAUC(rel=plain.rel, judged_only=plain.judged_only)
    return measures([text])[0]


def _check(each: Measure) -> None:
    if each.rel != 1:
        raise CitebedError(
            f"{each}: slices and weights go by the relevant documents, so say for all measures "
            f"what is relevant: --rel {each.rel}."
        )
    if each.SUMMARY != "mean":
        raise CitebedError(f"{each} has no mean over slices; take another measure, such as AP.")


def slice_values(each: Measure, everything: Rankings, accepted: Rankings) -> Floats:
    """The measure of every cell; 0 where the run returned nothing, whatever the measure says.

    Measures of sets look at what was accepted: the documents above the threshold.
    """
    seen = accepted if isinstance(each, SET_BASED) else everything
    return np.where(seen.in_run, each.values(seen), 0.0)
