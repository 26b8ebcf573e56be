"""What the records of an index's documents tell beside their texts: year, pages, authors."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.index.strings import Strings

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

    def __init__(self, collection: Collection, ids: Strings) -> None:
        self._collection, self._ids = collection, ids

    @cached_property
    def years(self) -> Docs:
        """The year of each document; 0 where it is not known."""
        return self._column("year").fill_null(0).to_numpy().astype(np.int64)

    def lengths(self, docs: Docs) -> Reals:
        """The logarithm of the pages of documents as a share of a usual paper's; 0 where they are
        not known. A single number is one page, as the ACM has it."""
        found = self._column("pages", docs).str.extract_groups(_PAGES)
        first, last = (found.struct[part].cast(pl.Int32) for part in range(2))
        pages = (last.fill_null(first) - first + 1).fill_null(0).to_numpy()
        known = (pages > 0) & (pages < _NO_PAPER)
        return np.log(np.where(known, np.minimum(pages, _MOST), _USUAL) / _USUAL)

    def authorship(self, docs: Docs) -> Authorship:
        """Who wrote documents, by their places. People of one name are one."""
        return _numbered(self._written(docs))

    def works_by_authors_of(self, docs: Docs) -> Authorship:
        """All that the authors of documents wrote."""
        rows = self._written()
        names = rows.filter(pl.col("document").is_in(docs)).select("author").unique()
        return _numbered(rows.join(names, on="author", how="semi"))

    def _written(self, docs: Docs | None = None) -> pl.DataFrame:
        table = self._column("authors", docs).to_frame("author").with_row_index("document")
        rows = table.explode("author").drop_nulls()
        return rows.with_columns(pl.col("author").str.to_lowercase())

    def _column(self, name: str, docs: Docs | None = None) -> pl.Series:
        """A column of some documents, or of all, in the order of their numbers."""
        table, places = self._table
        return table[name].gather(places if docs is None else places.gather(docs))

    @cached_property
    def _table(self) -> tuple[pl.DataFrame, pl.Series]:
        """The documents as the collection has them, and where each of the index is by its id; it
        is nowhere if it has gone since. Sorting the documents would take twice the memory."""
        columns = ("doc_id", "year", "pages", "authors")
        table = self._collection.scan_documents().select(columns).collect()
        ids = pl.DataFrame({"doc_id": self._ids.series()})
        there = table.select("doc_id").with_row_index("place").unique("doc_id", keep="first")
        places = ids.join(there, on="doc_id", how="left", maintain_order="left")["place"]
        return table.drop("doc_id"), places


def _numbered(written: pl.DataFrame) -> Authorship:
    rows = written.unique().select("document", pl.col("author").rank("dense"))
    return Authorship(*(each.to_numpy().astype(np.int64) for each in rows))
