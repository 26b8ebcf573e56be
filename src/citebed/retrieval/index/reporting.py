"""What building an index did."""

from __future__ import annotations

from typing import NamedTuple

from citebed.retrieval.index.embedding import Embedded
from citebed.retrieval.index.layout import Description


class IndexReport(NamedTuple):
    """What building did: documents taken over from the old index, counted anew, and all.

    ``embedded`` and ``encoded`` are the vectors that the static model and the encoder made anew,
    in ``vector_seconds``; ``not_encoded`` those that are missing since no encoder was given.
    ``vectors_gone`` says that the model of the word vectors of before is not on this machine, so
    that the one of this citebed took its place.
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


def report_of(
    description: Description,
    counted: int,
    contexts: int,
    elsewhere: int,
    embedded: Embedded,
    unchanged: bool = False,
) -> IndexReport:
    """What became of the index of a description."""
    sizes = {name: int(entry["bytes"]) for name, entry in description.files.items()}
    return IndexReport(
        documents=description.documents,
        counted=counted,
        terms=description.terms,
        postings=description.postings,
        bytes=sum(sizes.values()),
        contexts=contexts,
        contexts_elsewhere=elsewhere,
        unchanged=unchanged,
        embedded=embedded.made.get("static", 0),
        encoded=embedded.made.get("encoder", 0),
        not_encoded=int(description.vectors.get("encoder", {}).get("missing", 0)),
        vector_seconds=round(embedded.seconds, 3),
        vector_bytes=sum(size for name, size in sizes.items() if name.startswith("vectors.")),
    )
