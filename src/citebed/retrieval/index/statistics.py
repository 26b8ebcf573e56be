"""An index in numbers: what a build did, and what the index contains."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np

from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import Description

FREQUENT = 1000
"""A term in more documents than this is frequent."""


class IndexReport(NamedTuple):
    """Counts that describe a build.

    ``counted``: documents whose words were counted; the others were taken over from the old index.
    ``embedded``, ``encoded``: vectors that the static model and the encoder made, in
    ``vector_seconds``; ``not_encoded``: missing vectors of an encoder that was not given.
    ``vectors_gone``: the model of the old word vectors is not on this machine, and the one that
    citebed ships replaced it. ``fitted_on``: sentences that the ranking weights were fitted on;
    ``words_share``: the fitted share of words in the score; ``tuned_on``: the questions that it was
    tuned on since.
    """

    documents: int
    counted: int
    terms: int
    postings: int
    bytes: int
    contexts: int
    contexts_elsewhere: int
    unchanged: bool = False
    embedded: int = 0
    encoded: int = 0
    not_encoded: int = 0
    vector_seconds: float = 0.0
    vector_bytes: int = 0
    vectors_gone: bool = False
    fitted_on: int = 0
    words_share: float = 0.0
    tuned_on: int = 0
    analyser: str = ""


class VectorSizes(TypedDict):
    """Bytes of an index, and of the vectors in it."""

    bytes: int
    vector_bytes: int


def vector_sizes(description: Description) -> VectorSizes:
    """Return the bytes of an index and of its vectors."""
    sizes = {name: int(entry["bytes"]) for name, entry in description.files.items()}
    vectors = sum(size for name, size in sizes.items() if name.startswith("vectors."))
    return {"bytes": sum(sizes.values()), "vector_bytes": vectors}


class FieldStatistics(NamedTuple):
    """A field: documents that have it, tokens, unique terms."""

    name: str
    documents: int
    tokens: int
    terms: int


class IndexStatistics(NamedTuple):
    """The whole index, and each field. Citing text counts only as a field of its own.

    ``frequent``: the number of terms in more than 1,000 documents.
    """

    analyser: str
    documents: int
    tokens: int
    terms: int
    frequent: int
    bytes: int
    current: bool
    fields: tuple[FieldStatistics, ...]


def index_statistics(index: Index) -> IndexStatistics:
    """Count what an index contains."""
    is_own = np.zeros(len(index.docs), bool)
    fields = []
    for name in index.fields:
        places, _ = index.tf[name].nonzero()
        if name != "citing":
            is_own[places] = True
        lengths = index.lengths[name]
        terms = len(np.unique(index.terms_at(places)))
        filled = int(np.count_nonzero(lengths))
        fields.append(FieldStatistics(name, filled, int(lengths.sum()), terms))
    df = np.bincount(index.terms_at(np.flatnonzero(is_own)), minlength=len(index.terms))
    return IndexStatistics(
        analyser=index.description.analyser,
        documents=index.description.documents,
        tokens=sum(field.tokens for field in fields if field.name != "citing"),
        terms=int(np.count_nonzero(df)),
        frequent=int(np.count_nonzero(df > FREQUENT)),
        bytes=vector_sizes(index.description)["bytes"],
        current=index.is_current(),
        fields=tuple(fields),
    )


def index_rows(found: IndexStatistics) -> list[dict[str, str | int | float | None]]:
    """Return the same as flat rows: ``group``, ``name``, ``value``, ``share``."""
    whole = [(name, getattr(found, name)) for name in ("documents", "tokens", "terms")]
    whole += [(f"terms in more than {FREQUENT} documents", found.frequent), ("bytes", found.bytes)]
    rows = [("index", name, value) for name, value in whole]
    for field in found.fields:
        group = f"index field {field.name}"
        rows += [(group, name, getattr(field, name)) for name in ("documents", "tokens", "terms")]
    return [{"group": g, "name": n, "value": value, "share": None} for g, n, value in rows]
