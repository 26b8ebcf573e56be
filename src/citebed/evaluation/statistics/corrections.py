"""Corrections for making many comparisons at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.units import Floats


@dataclass(frozen=True)
class Correction:
    """One correction: its name, what it keeps to a level, its source, and how it is done.

    ``apply`` takes p-values in ascending order and gives them adjusted, not yet cut at 1.
    """

    name: str
    controls: str
    citation: str
    apply: Callable[[Floats], Floats]


def _holm(p: Floats) -> Floats:
    return np.maximum.accumulate(p * np.arange(len(p), 0, -1))


def _bh(p: Floats) -> Floats:
    stepped = p * len(p) / np.arange(1, len(p) + 1)
    return np.minimum.accumulate(stepped[::-1])[::-1]


CORRECTIONS: dict[str, Correction] = {
    correction.name: correction
    for correction in (
        Correction("none", "nothing: each comparison by itself", "", lambda p: p),
        Correction(
            "bonferroni",
            "the chance of any false finding, however the comparisons depend on one another",
            "Dunn (1961), Multiple Comparisons among Means",
            lambda p: p * len(p),
        ),
        Correction(
            "holm",
            "the chance of any false finding, as bonferroni, and never finds less",
            "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure",
            _holm,
        ),
        Correction(
            "bh",
            "the expected share of false ones among the findings, for comparisons that are "
            "independent or depend on one another positively",
            "Benjamini & Hochberg (1995), Controlling the False Discovery Rate",
            _bh,
        ),
    )
}
"""All corrections by name."""


def adjust(p_values: ArrayLike, method: str) -> Floats:
    """The p-values, corrected for their number; compare them with the level as they are.

    A p-value of nan is no comparison: it stays nan and is not counted.
    """
    correction = CORRECTIONS.get(method)
    if correction is None:
        raise UnknownName("correction", method, CORRECTIONS)
    p = np.array(p_values, dtype=np.float64)
    if p.ndim != 1 or bool(np.any((p < 0) | (p > 1))):
        raise CitebedError("expected a list of p-values, each from 0 to 1")
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    p[order] = np.minimum(correction.apply(p[order]), 1.0)
    return p
