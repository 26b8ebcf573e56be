"""The signals of a document for a text, one by one, straight from the collection's tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from citebed.retrieval.vectors.static_model import shipped_model

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


def authors(contexts: Sequence[Row], documents: Sequence[Row], document: Row) -> float:
    """Papers that cite other documents of an author, summed; of the best known author."""
    sums = []
    for author in document.get("authors", ()):
        others = [
            each["doc_id"]
            for each in documents
            if each["doc_id"] != document["doc_id"]
            and author.lower() in [name.lower() for name in each.get("authors", ())]
        ]
        pairs = {(row["doc"], row["paper"]) for row in contexts if row["doc"] in others}
        sums.append(len(pairs))
    return math.log1p(max(sums, default=0))


def peers(documents: Sequence[Row], fitting: Sequence[str], document: Row) -> float:
    """Count the other matching documents by an author of the document; return the largest count."""
    own = {name.lower() for name in document.get("authors", ())}
    others = [each for each in documents if each["doc_id"] in fitting and each is not document]
    written = [{name.lower() for name in each.get("authors", ())} for each in others]
    return math.log1p(max((sum(name in some for some in written) for name in own), default=0))


def citing(contexts: Sequence[Row], document: str, sentences: Sequence[str]) -> float:
    """The logarithm of the sum of how like each citing sentence is, where it is at least 0.35."""
    model, total = shipped_model(), 0.0
    for row in contexts:
        if row["doc"] == document:
            said = model.queries([row["text"]])[0]
            likeness = max(float(np.dot(model.queries([s])[0], said)) for s in sentences)
            total += likeness if likeness > 0.35 else 0.0
    return math.log1p(total)
