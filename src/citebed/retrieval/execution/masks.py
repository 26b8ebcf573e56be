"""Masks: which documents of an index may be found, by number, as of a date and as filters say."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.filters import Filter, resolve_names
from citebed.errors import CitebedError
from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import LruCache

Mask = NDArray[np.bool_]
_FEW = 16
"""Dates and filters whose documents are remembered: queries of one come together."""


class Dates:
    """When the documents of an index appeared: which of them a text of some date could know.

    ``known`` are their dates where these are known already, in the order of the index.
    """

    def __init__(
        self, collection: Collection, index: Index, known: pl.DataFrame | None = None
    ) -> None:
        self._collection, self._index, self._known = collection, index, known
        self._kept: LruCache[str, Mask] = LruCache(_FEW)

    @cached_property
    def _table(self) -> pl.DataFrame:
        if self._known is not None:
            return self._known
        date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String))
        known = self._collection.scan_documents().select("doc_id", date.alias("date")).collect()
        ids = pl.DataFrame({"doc_id": self._index.ids.series()})
        return ids.join(known, on="doc_id", how="left", maintain_order="left")

    def allowed(self, before: str | None) -> Mask | None:
        """Which documents are not later than a date, by number; ``None`` where there is no date.

        A document without a date, or dated no finer than the date's year, is not later.
        """
        return None if before is None else self._kept.get(before, lambda: self._until(before))

    def _until(self, before: str) -> Mask:
        from citebed.runs.times import is_later

        later = self._table.select(is_later(pl.col("date"), pl.lit(before)).fill_null(False))
        return ~np.array(later.to_series(), bool)


class Filters:
    """The documents of an index that filters let through."""

    def __init__(self, collection: Collection, index: Index) -> None:
        self._collection, self._index = collection, index
        self._kept: LruCache[Filter, Mask] = LruCache(_FEW)

    def allowed(self, among: Filter | None) -> Mask | None:
        """Which documents a filter lets through, by number; ``None`` where all may be found."""
        return self._kept.get(among, lambda: self._of(among)) if among else None

    def _of(self, among: Filter) -> Mask:
        meant = checked_names(self._collection, among)
        found = self._collection.scan_documents().filter(meant.expression)
        numbers = numbers_of(self._index, found.select("doc_id").collect()["doc_id"])
        mask = np.zeros(len(self._index.ids), bool)
        mask[numbers] = True
        return mask


_SHOWN, _MOST = 3, 5000
"""So many names are suggested, of so many that are looked at."""


def checked_names(collection: Collection, among: Filter) -> Filter:
    """The filter with the names that are meant; raises if it names a venue, a type or an author
    that no document has, and the message says which it has that are like it."""
    documents = collection.scan_documents()
    known = {"venue": _NONE, "type": _NONE, "author": _NONE}
    for kind, wanted in _named(among):
        if wanted:
            name = pl.col("authors").explode() if kind == "author" else pl.col(kind)
            known[kind] = documents.select(name=name).drop_nulls().collect().to_series()
    meant = among.resolve(known["venue"], known["author"])
    for kind, wanted in _named(among):
        same = known[kind].str.strip_chars().str.to_lowercase()
        for each in wanted:
            names = [each.lower()] if kind == "type" else resolve_names([each], known[kind])
            if not any(name.strip() in same for name in names):
                likely = known[kind].value_counts(sort=True)[known[kind].name]
                raise CitebedError(_unknown(kind, each, likely))
    return meant


_NONE = pl.Series("name", [], pl.String)


def _named(among: Filter) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (("venue", among.venues), ("type", among.types), ("author", among.authors))


def _unknown(kind: str, name: str, known: pl.Series) -> str:
    """What is said of a name that no document has; ``known`` are those that some have, most
    frequent first."""
    from difflib import get_close_matches  # slow to load, and few ask

    lower = known.str.to_lowercase()
    has_it = known.filter(lower.str.contains(name.strip().lower(), literal=True)).head(_SHOWN)
    nearest = has_it.to_list()
    if not nearest:
        begins = known.filter(lower.str.starts_with(name.strip().lower()[:1]))
        found = get_close_matches(name, begins.head(_MOST).to_list(), _SHOWN)
        nearest = list(found)
    hint = f" Did you mean {' or '.join(repr(each) for each in nearest)}?" if nearest else ""
    return f"no document has the {kind} '{name}'.{hint}"


def numbers_of(index: Index, names: pl.Series) -> NDArray[np.int64]:
    """The numbers of documents by id; those that are not in the index have none."""
    if len(names) < _A_FEW:
        found = np.array([index.ids.find(name) for name in names], np.int64)
        return found[found >= 0]
    return np.flatnonzero(index.ids.series().is_in(names.implode()).to_numpy())


_A_FEW = 1000


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    """The documents that both masks let through."""
    if left is None or right is None:
        return right if left is None else left
    return left & right
