"""An index in numbers, as the Cranfield-style collection paper reports its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from citebed.retrieval.index.index import Index

FREQUENT = 1000
"""A term in more documents than this is frequent."""


class FieldStatistics(NamedTuple):
    """A field: documents that have it, tokens, unique terms."""

    name: str
    documents: int
    tokens: int
    terms: int


class IndexStatistics(NamedTuple):
    """The whole index, and each field; citing text counts only as a field of its own.

    ``frequent`` are the terms in more than 1,000 documents.
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
    """Count what is in an index."""
    terms = len(index.terms)
    own = np.zeros(len(index.docs), bool)
    fields = []
    for name in index.fields:
        places, _ = index.tf[name].filled()
        if name != "citing":
            own[places] = True
        lengths = index.lengths[name]
        used = np.unique(index.terms_at(places))
        fields.append(
            FieldStatistics(name, int(np.count_nonzero(lengths)), int(lengths.sum()), len(used))
        )
    df = np.bincount(index.terms_at(np.flatnonzero(own)), minlength=terms)
    return IndexStatistics(
        analyser=index.description.analyser,
        documents=index.description.documents,
        tokens=sum(field.tokens for field in fields if field.name != "citing"),
        terms=int(np.count_nonzero(df)),
        frequent=int(np.count_nonzero(df > FREQUENT)),
        bytes=sum(int(entry["bytes"]) for entry in index.description.files.values()),
        current=index.is_current(),
        fields=tuple(fields),
    )


def index_rows(found: IndexStatistics) -> list[dict[str, str | int | float | None]]:
    """The same as flat rows: ``group``, ``name``, ``value``, ``share``."""
    whole = [(name, getattr(found, name)) for name in ("documents", "tokens", "terms")]
    whole += [(f"terms in more than {FREQUENT} documents", found.frequent), ("bytes", found.bytes)]
    rows = [("index", name, value) for name, value in whole]
    for field in found.fields:
        group = f"index field {field.name}"
        rows += [(group, name, getattr(field, name)) for name in ("documents", "tokens", "terms")]
    return [{"group": g, "name": n, "value": value, "share": None} for g, n, value in rows]
