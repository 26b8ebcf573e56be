"""Fit the models of confidence: which texts ask for a citation, and which documents are right.

`citebed.retrieval.ranking.confidence` has the models and their columns. ``bench/confidence.py``
collects the examples.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


class WrittenText(NamedTuple):
    """A text written for training: its kind (``asks``, ``everyday``, ``boilerplate``), its
    subject."""

    kind: str
    subject: str
    text: str


def written_texts() -> list[WrittenText]:
    """Return the texts that were written for training."""
    with files(__package__).joinpath("asking.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [WrittenText(*row) for row in rows]


def logistic(x: Reals, y: NDArray[np.bool_], row_weights: Reals, penalty: float) -> Reals:
    """Fit a logistic regression with weighted rows and an L2 penalty.

    The last column is the constant, which has no penalty.
    """
    from scipy.optimize import minimize

    signs, shares = np.where(y, 1, -1), row_weights / row_weights.sum()

    def loss(weights: Reals) -> tuple[float, Reals]:
        odds = signs * (x @ weights)
        penalised = np.append(weights[:-1], 0)
        slope = -(shares * signs / (1 + np.exp(odds))) @ x
        total = float(shares @ np.logaddexp(0, -odds)) + penalty * float(penalised @ penalised)
        return total, slope + 2 * penalty * penalised

    fitted = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(fitted.x, np.float64)
