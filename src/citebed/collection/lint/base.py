"""Checks, findings, and the tables that checks read."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import polars as pl

from citebed.collection.collection import Collection
from citebed.text.titles import plain_title

Severity = Literal["error", "warning", "note"]

COLUMNS: dict[str, pl.DataType] = {"place": pl.String(), "id": pl.String(), "what": pl.String()}
"""The columns of findings: place (``source:line``), id of the record, description."""


@dataclass(frozen=True)
class Subject:
    """A collection to check. The columns that several checks need are read once."""

    collection: Collection
    today: datetime.date = field(
        default_factory=lambda: datetime.datetime.now(tz=datetime.UTC).date()
    )

    @cached_property
    def documents(self) -> pl.DataFrame:
        """The documents without long texts; ``plain`` is the title in letters and digits."""
        names = ["doc_id", "title", "authors", "year", "date", "venue", "volume", "pages", "doi"]
        names += ["source", "line", "aliases", "arxiv", "doubtful"]
        return (
            self.collection.scan_documents()
            .select(*names, plain=plain_title(pl.col("title")))
            .collect()
        )

    @cached_property
    def texts(self) -> pl.DataFrame:
        """Titles and abstracts of the documents."""
        names = ("doc_id", "title", "abstract", "source", "line")
        return self.collection.scan_documents().select(names).collect()

    @cached_property
    def queries(self) -> pl.DataFrame:
        """The queries of all sets: ``set``, ``query_id``, ``text``, ``place``."""
        made = [
            self.collection.queries(name).select(
                "query_id", "text", set=pl.lit(name), place=pl.lit(f"queries/{name}.jsonl")
            )
            for name in self.collection.query_sets
        ]
        none = {name: pl.String() for name in ("query_id", "text", "set", "place")}
        return pl.concat([pl.DataFrame(schema=none), *made])


@dataclass(frozen=True)
class Check:
    """A possible defect of a collection.

    ``severity``: an ``error`` makes scores wrong, a ``warning`` makes them doubtful, a ``note`` is
    worth a look. ``mend`` says what to do. ``find`` returns a row (`COLUMNS`) for each defect.
    """

    name: str
    title: str
    mend: str
    severity: Severity
    find: Callable[[Subject], pl.DataFrame]


def check(
    name: str, severity: Severity, title: str, mend: str
) -> Callable[[Callable[[Subject], pl.DataFrame]], Check]:
    """Make a check of the decorated function, which finds the defects."""
    return lambda find: Check(name, title, mend, severity, find)


@dataclass(frozen=True)
class Finding:
    """The number of defects that a check found, and some examples."""

    check: Check
    count: int
    examples: list[dict[str, str | None]]

    @property
    def passed(self) -> bool:
        """True if the check found nothing."""
        return self.count == 0


def format_place(source: str = "source", line: str | None = "line") -> pl.Expr:
    """Return ``source:line``, or the source if the line is unknown."""
    where = pl.col(source)
    if line is None:
        return where
    return pl.when(pl.col(line).is_null()).then(where).otherwise(pl.format("{}:{}", where, line))


def make_findings(
    table: pl.DataFrame, name: str, what: pl.Expr, where: pl.Expr | None = None
) -> pl.DataFrame:
    """Return rows as findings; ``name`` is the column of the record's id, ``where`` the place
    (default: source and line)."""
    where = format_place() if where is None else where
    # polars 2.1 panics on formatting text with empty chunks
    return table.rechunk().select(place=where, id=pl.col(name), what=what).cast(dict(COLUMNS))  # type: ignore[arg-type]


def no_findings() -> pl.DataFrame:
    return pl.DataFrame(schema=COLUMNS)


def is_blank(text: str) -> pl.Expr:
    """Return True for rows without text in a column."""
    return pl.col(text).fill_null("").str.strip_chars() == ""


def quote(text: str, length: int = 80) -> pl.Expr:
    """Return a column's text in quotes, shortened for a message."""
    column = pl.col(text).fill_null("")
    short = pl.when(column.str.len_chars() > length).then(column.str.slice(0, length - 1) + "…")
    return pl.format("'{}'", short.otherwise(column))


def format_year(year: str = "year") -> pl.Expr:
    """Return ``2010`` or ``no year``."""
    return pl.col(year).cast(pl.String).fill_null("no year")
