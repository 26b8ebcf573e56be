"""The sentences with which other papers cite documents: who says what of which document, and when.

They are kept in the order of the documents that they cite. A citing sentence's vector is that of
a text that looks for documents, so that a sentence finds others that ask for the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Embedder
from citebed.retrieval.dense.vectors import DocumentVectors, quantised
from citebed.retrieval.index.strings import Strings

Arrays = Mapping[str, NDArray[Any]]
NAMES = (
    *("citing.docs", "citing.papers", "citing.years"),
    *("citing.text", "citing.text.offsets", "vectors.citing", "vectors.citing.scales"),
)


def arrays_of(
    documents: NDArray[np.int64],
    papers: NDArray[np.int64],
    years: Sequence[int | None],
    texts: Sequence[str],
    model: Embedder,
) -> dict[str, NDArray[Any]]:
    """The arrays of citing sentences: the document and the paper of each by number, its text; and
    the year of each paper."""
    order = np.argsort(documents, kind="stable")
    texts = [texts[place] for place in order.tolist()]
    rows, scales = quantised(model.queries(texts))
    blob, offsets = Strings.packed(texts)
    found: tuple[NDArray[Any], ...] = (
        *(documents[order].astype(np.uint32), papers[order].astype(np.uint32)),
        *(np.array([year or 0 for year in years], np.int32), blob, offsets, rows, scales),
    )
    return dict(zip(NAMES, found, strict=True))


class CitingSentences:
    """Citing sentences by number; a year that is not known is 0."""

    def __init__(self, arrays: Arrays, fingerprint: str) -> None:
        docs, papers, years, blob, offsets, rows, scales = (arrays[name] for name in NAMES)
        self.docs: NDArray[np.uint32] = docs
        self.papers: NDArray[np.uint32] = papers
        self.years: NDArray[np.int32] = years[papers]
        self.texts = Strings(blob, offsets)
        self.vectors = DocumentVectors(rows, scales, fingerprint=fingerprint, name="citing")

    def __len__(self) -> int:
        return len(self.docs)

    def of(self, document: int) -> range:
        """The sentences that cite a document."""
        # Of the same type: else numpy would copy all of them to compare.
        ends = np.array((document, document + 1), self.docs.dtype)
        first, last = np.searchsorted(self.docs, ends)
        return range(int(first), int(last))

    def known_to(self, paper: int, year: int | None) -> NDArray[np.bool_]:
        """Which sentences may help a paper (by number; -1: none of those that cite) of a year: not
        its own, and none of that year or later."""
        known: NDArray[np.bool_] = self.papers != paper
        if year is not None:
            known &= self.years < year
        return known
