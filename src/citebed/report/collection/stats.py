"""A collection and its index in numbers: a value that prints as a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.statistics import CollectionStatistics, rows, statistics
from citebed.frames import Shown
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import DESCRIPTION, FOLDER, DamagedIndex
from citebed.retrieval.index.statistics import IndexStatistics, index_rows, index_statistics


@dataclass(frozen=True, repr=False)
class CollectionStats(Shown):
    """What is in a collection; ``index`` is ``None`` where there is none, and a note tells of one
    that cannot be read."""

    collection: CollectionStatistics
    index: IndexStatistics | None = None
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Flat rows, as ``--json`` prints them."""
        return [*rows(self.collection), *(index_rows(self.index) if self.index else ())]

    @cached_property
    def table(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)

    def shown(self) -> pl.DataFrame:
        """All rows; whole numbers as such, others to two digits."""
        value, whole = pl.col("value"), pl.col("value").cast(pl.Int64, strict=False)
        text = pl.when(value == whole).then(whole.cast(pl.String)).otherwise(value.round(2))
        return self.table.with_columns(text, pl.col("share").round(2))


def collection_stats(collection: Collection) -> CollectionStats:
    """Count what is in a collection and in its index."""
    counted = statistics(collection)
    if not (collection.folder / FOLDER / DESCRIPTION).exists():
        return CollectionStats(counted)
    try:
        return CollectionStats(counted, index_statistics(open_index(collection)))
    except DamagedIndex as error:
        return CollectionStats(counted, notes=(str(error),))
