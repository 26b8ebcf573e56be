"""Documents by date: what had appeared when a text was written."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.building.citing import is_later
from citebed.errors import CitebedError
from citebed.retrieval.index.index import Index

_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


def checked_date(text: str) -> str:
    """The date, if it is one: a year, or a month or day in ISO form."""
    if not _DATE.fullmatch(text.strip()):
        raise CitebedError(f"'{text}' is no date; write 2019, 2019-07 or 2019-07-31")
    return text.strip()


def allowed_before(
    collection: Collection, index: Index, before: str | None
) -> NDArray[np.bool_] | None:
    """Which documents are not later than a date, by number; ``None`` where there is no date.

    A document without a date, or dated no finer than the date's year, is not later.
    """
    if before is None:
        return None
    date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String))
    later = is_later(date, pl.lit(before)).fill_null(False)
    frame = collection.scan_documents().select("doc_id", later.alias("later")).collect()
    late = set(frame.filter("later")["doc_id"])
    return np.array([name not in late for name in index.ids], bool)
