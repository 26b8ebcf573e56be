"""Fit the models of confidence: which texts ask for a citation, and which documents are right.

`citebed.retrieval.ranking.confidence` has the models and their columns. ``bench/confidence.py``
collects the examples and calls `fit_models`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Columns = Mapping[str, Reals]

_SHARED = ("titles", "documents*content", "documents*documents")
_ASKS = {
    "vectors": (
        "static", "static*static", "documents", "documents*static", "bm25", "documents*bm25",
        "matched", "strange", "documents*strange", "content", "kind", "share", "named",
        "sentences", "sentences*static", "titles*static", "titles*bm25", "documents*kind",
        "kind*kind", *_SHARED,
    ),
    "words": (
        "bm25", "documents", "documents*bm25", "matched", "strange", "documents*strange",
        "content", "share", "documents*share", "named", "sentences", "titles*bm25",
        "titles*share", *_SHARED,
    ),
}  # fmt: skip
_RIGHT = {
    "vectors": (
        "static", "static*static", "whole", "bm25", "share", "matched", "lead", "bm25_part",
        "documents*bm25_part", "sentence_part", "strange", "content", "kind", "documents",
        "documents*static", "named", "sentences", "titles", "titles*static", "titles*share",
    ),
    "words": (
        "bm25", "share", "matched", "lead", "bm25_part", "documents*bm25_part", "sentence_part",
        "strange", "content", "documents", "documents*share", "named", "sentences", "titles",
        "titles*share",
    ),
}  # fmt: skip
_ASKS_WEIGHTS = {
    "cites": 3.0, "cites, paragraph": 2.0, "other field": 1.5, "other field, paragraph": 1.0,
    "everyday": 1.0, "boilerplate": 2.5, "thirty fields": 0.8,
}  # fmt: skip
"""How much the texts of each kind of a library count together."""
_RIGHT_WEIGHTS = {"cites": 1.0, "cites, paragraph": 0.5, "cites others": 0.15}
_LARGEST, _LARGEST_WEIGHT = 100_000, 4.0
"""There is one collection of this size among dozens of small ones."""
_NAMED = 2.0
"""The weight of a named author for texts that are judged by words, set by hand: hardly any of the
English sentences to learn from names one, but in another language there may be nothing else."""
_LOST = 0.025
"""The share of texts with a right document in ten that may get no recommendation."""


class WrittenText(NamedTuple):
    """A text written for training: its kind (``asks``, ``everyday``, ``boilerplate``), its
    subject."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Example:
    """The columns of a text and of its first ten documents, and which of these are right."""

    kind: str
    library: int
    text: Columns
    documents: Columns
    is_right: NDArray[np.bool_]


def written_texts() -> list[WrittenText]:
    """Return the texts that were written for training."""
    with Path(__file__).with_name("asking.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [WrittenText(*row) for row in rows]


def fit_models(source: str, examples: Sequence[Example]) -> dict[str, Any]:
    """Fit both models for a ``source`` (``vectors`` or ``words``), as confidence.json has them."""
    asking = [
        each
        for each in examples
        if each.kind in _ASKS_WEIGHTS and (not each.kind.startswith("cites") or each.is_right.any())
    ]
    x = np.concatenate([_table(each.text, _ASKS[source]) for each in asking])
    asks = np.array([each.kind.startswith("cites") for each in asking])
    weights = _weights(asking, _ASKS_WEIGHTS)
    large = np.array([each.text["documents"][0] > np.log(_LARGEST) for each in asking])
    weights = np.where(large, _LARGEST_WEIGHT * weights, weights)
    text_model = _fit(x, asks, weights, _ASKS[source], 1e-4)
    if source == "words":
        text_model["named"] = _NAMED
    odds = text_model["constant"] + x @ [text_model[name] for name in _ASKS[source]]
    probabilities = 1 / (1 + np.exp(-odds[asks]))
    cited = [each for each in examples if each.kind in _RIGHT_WEIGHTS]
    rows = np.concatenate([_table(each.documents, _RIGHT[source]) for each in cited])
    is_right = np.concatenate([each.is_right for each in cited])
    counts = [len(each.is_right) for each in cited]
    right = _fit(
        rows, is_right, np.repeat(_weights(cited, _RIGHT_WEIGHTS), counts), _RIGHT[source], 1e-5
    )
    return {
        "min_probability": round(float(np.quantile(probabilities, _LOST)), 4),
        "prior": round(float(weights[asks].sum() / weights.sum()), 4),
        "asks": {name: round(value, 4) for name, value in text_model.items()},
        "right": {name: round(value, 4) for name, value in right.items()},
    }


def _table(columns: Columns, names: Sequence[str]) -> Reals:
    found = [np.prod([columns[part] for part in name.split("*")], axis=0) for name in names]
    return np.column_stack(found)


def _weights(examples: Sequence[Example], of_kinds: Mapping[str, float]) -> Reals:
    """Return weights so that each kind of each library counts by its kind, however many it has."""
    groups = [(each.library, each.kind) for each in examples]
    sizes = {group: groups.count(group) for group in set(groups)}
    return np.array([of_kinds[kind] / sizes[library, kind] for library, kind in groups])


def _fit(
    x: Reals, y: NDArray[np.bool_], weights: Reals, names: Sequence[str], penalty: float
) -> dict[str, float]:
    means, spreads = x.mean(axis=0), x.std(axis=0) + 1e-9
    inputs = np.column_stack([(x - means) / spreads, np.ones(len(x))])
    fitted = logistic(inputs, y, weights, penalty)
    slopes = fitted[:-1] / spreads
    constant = float(fitted[-1] - slopes @ means)
    return {"constant": constant, **dict(zip(names, slopes.tolist(), strict=True))}


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
