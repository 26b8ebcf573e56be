"""An open index: memory-mapped arrays, and how to read them."""

from __future__ import annotations

import mmap
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.errors import CollectionError
from citebed.retrieval.analysis import Analyser, analyser_of
from citebed.retrieval.index import layout
from citebed.retrieval.index.arrays import Column, Strings
from citebed.retrieval.index.citation_contexts import CitingSentences
from citebed.retrieval.index.layout import FIELDS, FOLDER, Description
from citebed.retrieval.index.records import RECORD_ARRAYS, Records
from citebed.retrieval.vectors.model_files import Arrays
from citebed.retrieval.vectors.vectors import DocumentVectors, Embedder
from citebed.wording import printable

_INVERT_AFTER = 50
"""After this many requests for a document's postings, it pays to sort them all by document."""


class Share(NamedTuple):
    """A citing paper's share of the ``citing`` field: frequencies of postings, and lengths of
    documents."""

    postings: NDArray[np.uint32]
    times: NDArray[np.integer[Any]]
    docs: NDArray[np.uint32]
    lengths: NDArray[np.uint32]


class Totals(NamedTuple):
    """The number of documents, and the years of the latest document and the latest citing paper."""

    documents: int
    latest: int
    latest_citing: int


class Index:
    """A collection's index. Documents and terms are numbered in the order of their ids or texts.

    The postings of term ``t`` are ``docs[offsets[t]:offsets[t+1]]``. ``tf[field]`` has their
    frequencies in a field (0 where the document has the term in other fields only).
    """

    def __init__(
        self, folder: Path, description: Description | None = None, arrays: Arrays | None = None
    ) -> None:
        self.folder = folder
        self.description = description or layout.read_description(folder)
        arrays = layout.open_arrays(folder, self.description) if arrays is None else arrays
        self.arrays = arrays
        try:
            self.offsets: NDArray[np.int64] = arrays["offsets"]
            self.docs: NDArray[np.uint32] = arrays["docs"]
            self.hashes: NDArray[np.uint64] = arrays["hashes"]
            self.terms = Strings(arrays["terms"], arrays["terms.offsets"])
            self.ids = Strings(arrays["ids"], arrays["ids.offsets"])
            self.fields = tuple(name for name in FIELDS if f"tf.{name}" in arrays)
            self.tf = {
                name: Column(len(self.docs), arrays[f"tf.{name}"], arrays.get(f"tf.{name}.at"))
                for name in self.fields
            }
            self.lengths: dict[str, NDArray[np.uint32]] = {
                name: arrays[f"length.{name}"] for name in self.fields
            }
            self._vectors = {
                kind: DocumentVectors(
                    *(arrays[name] for name in layout.vector_arrays(kind)),
                    fingerprint=about["fingerprint"],
                    name=about["name"],
                    missing=int(about.get("missing", 0)),
                )
                for kind, about in self.description.vectors.items()
            }
        except KeyError as error:
            raise layout.DamagedIndex(folder, f"is damaged: it lacks {error}") from None
        self._numbers: dict[str, int] = {}
        self._requests = 0

    @cached_property
    def analyser(self) -> Analyser:
        """The analyser that made the terms, to be used for queries too."""
        return analyser_of(self.description.analyser)

    def verify(self) -> None:
        """Raise ``DamagedIndex`` if a file differs from its checksum, or holds invalid numbers."""
        layout.verify_files(self.folder, self.description)
        try:
            layout.check_arrays(self.arrays, self.description)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise layout.DamagedIndex(self.folder, f"is damaged: {error}") from None

    def release(self) -> None:
        """Free the memory of what was read from the files; the system reads it again on demand."""
        for array in self.arrays.values():
            mapped = getattr(array.base, "_mmap", None)
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def is_current(self) -> bool:
        """Return True if the collection still has exactly the files that were indexed."""
        return layout.is_current(self.folder, self.description)

    def vectors(self, kind: str, *, incomplete: bool = False) -> DocumentVectors | None:
        """Return the documents' vectors of a kind (``static``, ``encoder``), or ``None``.

        Vectors that some documents lack are returned only if ``incomplete``.
        """
        found = self._vectors.get(kind)
        return found if found is None or incomplete or not found.missing else None

    def vectors_of(
        self, model: Embedder, kind: str, *, incomplete: bool = False
    ) -> DocumentVectors:
        """Return the documents' vectors by this model, or raise an error that says how to make
        them."""
        found = self.vectors(kind, incomplete=incomplete)
        if found is not None and found.is_of(model):
            return found
        name = printable(self.folder.parent)
        what = f"{name} has no vectors of the {kind} model yet"
        if found is not None:
            what = f"the vectors of {name} come from another {kind} model ('{found.name}')"
        elif kind in self.description.vectors:
            what = f"{name} lacks the {kind} model's vectors of some documents"
        option = "" if kind == "static" else " --neural"
        raise CollectionError(f"{what}. Make them with: citebed index {name}{option}")

    @cached_property
    def citing(self) -> CitingSentences | None:
        """The sentences with which papers cite the documents, or ``None``."""
        if "citing.docs" not in self.arrays:
            return None
        return CitingSentences(self.arrays, self.description.vectors["static"]["fingerprint"])

    @property
    def has_records(self) -> bool:
        """True if it has years, pages and authors, which indexes of early versions lack."""
        return set(RECORD_ARRAYS) <= set(self.arrays)

    @cached_property
    def records(self) -> Records:
        """Years, pages and authors of the documents."""
        if not self.has_records:
            what = "comes from an earlier version: it lacks the documents' years and authors"
            raise layout.DamagedIndex(self.folder, what)
        return Records(self.arrays)

    @cached_property
    def totals(self) -> Totals:
        """The totals of the collection, also if this index holds only some of its documents."""
        cited = 0 if self.citing is None else int(self.citing.years.max(initial=0))
        return Totals(len(self.ids), self.records.latest, cited)

    def term_number(self, term: str) -> int:
        """Return the number of a term, or -1."""
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = self.terms.find(term)
        return number

    def document_frequency(self, word: str) -> int:
        """Return the number of documents that contain a word; 0 for a stop word."""
        number = self.term_number(self.analyser.term(word) or "")
        return int(self.offsets[number + 1] - self.offsets[number]) if number >= 0 else 0

    def document_postings(
        self, number: int, terms: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return the positions of a document's postings, in the order of terms.

        This is fast if the document's ``terms`` are known. Otherwise each request reads the whole
        index, and after 50 requests all postings are sorted by document.
        """
        if terms is not None:
            docs, wanted = np.asarray(self.docs), self.docs.dtype.type(number)
            spans = zip(self.offsets[terms].tolist(), self.offsets[terms + 1].tolist(), strict=True)
            return np.array([at + docs[at:end].searchsorted(wanted) for at, end in spans], np.int64)
        self._requests += 1
        if self._requests <= _INVERT_AFTER:
            return np.flatnonzero(self.docs == self.docs.dtype.type(number))
        order, starts = self._by_document
        return order[starts[number] : starts[number + 1]]

    @cached_property
    def _by_document(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.docs, kind="stable")
        starts = np.zeros(len(self.ids) + 1, np.int64)
        np.cumsum(np.bincount(self.docs, minlength=len(self.ids)), out=starts[1:])
        return order, starts

    def terms_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self.offsets, places, side="right") - 1

    @cached_property
    def papers(self) -> Strings:
        """The ids of the papers whose citing text is indexed."""
        if "papers" not in self.arrays:
            return Strings(*Strings.arrays(()))
        return Strings(self.arrays["papers"], self.arrays["papers.offsets"])

    def share(self, paper_id: str) -> Share | None:
        """Return what a paper added to the ``citing`` field; ``None`` if it added nothing."""
        number = self.papers.find(paper_id)
        if number < 0:
            return None
        a, arrays = self.arrays, ("share.offsets", "share.lengths.offsets")
        postings, lengths = (slice(*a[name][number : number + 2].tolist()) for name in arrays)
        return Share(
            a["share.postings"][postings],
            a["share.times"][postings],
            a["share.lengths.docs"][lengths],
            a["share.lengths"][lengths],
        )


def open_index(collection: str | Path | Collection, *, verified: bool = False) -> Index:
    """Open the index of a collection; with ``verified`` check all its files first.

    If a new index replaces the old one meanwhile, open the new one.
    """
    path = collection.folder if isinstance(collection, Collection) else Path(collection)
    folder = path / FOLDER
    before = layout.description_version(folder)
    while True:
        try:
            index = Index(folder)
            if verified:
                index.verify()
        except layout.DamagedIndex:
            before, last = layout.description_version(folder), before
            if before == last:
                raise
        else:
            return index
