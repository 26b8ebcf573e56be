"""Recommendations: values with a table inside, which print as one and render as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from citebed.frames import Shown

if TYPE_CHECKING:
    from citebed.drafts import Passage

_SCHEMA: dict[str, Any] = {
    "rank": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "title": pl.String,
    "authors": pl.List(pl.String), "year": pl.Int64, "venue": pl.String, "doi": pl.String,
    "terms": pl.List(pl.String), "sentence": pl.String,
    "passage": pl.Int64, "line": pl.Int64, "section": pl.String,
}  # fmt: skip


@dataclass(frozen=True)
class Recommendation:
    """A document, and why: ``terms`` are the words of the text that asked for it, best first.

    ``sentence`` is the sentence of the text that asked most for it; ``passage`` is which passage
    of a draft, and ``line`` and ``section`` where that begins.
    """

    rank: int
    doc_id: str
    score: float
    title: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    doi: str
    terms: tuple[str, ...]
    sentence: str
    passage: int = 1
    line: int = 1
    section: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations(Shown, Sequence[Recommendation]):
    """What a text should cite, best first; of a draft, passage after passage.

    ``passages`` are those of a draft that asked, ``left_out`` the documents that it cites already
    or is itself, ``notes`` what else there is to say.
    """

    found: tuple[Recommendation, ...]
    passages: tuple[Passage, ...] = ()
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, at: int) -> Recommendation: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Recommendation, ...]: ...
    def __getitem__(self, at: int | slice) -> Recommendation | tuple[Recommendation, ...]:
        return self.found[at]

    def __len__(self) -> int:
        return len(self.found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.found == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The recommendations as flat rows, as ``--json`` prints them."""
        return [vars(each).copy() for each in self.found]

    @cached_property
    def table(self) -> pl.DataFrame:
        """The recommendations as a table: a column for each of their fields."""
        return pl.DataFrame(self.rows, schema=_SCHEMA)

    def of(self, passage: Passage) -> list[Recommendation]:
        """What one passage should cite."""
        return [each for each in self.found if each.passage == passage.number]

    def shown(self) -> pl.DataFrame:
        """What a person looks at first."""
        first = ["passage"] if len(self.passages) > 1 else []
        because = pl.col("terms").list.join(", ").alias("because of")
        return self.table.select(*first, "rank", pl.col("score").round(2), "title", "year", because)
