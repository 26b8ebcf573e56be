"""The signals of a document for a text, one by one, straight from the collection's tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from citebed.retrieval.dense.static_model import shipped_model

Row = Mapping[str, Any]


def similarities(sentences: Sequence[str], documents: Sequence[str]) -> tuple[Any, Any]:
    """How like each document is to the whole text, and to its best sentence, between 0 and 1."""
    model = shipped_model()
    rows = model.documents(list(documents))
    whole = [float(np.dot(model.queries([" ".join(sentences)])[0], row)) for row in rows]
    best = [max(float(np.dot(model.queries([s])[0], row)) for s in sentences) for row in rows]
    return _spread(whole), _spread(best)


def _spread(values: Sequence[float]) -> list[float]:
    least, most = min(0.0, *values), max(0.0, *values)
    return [(value - least) / max(most - least, 1e-9) for value in values]


def helpful(contexts: Sequence[Row], paper: str | None, year: int | None) -> list[Row]:
    """The citing sentences that may help: not the asking paper's own, only earlier years'."""
    return [
        row
        for row in contexts
        if row["paper"] != paper and (year is None or not row["year"] or row["year"] < year)
    ]


def cited(contexts: Sequence[Row], document: str) -> float:
    return math.log1p(len({row["paper"] for row in contexts if row["doc"] == document}))


def cocited(contexts: Sequence[Row], document: str, beside: Sequence[str]) -> float:
    papers = {row["paper"] for row in contexts if row["doc"] in beside}
    both = {row["paper"] for row in contexts if row["doc"] == document} & papers
    return math.log1p(len(both))


def citing(contexts: Sequence[Row], document: str, sentences: Sequence[str]) -> float:
    """The logarithm of the sum of how like each citing sentence is, where it is at least 0.35."""
    model, total = shipped_model(), 0.0
    for row in contexts:
        if row["doc"] == document:
            said = model.queries([row["text"]])[0]
            likeness = max(float(np.dot(model.queries([s])[0], said)) for s in sentences)
            total += likeness if likeness > 0.35 else 0.0
    return math.log1p(total)
