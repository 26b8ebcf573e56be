"""Train the model of citation need: the probability that a text needs a citation.

Training compares two kinds of texts. The first are sentences whose citation is among the top
documents. The second are texts that cite nothing: everyday texts, and what papers say about
themselves (``asking.tsv``, written for this purpose).

First, a logistic regression over word vectors learns the kind of a text. Its citing sentences come
from the collections and from thirty more fields, so that it does not confuse kinds with fields.
Then citebed trains the model of all clues. The kind of each text in it is predicted by a model that
did not see the text.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.ranking.citation_need import compute_features, measure_background
from citebed.retrieval.ranking.ranker import (
    NEED_FEATURES,
    CitationNeedModel,
    Level,
    Ranker,
)
from citebed.retrieval.vectors.vectors import Embedder, Vectors

Reals = NDArray[np.float64]
_FOLDS = 5
"""Folds of the cross-validation that predicts kinds."""
_SILENT_SHARE = 0.009
"""The share of sentences with a retrieved citation that may get no recommendation."""
_PENALTY = 1e-3
_KINDS = ("asks", "everyday", "boilerplate")


class WrittenText(NamedTuple):
    """A text written for training: its kind (``asks``, ``everyday``, ``boilerplate``), its
    subject."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True, eq=False)
class Source:
    """A collection to learn from: its index, and sentences whose citation is found in it."""

    index: Index
    level: Level
    sentences: Sequence[str]


def written_texts() -> list[WrittenText]:
    """Return the texts that were written for training."""
    with files(__package__).joinpath("asking.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [WrittenText(*row) for row in rows]


def train_citation_need(
    sources: Sequence[Source], ranker: Ranker, model: Embedder
) -> CitationNeedModel:
    """Train on collections; ``ranker`` and ``model`` rank the documents."""
    texts = {kind: [t.text for t in written_texts() if t.kind == kind] for kind in _KINDS}
    vectors = {kind: model.queries(own) for kind, own in texts.items()}
    cited = [model.queries(source.sentences) for source in sources]
    groups = [*cited, vectors["asks"]], [vectors["boilerplate"]]
    kind, constant = _fit_kind(*groups)
    blank = CitationNeedModel(np.zeros(len(NEED_FEATURES)), 0.0, kind, constant, 0.0)
    ranker = replace(ranker, citation_need=blank)
    tables, labels, weights = [], [], []
    for source, own in zip(sources, cited, strict=True):
        behind = measure_background(source.index, ranker, model, source.level)
        for sentences, rows, needs_citation, weight in (
            (source.sentences, own, True, 1.0),
            (texts["everyday"], vectors["everyday"], False, 0.5),
            (texts["boilerplate"], vectors["boilerplate"], False, 0.5),
        ):
            clues = compute_features(source.index, ranker, model, source.level, sentences)
            table = behind.standardise(clues)
            table[:, -1] = _predict_kinds(groups, rows, kind, constant)
            tables.append(table)
            labels.append(np.full(len(table), needs_citation))
            weights.append(np.full(len(table), weight / len(table)))
    x, y = np.concatenate(tables), np.concatenate(labels)
    spread = x.std(axis=0)
    spread[spread == 0] = 1
    inputs = np.column_stack([x / spread, np.ones(len(x))])
    fitted = logistic(inputs, y, np.concatenate(weights), _PENALTY)
    need = replace(blank, weights=fitted[:-1] / spread, constant=float(fitted[-1]))
    minimum = float(np.quantile(need.predict(x[y]), _SILENT_SHARE))
    return replace(need, min_probability=minimum)


def _fit_kind(asks: Sequence[Vectors], others: Sequence[Vectors]) -> tuple[Reals, float]:
    """Fit weights and a constant that separate the kinds.

    Each group counts the same on its side.
    """
    groups = [*asks, *others]
    x = np.concatenate(groups)
    y = np.repeat([*(True for _ in asks), *(False for _ in others)], [len(g) for g in groups])
    sides = [len(asks)] * len(asks) + [len(others)] * len(others)
    counts = [1 / (len(g) * n) for g, n in zip(groups, sides, strict=True)]
    row_weights = np.repeat(counts, [len(g) for g in groups])
    weights = logistic(np.column_stack([x, np.ones(len(x))]), y, row_weights, _PENALTY)
    return weights[:-1], float(weights[-1])


def _predict_kinds(
    groups: tuple[Sequence[Vectors], Sequence[Vectors]], rows: Vectors, kind: Reals, constant: float
) -> Reals:
    """Predict the kinds of texts; for training texts, with models that did not see them."""
    predicted = np.asarray(rows @ kind + constant)
    if not any(rows is group for side in groups for group in side):
        return predicted
    fold = np.arange(len(rows)) % _FOLDS
    for number in range(_FOLDS):
        others = [
            [group[np.arange(len(group)) % _FOLDS != number] for group in side] for side in groups
        ]
        own, own_constant = _fit_kind(*others)
        predicted[fold == number] = rows[fold == number] @ own + own_constant
    return predicted


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
