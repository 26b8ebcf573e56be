"""Cards: what is known of documents, as far as recommendations tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.errors import CitebedError

Card = Mapping[str, Any]
_TEXTS = ("title", "venue", "doi", "url", "abstract", "cite_key")
_LISTS = ("authors", "keys")


def card_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table of documents as a card: texts and lists that are empty, none missing."""
    texts = {name: row[name] or "" for name in _TEXTS if name in row}
    return {**row, **texts, **{name: tuple(row[name] or ()) for name in _LISTS}}


class Cards:
    """The cards of a collection's documents: all at hand once they are prepared, else those that
    were asked for."""

    def __init__(self, collection: Collection, *, keywords: bool) -> None:
        self._collection = collection
        # Keywords only spell what feedback added, and take a third of the time to read.
        words = pl.col("keywords").list.join(", ").fill_null("")
        self._keywords = words if keywords else pl.lit("").alias("keywords")
        self._known: dict[str, Card] = {}
        self._is_prepared = False

    def prepare(self) -> None:
        """Read all."""
        if not self._is_prepared:
            self._known |= self._read(self._collection.scan_documents())
            self._is_prepared = True

    def of(self, names: Sequence[str]) -> list[Card]:
        """The cards of documents by id."""
        missing = [name for name in names if name not in self._known]
        if missing and not self._is_prepared:
            found = self._collection.scan_documents().filter(pl.col("doc_id").is_in(missing))
            self._known |= self._read(found)
            missing = [name for name in missing if name not in self._known]
        if missing:
            raise CitebedError(
                f"document '{missing[0]}' is in the index but no longer in the collection. "
                f"Run: citebed index {self._collection.folder}"
            )
        return [self._known[name] for name in names]

    def _read(self, documents: pl.LazyFrame) -> dict[str, Card]:
        columns = ("doc_id", *_TEXTS, self._keywords, *_LISTS, "year", "arxiv")
        rows = documents.select(*columns).collect().iter_rows(named=True)
        return {row["doc_id"]: card_of(row) for row in rows}
