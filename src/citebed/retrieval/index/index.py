"""An open index: memory-mapped arrays and the few questions asked of them."""

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
from citebed.retrieval.index import layout, records
from citebed.retrieval.index.arrays import Column, Strings
from citebed.retrieval.index.citing import CitingSentences
from citebed.retrieval.index.layout import FIELDS, FOLDER, Description
from citebed.retrieval.index.records import Records
from citebed.retrieval.vectors.model_files import Arrays
from citebed.retrieval.vectors.vectors import DocumentVectors, Embedder
from citebed.wording import printable

_AT_ONCE = 1 << 23
"""Postings that are looked at at a time."""
_TURNED_FROM = 50
"""From so many questions for a document's terms on, it pays to order the postings by document."""


class Share(NamedTuple):
    """What one citing paper added to the ``citing`` field."""

    postings: NDArray[np.uint32]
    times: NDArray[np.integer[Any]]
    docs: NDArray[np.uint32]
    lengths: NDArray[np.uint32]


class Totals(NamedTuple):
    """A collection in numbers: its documents, the year of the latest, and of the latest paper that
    cites one."""

    documents: int
    latest: int
    latest_citing: int


class Index:
    """A collection's index. Documents are numbered in the order of their ids, terms likewise.

    The postings of term ``t`` are ``docs[offsets[t]:offsets[t+1]]``; ``tf[field]`` has the
    frequencies in a field, aligned with them (0 where the document has the term elsewhere).
    """

    def __init__(
        self, folder: Path, description: Description | None = None, arrays: Arrays | None = None
    ) -> None:
        self.folder = folder
        self.description = description or layout.read_description(folder)
        arrays = layout.open_arrays(folder, self.description) if arrays is None else arrays
        self._arrays = arrays
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
                    *(arrays[name] for name in layout.array_names(kind)),
                    fingerprint=about["fingerprint"],
                    name=about["name"],
                    missing=int(about.get("missing", 0)),
                )
                for kind, about in self.description.vectors.items()
            }
        except KeyError as error:
            raise layout.DamagedIndex(folder, f"is damaged: it names no {error}") from None
        self._numbers: dict[str, int] = {}
        self._asked = 0

    @cached_property
    def analyser(self) -> Analyser:
        """The analyser the index was made with; queries are analysed alike."""
        return analyser_of(self.description.analyser)

    def verify(self) -> None:
        """Compare every file with its checksum, and see that numbers lead only where they may;
        raises ``DamagedIndex``."""
        layout.verify(self.folder, self.description)
        try:
            check(self._arrays, self.description)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise layout.DamagedIndex(self.folder, f"is damaged: {error}") from None

    def release(self) -> None:
        """Let go of what was read of the files: what is asked for again is read again.

        Whoever has read all of it keeps what counts elsewhere, and the rest would count as memory.
        """
        for array in self._arrays.values():
            mapped = getattr(array.base, "_mmap", None)
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def is_current(self) -> bool:
        """Whether the collection's files are still those that were indexed."""
        return layout.is_current(self.folder, self.description)

    def vectors(self, kind: str, *, incomplete: bool = False) -> DocumentVectors | None:
        """The documents' vectors by the model of a kind (``static``, ``encoder``), if there are
        any; where some are missing, only if they are wanted ``incomplete``."""
        found = self._vectors.get(kind)
        return found if found is None or incomplete or not found.missing else None

    def vectors_of(
        self, model: Embedder, kind: str, *, incomplete: bool = False
    ) -> DocumentVectors:
        """The documents' vectors by just this model; else an error that says how to make them."""
        found = self.vectors(kind, incomplete=incomplete)
        if found is not None and found.is_of(model):
            return found
        name = printable(self.folder.parent)
        what = f"{name} has no vectors of the {kind} model yet"
        if found is not None:
            what = f"the vectors of {name} are of another {kind} model ('{found.name}')"
        elif kind in self.description.vectors:
            what = f"{name} lacks the {kind} model's vectors of some documents"
        option = "" if kind == "static" else " --neural"
        raise CollectionError(f"{what}. Make them with: citebed index {name}{option}")

    @cached_property
    def citing(self) -> CitingSentences | None:
        """The sentences with which papers cite the documents, if there are any."""
        if "citing.docs" not in self._arrays:
            return None
        return CitingSentences(self._arrays, self.description.vectors["static"]["fingerprint"])

    @property
    def has_records(self) -> bool:
        """Whether it has the years, pages and authors of its documents, as older ones have not."""
        return set(records.NAMES) <= set(self._arrays)

    @cached_property
    def records(self) -> Records:
        """What is known of the documents beside their texts."""
        if not self.has_records:
            what = "is of an earlier version: it lacks the documents' years and authors"
            raise layout.DamagedIndex(self.folder, what)
        return Records(self._arrays)

    @cached_property
    def totals(self) -> Totals:
        """The whole collection in numbers; of an index of some of its documents, not these."""
        cited = 0 if self.citing is None else int(self.citing.years.max(initial=0))
        return Totals(len(self.ids), self.records.latest, cited)

    def term_number(self, term: str) -> int:
        """The term's number, or -1."""
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = self.terms.find(term)
        return number

    def document_frequency(self, word: str) -> int:
        """How many documents have a word, 0 for one that is not searched for."""
        number = self.term_number(self.analyser.term(word) or "")
        return int(self.offsets[number + 1] - self.offsets[number]) if number >= 0 else 0

    @cached_property
    def _by_document(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.docs, kind="stable")
        starts = np.zeros(len(self.ids) + 1, np.int64)
        np.cumsum(np.bincount(self.docs, minlength=len(self.ids)), out=starts[1:])
        return order, starts

    def places_of_document(
        self, number: int, terms: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Where a document's postings are, by term; found at once where its terms are known.

        Else a question reads the whole index, and after a few it is turned round once for all.
        """
        if terms is not None:
            docs, wanted = np.asarray(self.docs), self.docs.dtype.type(number)
            spans = zip(self.offsets[terms].tolist(), self.offsets[terms + 1].tolist(), strict=True)
            return np.array([at + docs[at:end].searchsorted(wanted) for at, end in spans], np.int64)
        self._asked += 1
        if self._asked <= _TURNED_FROM:
            return np.flatnonzero(self.docs == self.docs.dtype.type(number))
        order, starts = self._by_document
        return order[starts[number] : starts[number + 1]]

    def terms_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The terms of the postings at some places."""
        return np.searchsorted(self.offsets, places, side="right") - 1

    @cached_property
    def papers(self) -> Strings:
        """The papers whose citing text is indexed."""
        if "papers" not in self._arrays:
            return Strings(*Strings.packed(()))
        return Strings(self._arrays["papers"], self._arrays["papers.offsets"])

    def share(self, paper_id: str) -> Share | None:
        """What a paper added to the citing text; ``None`` if it added nothing."""
        number = self.papers.find(paper_id)
        if number < 0:
            return None
        a, arrays = self._arrays, ("share.offsets", "share.lengths.offsets")
        postings, lengths = (slice(*a[name][number : number + 2].tolist()) for name in arrays)
        return Share(
            a["share.postings"][postings],
            a["share.times"][postings],
            a["share.lengths.docs"][lengths],
            a["share.lengths"][lengths],
        )


def open_index(collection: str | Path | Collection, *, verified: bool = False) -> Index:
    """The index of a collection (its path, or open); ``verified`` compares all checksums first.

    A new index may take the place of the old one while that is being opened: then the new one
    is opened.
    """
    path = collection.folder if isinstance(collection, Collection) else Path(collection)
    folder = path / FOLDER
    before = layout.written(folder)
    while True:
        try:
            index = Index(folder)
            if verified:
                index.verify()
        except layout.DamagedIndex:
            before, last = layout.written(folder), before
            if before == last:
                raise
        else:
            return index


# --- whether numbers lead only where they may -------------------------------------------------
#
# Compiled code follows them blindly. A checksum tells what changed on the way; an index that
# somebody else made has the right ones whatever is in it.

_SHARES = (("share.offsets", "share.postings"), ("share.lengths.offsets", "share.lengths.docs"))
_ALIKE = {"share.times": "share.postings", "share.lengths": "share.lengths.docs"}


def check(arrays: Arrays, description: Description) -> None:
    """Raise a ``ValueError`` that names an array which is not one of an index."""
    documents, terms = description.documents, description.terms
    _check_strings(arrays, "ids", documents)
    _check_strings(arrays, "terms", terms)
    _check_bounds(arrays, "offsets", terms, _numbers(arrays, "docs", documents, np.uint32))
    _check_rises(arrays["docs"], arrays["offsets"], "docs")
    _check_length("hashes", arrays["hashes"], documents, np.uint64)
    for name in FIELDS:
        if f"tf.{name}" in arrays:
            _check_length(f"length.{name}", arrays[f"length.{name}"], documents, np.uint32)
            _check_column(arrays, f"tf.{name}")
    if records.NAMES[0] in arrays:
        _check_records(arrays, documents)
    if "papers" in arrays:
        _check_shares(arrays, description)
    for kind, about in description.vectors.items():
        _check_vectors(arrays, kind, (documents, about["width"]))
    if "citing.docs" in arrays:
        _check_citing(arrays, description)


def _check_column(arrays: Arrays, name: str) -> None:
    """Frequencies: one for each posting, or for those that are named, in their order."""
    postings = len(arrays["docs"])
    if f"{name}.at" in arrays:
        _check_rises(arrays[f"{name}.at"], np.zeros(0, np.int64), f"{name}.at")
        postings = _numbers(arrays, f"{name}.at", postings, np.uint32)
    _check_length(name, arrays[name], postings, np.unsignedinteger)


def _check_vectors(arrays: Arrays, kind: str, shape: tuple[int, int]) -> None:
    rows, scales = layout.array_names(kind)
    found = arrays[rows]
    _require(found.dtype == np.int8, rows, "they are of another type")
    _require(found.shape == shape, rows, f"they are {found.shape}, not {shape}")
    _check_length(scales, arrays[scales], shape[0], np.float32)
    fit = (arrays[scales] >= 0) & (arrays[scales] <= 1)
    _require(bool(fit.all()), scales, "a vector of length 1 has none like that")


def _check_records(arrays: Arrays, documents: int) -> None:
    years, pages, authors, starts = records.NAMES
    _check_length(years, arrays[years], documents, np.int32)
    _check_length(pages, arrays[pages], documents, np.uint8)
    _require(bool((arrays[pages] > 0).all()), pages, "a paper has some")
    count = _numbers(arrays, authors, len(arrays[authors]), np.uint32)
    _check_bounds(arrays, starts, documents, count)


def _check_citing(arrays: Arrays, description: Description) -> None:
    count = _numbers(arrays, "citing.docs", description.documents, np.uint32)
    _require(
        not (np.diff(arrays["citing.docs"].astype(np.int64)) < 0).any(), "citing.docs", "they fall"
    )
    _numbers(arrays, "citing.papers", description.citing_papers, np.uint32)
    _check_length("citing.papers", arrays["citing.papers"], count, np.uint32)
    _check_length("citing.years", arrays["citing.years"], description.citing_papers, np.int32)
    _check_strings(arrays, "citing.text", count)
    _check_vectors(arrays, "citing", (count, description.vectors["static"]["width"]))


def _check_shares(arrays: Arrays, description: Description) -> None:
    _check_strings(arrays, "papers", description.citing_papers)
    below = {"share.postings": len(arrays["docs"]), "share.lengths.docs": description.documents}
    for bounds, name in _SHARES:
        size = _numbers(arrays, name, below[name], np.uint32)
        _check_bounds(arrays, bounds, description.citing_papers, size)
    for name, other in _ALIKE.items():
        _check_length(name, arrays[name], len(arrays[other]), np.unsignedinteger)


def _check_strings(arrays: Arrays, name: str, count: int) -> None:
    """Texts: all of it UTF-8, and none begins within a character."""
    blob, offsets = arrays[name], arrays[f"{name}.offsets"]
    _check_length(name, blob, len(blob), np.uint8)
    _check_bounds(arrays, f"{name}.offsets", count, len(blob))
    blob.tobytes().decode("utf-8", "surrogatepass")
    starts = blob[offsets[offsets < len(blob)]]
    _require(not (starts & 0xC0 == 0x80).any(), name, "a text begins within a character")


def _check_bounds(arrays: Arrays, name: str, count: int, size: int) -> None:
    """Where each of ``count`` spans begins, and the last ends, among ``size`` values."""
    offsets = arrays[name]
    _check_length(name, offsets, count + 1, np.int64)
    _require(offsets[0] == 0 and offsets[-1] == size, name, "they do not span all there is")
    _require(not (offsets[1:] < offsets[:-1]).any(), name, "they do not rise")


def _numbers(arrays: Arrays, name: str, below: int, kind: type[np.generic]) -> int:
    """How many numbers there are, all of them below a number."""
    found = arrays[name]
    _check_length(name, found, len(found), kind)
    _require(int(found.max(initial=0)) < max(below, 1), name, f"not all are below {below:,}")
    _require(below > 0 or not len(found), name, "there is nothing that they could mean")
    return len(found)


def _check_rises(found: NDArray[Any], starts: NDArray[np.int64], name: str) -> None:
    """Numbers rise, but for where another span of them starts; the starts are in order."""
    for first in range(0, len(found) - 1, _AT_ONCE):
        part = found[first : first + _AT_ONCE + 1]
        falls = np.flatnonzero(part[1:] <= part[:-1]) + (first + 1)
        at = np.searchsorted(starts, falls)
        holds = bool((at < len(starts)).all()) and bool((starts[at] == falls).all())
        _require(holds, name, "they do not rise")


def _check_length(name: str, found: NDArray[Any], count: int, kind: type[np.generic]) -> None:
    _require(found.ndim == 1 and np.issubdtype(found.dtype, kind), name, "they are of another type")
    _require(len(found) == count, name, f"there are {len(found):,}, not {count:,}")


def _require(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise ValueError(f"the numbers of '{name}' cannot be: {what}")
