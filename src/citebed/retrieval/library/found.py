"""What was found: a page of documents, how many there are, and how they are spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from citebed.frames import TableResult
from citebed.retrieval.recommend.display import format_authors
from citebed.wording import count

SCHEMA: dict[str, Any] = {
    "rank": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "title": pl.String,
    "authors": pl.List(pl.String), "year": pl.Int64, "venue": pl.String, "type": pl.String,
    "doi": pl.String, "key": pl.String, "cited": pl.Int64, "link": pl.String,
}  # fmt: skip
_FACETS: dict[str, Any] = {
    "facet": pl.String, "value": pl.String, "count": pl.Int64, "chosen": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Found(TableResult):
    """Documents that were found, from the place ``start`` on, of ``total``.

    ``rows`` are flat: ``cited`` is how many papers here cite a document, ``score`` is what the
    words gave it (0 where there were none). ``facet_rows`` tell how many of all that were found are
    of a year (or decade), venue, author and type; each as if nothing had been chosen of its own
    kind, so that one can choose another.
    """

    rows: tuple[dict[str, Any], ...]
    total: int
    facet_rows: tuple[dict[str, Any], ...] = ()
    start: int = 0
    words: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The documents as a table."""
        return pl.DataFrame(list(self.rows), schema=SCHEMA)

    @cached_property
    def facets(self) -> pl.DataFrame:
        """How all that were found are spread: ``facet``, ``value``, ``count``, ``chosen``."""
        return pl.DataFrame(list(self.facet_rows), schema=_FACETS)

    def of_facet(self, name: str) -> dict[str, int]:
        """The values of one facet (``year``, ``venue``, ``author``, ``type``) and their counts."""
        return {row["value"]: row["count"] for row in self.facet_rows if row["facet"] == name}

    @property
    def summary(self) -> str:
        """In a line, how many there are and which are shown."""
        if not self.rows:
            return f"{count(self.total, 'document')}"
        first, last = self.start + 1, self.start + len(self.rows)
        which = f"{first:,}" if first == last else f"{first:,}–{last:,}"
        return f"{which} of {count(self.total, 'document')}"

    def main_table(self) -> pl.DataFrame:
        """What a person looks at first."""
        by = pl.Series("by", [format_authors(row["authors"]) for row in self.rows], pl.String)
        return self.table.select("rank", "title", by, "year", "key", "cited")
