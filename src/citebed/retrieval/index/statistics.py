"""An index in numbers: what building it did, and what is in it, as a collection paper reports."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np

from citebed.retrieval.index.embedding import Embedded
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import Description

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


class IndexReport(NamedTuple):
    """What building did: documents taken over from the old index, counted anew, and all.

    ``embedded`` and ``encoded`` are the vectors that the static model and the encoder made anew,
    in ``vector_seconds``; ``not_encoded`` those that are missing since no encoder was given.
    ``vectors_gone`` says that the model of the word vectors of before is not on this machine, so
    that the one of this citebed took its place. ``fitted_on`` are the sentences of the collection
    that taught how much words count beside word vectors, ``words_share`` is what they taught, or
    what the questions did that it was ``tuned_on`` since. ``analyser`` made the terms.
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
    """How large the index of a description is, and its vectors."""
    sizes = {name: int(entry["bytes"]) for name, entry in description.files.items()}
    vectors = sum(size for name, size in sizes.items() if name.startswith("vectors."))
    return {"bytes": sum(sizes.values()), "vector_bytes": vectors}


def report_of(
    description: Description,
    counted: int,
    contexts: int,
    elsewhere: int,
    embedded: Embedded,
    unchanged: bool = False,
) -> IndexReport:
    """What became of the index of a description."""
    return IndexReport(
        documents=description.documents,
        counted=counted,
        terms=description.terms,
        postings=description.postings,
        contexts=contexts,
        contexts_elsewhere=elsewhere,
        unchanged=unchanged,
        embedded=embedded.made,
        not_encoded=int(description.vectors.get("encoder", {}).get("missing", 0)),
        vector_seconds=round(embedded.seconds, 3),
        analyser=description.analyser,
        **vector_sizes(description),
    )
