"""Year, pages and authors of each document, as arrays, so that ranking reads no table."""

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
RECORD_ARRAYS = ("records.years", "records.pages", "records.authors", "records.authors.offsets")

_PAGES = r"^(?:\w*:)?(\d{1,6})(?:–(?:\w*:)?(\d{1,6}))?$"
"""One page or a range, in articles with a number also ``7:1–7:20``."""
_USUAL_PAGES, _MOST_PAGES = 8, 60
"""Pages of a usual paper, which also stand for unknown ones; longer papers count as 60 pages."""
_NO_PAPER = 200
"""This many pages are a book or a typing error."""
_AUTHOR_BITS = 32


class Authorship(NamedTuple):
    """Pairs of a document and an author, as two arrays of numbers without repeated pairs."""

    documents: Docs
    authors: Docs

    def sum_other_works(self, counts: Reals) -> Reals:
        """Sum the counts of all other documents by the same author, for each document.

        For a document with several authors, return the largest of their sums.
        """
        of_author = np.bincount(self.authors, weights=counts[self.documents])
        most = np.zeros(len(counts))
        others = of_author[self.authors] - counts[self.documents]
        np.maximum.at(most, self.documents, others)
        return most


class Records:
    """Years, pages and authors by document number.

    Document ``n`` has the authors ``authors[starts[n]:starts[n + 1]]``, numbered in the order of
    their names.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.years, self.pages, self.authors, self.starts = (
            np.asarray(arrays[name]) for name in RECORD_ARRAYS
        )

    @cached_property
    def latest(self) -> int:
        """The latest year of a document."""
        return int(self.years.max(initial=0))

    def log_pages(self, docs: Docs) -> Reals:
        """Return ln(pages / 8) of documents; 0 where the pages are unknown."""
        return np.asarray(np.log(self.pages[docs] / _USUAL_PAGES), np.float64)

    def authorship(self, docs: Docs) -> Authorship:
        """Return the authors of documents, which are numbered by their places in ``docs``.

        Authors with the same name count as one person.
        """
        places, rows = _spans(self.starts, docs)
        return Authorship(places, np.unique(self.authors[rows], return_inverse=True)[1])

    def works_by_authors_of(self, docs: Docs) -> Authorship:
        """Return everything that the authors of documents wrote."""
        documents = np.repeat(np.arange(len(self.years)), np.diff(self.starts))
        is_author = np.zeros(int(self.authors.max(initial=0)) + 1, bool)
        is_wanted = np.zeros(len(self.years), bool)
        is_wanted[docs] = True
        is_author[self.authors[is_wanted[documents]]] = True
        rows = is_author[self.authors]
        return Authorship(documents[rows], self.authors[rows].astype(np.int64))


def make_record_arrays(collection: Collection, table_rows: Docs) -> dict[str, NDArray[Any]]:
    """Return the arrays of a collection's documents; ``table_rows`` are their rows in its table.

    A single number is one page, as the ACM writes it.
    """
    years, pages, counts, names = [], [], [], []
    for table in collection.document_pieces(("year", "pages", "authors")):
        groups = table["pages"].str.extract_groups(_PAGES)
        first, last = (groups.struct[part].cast(pl.Int32) for part in range(2))
        number = (last.fill_null(first) - first + 1).fill_null(0).to_numpy()
        is_known = (number > 0) & (number < _NO_PAPER)
        number = np.where(is_known, np.minimum(number, _MOST_PAGES), _USUAL_PAGES)
        authors = table["authors"].list.drop_nulls()
        years.append(table["year"].fill_null(0).to_numpy().astype(np.int32))
        pages.append(number.astype(np.uint8))
        counts.append(authors.list.len().fill_null(0).to_numpy().astype(np.int64))
        names.append(authors.explode(empty_as_null=False).drop_nulls().str.to_lowercase())
    written = pl.concat(names)
    numbers = written.cast(pl.Enum(written.unique().sort())).to_physical()
    places, rows = _spans(np.r_[0, np.cumsum(np.concatenate(counts))], table_rows)
    pairs = places << _AUTHOR_BITS | numbers.to_numpy().astype(np.int64)[rows]
    pairs.sort()  # much faster than ``np.unique``
    pairs = pairs[np.r_[True, pairs[1:] != pairs[:-1]][: len(pairs)]]
    values: tuple[NDArray[Any], ...] = (
        np.concatenate(years)[table_rows],
        np.concatenate(pages)[table_rows],
        (pairs & ((1 << _AUTHOR_BITS) - 1)).astype(np.uint32),
        np.searchsorted(pairs, np.arange(len(table_rows) + 1) << _AUTHOR_BITS).astype(np.int64),
    )
    return dict(zip(RECORD_ARRAYS, values, strict=True))


def _spans(starts: Docs, docs: Docs) -> tuple[Docs, Docs]:
    """Return the rows of documents one after another, and the place in ``docs`` of each row."""
    first = starts[docs]
    counts = starts[docs + 1] - first
    places = np.repeat(np.arange(len(docs)), counts)
    before = np.cumsum(counts) - counts
    return places, np.arange(len(places)) + np.repeat(first - before, counts)
