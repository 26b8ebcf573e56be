"""Documents by date: what had appeared when a text was written."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.retrieval.index.index import Index
from citebed.runs.times import is_later

_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)
_KEPT = 4
"""Dates whose documents are remembered: queries of one date come together."""


def checked_date(text: str) -> str:
    """The date, if it is one: a year, or a month or day in ISO form."""
    if not _DATE.fullmatch(text.strip()):
        raise CitebedError(f"'{text}' is no date; write 2019, 2019-07 or 2019-07-31")
    return text.strip()


class Dates:
    """When the documents of an index appeared: which of them a text of some date could know."""

    def __init__(self, collection: Collection, index: Index) -> None:
        self._collection, self._index = collection, index
        self._kept: dict[str, NDArray[np.bool_]] = {}

    @cached_property
    def _table(self) -> pl.DataFrame:
        date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String))
        known = self._collection.scan_documents().select("doc_id", date.alias("date")).collect()
        ids = pl.DataFrame({"doc_id": list(self._index.ids)}, schema={"doc_id": pl.String})
        return ids.join(known, on="doc_id", how="left", maintain_order="left")

    def allowed(self, before: str | None) -> NDArray[np.bool_] | None:
        """Which documents are not later than a date, by number; ``None`` where there is no date.

        A document without a date, or dated no finer than the date's year, is not later.
        """
        if before is None:
            return None
        if before not in self._kept:
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            later = self._table.select(is_later(pl.col("date"), pl.lit(before)).fill_null(False))
            self._kept[before] = ~np.array(later.to_series(), bool)
        return self._kept[before]
