"""What the records of an index's documents tell beside their texts: year, pages, authors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection

Docs = NDArray[np.int64]
Reals = NDArray[np.float64]

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
        found = np.zeros(len(counts))
        others = of_author[self.authors] - counts[self.documents]
        np.maximum.at(found, self.documents, others)
        return found


class Records:
    """The records of documents, by the documents' numbers."""

    def __init__(self, collection: Collection, ids: Sequence[str]) -> None:
        self._collection, self._ids = collection, ids

    @cached_property
    def years(self) -> Docs:
        """The year of each document; 0 where it is not known."""
        return self._table["year"].fill_null(0).to_numpy().astype(np.int64)

    def lengths(self, docs: Docs) -> Reals:
        """The logarithm of the pages of documents as a share of a usual paper's; 0 where they are
        not known. A single number is one page, as the ACM has it."""
        found = self._table["pages"].gather(docs).str.extract_groups(_PAGES)
        first, last = (found.struct[part].cast(pl.Int32) for part in range(2))
        pages = (last.fill_null(first) - first + 1).fill_null(0).to_numpy()
        known = (pages > 0) & (pages < _NO_PAPER)
        return np.log(np.where(known, np.minimum(pages, _MOST), _USUAL) / _USUAL)

    def authorship(self, docs: Docs | None = None) -> Authorship:
        """Who wrote some documents, by their places, or all. People of one name are one."""
        lists = self._table.select("authors") if docs is None else self._table[docs]
        rows = lists.select(pl.int_range(pl.len()).alias("document"), "authors").explode("authors")
        name = pl.col("authors").str.to_lowercase().cast(pl.Categorical).to_physical()
        rows = rows.drop_nulls("authors").select("document", author=name).unique()
        return Authorship(*(each.to_numpy().astype(np.int64) for each in rows))

    @cached_property
    def _table(self) -> pl.DataFrame:
        """The documents in the order of their numbers."""
        columns = ("doc_id", "year", "pages", "authors")
        table = self._collection.scan_documents().select(columns).collect().sort("doc_id")
        if table.height == len(self._ids):
            return table
        ids = pl.DataFrame({"doc_id": list(self._ids)})  # it has changed since it was indexed
        return ids.join(table, on="doc_id", how="left", maintain_order="left")
