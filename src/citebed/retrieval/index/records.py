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
from citebed.retrieval.dense.vectors import Docs

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
        starts = self.starts[docs]
        counts = self.starts[docs + 1] - starts
        places = np.repeat(np.arange(len(docs)), counts)
        first = np.cumsum(counts) - counts
        rows = np.arange(len(places)) + np.repeat(starts - first, counts)
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
    """The arrays of the records at some rows of the collection's table, in their order.

    Pages are those of a usual paper where they are not known. A single number is one page, as the
    ACM has it.
    """
    columns = ("year", "pages", "authors")
    table = collection.scan_documents().select(columns).collect()[table_rows]
    parts = table["pages"].str.extract_groups(_PAGES)
    first, last = (parts.struct[part].cast(pl.Int32) for part in range(2))
    pages = (last.fill_null(first) - first + 1).fill_null(0).to_numpy()
    known = (pages > 0) & (pages < _NO_PAPER)
    written = table.select(author="authors").with_row_index("document").explode("author")
    names = written.drop_nulls().with_columns(pl.col("author").str.to_lowercase())
    numbered = names.select(pl.col("author").unique().sort()).with_row_index("number")
    rows = names.join(numbered, on="author").select("document", "number").unique()
    rows = rows.sort("document", "number")
    starts = np.searchsorted(rows["document"].to_numpy(), np.arange(table.height + 1))
    values: tuple[NDArray[Any], ...] = (
        table["year"].fill_null(0).to_numpy().astype(np.int32),
        np.where(known, np.minimum(pages, _MOST), _USUAL).astype(np.uint8),
        rows["number"].to_numpy().astype(np.uint32),
        starts.astype(np.int64),
    )
    return dict(zip(NAMES, values, strict=True))
