"""What documents can be chosen by: the venues, types and years that a collection has."""

from __future__ import annotations

from typing import Any

import polars as pl

MOST = 500
"""So many values are offered, those of most documents first; any other can be typed."""


def choices(documents: pl.LazyFrame) -> dict[str, Any]:
    """Values to offer for a filter: ``venues`` and ``types``, each with how many documents have it,
    and the first and last of ``years``, if any is known."""
    years, *counted = pl.collect_all(
        [
            documents.select(first=pl.col("year").min(), last=pl.col("year").max()),
            *(_counted(documents, column) for column in ("venue", "type")),
        ]
    )
    found = [{"name": name, "documents": number} for name, number in counted[0].rows()]
    types = [{"name": name, "documents": number} for name, number in counted[1].rows()]
    return {"venues": found, "types": types, "years": list(years.row(0))}


def _counted(documents: pl.LazyFrame, column: str) -> pl.LazyFrame:
    values = documents.select(name=column).filter(pl.col("name").fill_null("") != "")
    counted = values.group_by("name").len("documents")
    return counted.sort(["documents", "name"], descending=[True, False]).head(MOST)
