"""What the records of an index's documents tell beside their texts: year, pages, authors.

They are arrays of the index, so that ranking reads no table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.vectors.vectors import Docs

Reals = NDArray[np.float64]
NAMES = ("records.years", "records.pages", "records.authors", "records.authors.offsets")

_PAGES = r"^(?:\w*:)?(\d{1,6})(?:–(?:\w*:)?(\d{1,6}))?$"
"""A page, or the first and the last; of an article with a number also ``7:1–7:20``."""
_USUAL, _MOST = 8, 60
"""Pages of a usual paper; what has more than the most is taken to have as many."""
_NO_PAPER = 200
"""So many pages are a book's, or a slip."""


class Authorship(NamedTuple):
    """Who wrote what: a document and an author by number in each row, no row twice."""

    documents: Docs
    authors: Docs

    def of_other_works(self, counts: Reals) -> Reals:
        """The counts of other documents by the same author, summed, for each document: those of its
        author who has most."""
        of_author = np.bincount(self.authors, weights=counts[self.documents])
        most = np.zeros(len(counts))
        others = of_author[self.authors] - counts[self.documents]
        np.maximum.at(most, self.documents, others)
        return most


class Records:
    """The records of documents, by the documents' numbers: their years, pages, and authors (those
    of document ``n`` from ``starts[n]`` on, numbered in the order of their names)."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.years, self.pages, self.authors, self.starts = (
            np.asarray(arrays[name]) for name in NAMES
        )

    @cached_property
    def latest(self) -> int:
        """The latest year of a document."""
        return int(self.years.max(initial=0))

    def lengths(self, docs: Docs) -> Reals:
        """The logarithm of the pages of documents as a share of a usual paper's; 0 where they are
        not known."""
        return np.asarray(np.log(self.pages[docs] / _USUAL), np.float64)

    def authorship(self, docs: Docs) -> Authorship:
        """Who wrote documents, by their places. People of one name are one."""
        places, rows = _spans(self.starts, docs)
        return Authorship(places, np.unique(self.authors[rows], return_inverse=True)[1])

    def works_by_authors_of(self, docs: Docs) -> Authorship:
        """All that the authors of documents wrote."""
        documents = np.repeat(np.arange(len(self.years)), np.diff(self.starts))
        has_one = np.zeros(int(self.authors.max(initial=0)) + 1, bool)
        is_of = np.zeros(len(self.years), bool)
        is_of[docs] = True
        has_one[self.authors[is_of[documents]]] = True
        rows = has_one[self.authors]
        return Authorship(documents[rows], self.authors[rows].astype(np.int64))


def arrays_of(collection: Collection, table_rows: Docs) -> dict[str, NDArray[Any]]:
    """The arrays of the records at all rows of the collection's table, in another order.

    Pages are those of a usual paper where they are not known. A single number is one page, as the
    ACM has it.
    """
    parts = [_columns(piece) for piece in collection.document_pieces(("year", "pages", "authors"))]
    written = _authors([part.names for part in parts])
    years, pages, counts = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("years", "pages", "counts")
    )
    starts = np.r_[0, np.cumsum(counts)]
    places, rows = _spans(starts, table_rows)
    pairs = places << _BITS | written[rows]
    pairs.sort()  # much faster than ``np.unique``
    pairs = pairs[np.r_[True, pairs[1:] != pairs[:-1]][: len(pairs)]]
    values: tuple[NDArray[Any], ...] = (
        years[table_rows],
        pages[table_rows],
        (pairs & ((1 << _BITS) - 1)).astype(np.uint32),
        np.searchsorted(pairs, np.arange(len(table_rows) + 1) << _BITS).astype(np.int64),
    )
    return dict(zip(NAMES, values, strict=True))


_BITS = 32


class _Columns(NamedTuple):
    """Some records: years, pages, how many authors each has, and these, one after another."""

    years: NDArray[np.int32]
    pages: NDArray[np.uint8]
    counts: NDArray[np.int64]
    names: pl.Series


def _columns(table: pl.DataFrame) -> _Columns:
    parts = table["pages"].str.extract_groups(_PAGES)
    first, last = (parts.struct[part].cast(pl.Int32) for part in range(2))
    pages = (last.fill_null(first) - first + 1).fill_null(0).to_numpy()
    known = (pages > 0) & (pages < _NO_PAPER)
    authors = table["authors"].list.drop_nulls()
    return _Columns(
        table["year"].fill_null(0).to_numpy().astype(np.int32),
        np.where(known, np.minimum(pages, _MOST), _USUAL).astype(np.uint8),
        authors.list.len().fill_null(0).to_numpy().astype(np.int64),
        authors.explode(empty_as_null=False).drop_nulls().str.to_lowercase(),
    )


def _authors(parts: list[pl.Series]) -> Docs:
    """A number for each name, in the order of names."""
    names = pl.concat(parts)
    return names.cast(pl.Enum(names.unique().sort())).to_physical().to_numpy().astype(np.int64)


def _spans(starts: Docs, docs: Docs) -> tuple[Docs, Docs]:
    """The rows that documents have, one after another, with the place of the document of each."""
    first = starts[docs]
    counts = starts[docs + 1] - first
    places = np.repeat(np.arange(len(docs)), counts)
    before = np.cumsum(counts) - counts
    return places, np.arange(len(places)) + np.repeat(first - before, counts)
