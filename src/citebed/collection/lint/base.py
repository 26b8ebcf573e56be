"""What a check is, what it finds, and what it looks at."""

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
"""The columns of what a check finds: where (``source:line``), which record, what about it."""


@dataclass(frozen=True)
class Subject:
    """A collection under examination, with the columns that several checks read.

    Only these columns are read, each once; ``today`` is what dates are compared with.
    """

    collection: Collection
    today: datetime.date = field(
        default_factory=lambda: datetime.datetime.now(tz=datetime.UTC).date()
    )

    @cached_property
    def documents(self) -> pl.DataFrame:
        """The documents without their long texts, and ``plain``, the title folded."""
        names = ["doc_id", "title", "authors", "year", "date", "venue", "volume", "pages", "doi"]
        names += ["source", "line", "aliases", "arxiv", "doubtful"]
        return (
            self.collection.scan_documents()
            .select(*names, plain=plain_title(pl.col("title")))
            .collect()
        )

    @cached_property
    def texts(self) -> pl.DataFrame:
        """What there is to read of the documents: title and abstract."""
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
    """Something that can be wrong with a collection.

    ``severity``: an ``error`` makes figures wrong, a ``warning`` makes them doubtful, a
    ``note`` is worth a look. ``mend`` says what to do. ``find`` gives a row (``FOUND``) for
    each place where it is so.
    """

    name: str
    title: str
    mend: str
    severity: Severity
    find: Callable[[Subject], pl.DataFrame]


def check(
    name: str, severity: Severity, title: str, mend: str
) -> Callable[[Callable[[Subject], pl.DataFrame]], Check]:
    """Make a check of the function below, which finds the places."""
    return lambda find: Check(name, title, mend, severity, find)


@dataclass(frozen=True)
class Finding:
    """What a check found: how often, and some of the places; ``count`` 0 is a pass."""

    check: Check
    count: int
    examples: list[dict[str, str | None]]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return self.count == 0


def place(source: str = "source", line: str | None = "line") -> pl.Expr:
    """``source:line``, or the source alone where the line is not known."""
    where = pl.col(source)
    if line is None:
        return where
    return pl.when(pl.col(line).is_null()).then(where).otherwise(pl.format("{}:{}", where, line))


def findings(
    table: pl.DataFrame, name: str, what: pl.Expr, where: pl.Expr | None = None
) -> pl.DataFrame:
    """The rows of a table as findings; ``name`` is the column that identifies the record.

    ``where`` is the source and line of the row unless it is given.
    """
    where = place() if where is None else where
    # polars 2.1 panics on formatting text of which some chunks are empty
    return table.rechunk().select(place=where, id=pl.col(name), what=what).cast(dict(COLUMNS))  # type: ignore[arg-type]


def nothing() -> pl.DataFrame:
    """No findings."""
    return pl.DataFrame(schema=COLUMNS)


def blank(text: str) -> pl.Expr:
    """Whether a column has no text in a row."""
    return pl.col(text).fill_null("").str.strip_chars() == ""


def shown(text: str, length: int = 80) -> pl.Expr:
    """A column's text in quotes, shortened for a message."""
    column = pl.col(text).fill_null("")
    cut = pl.when(column.str.len_chars() > length).then(column.str.slice(0, length - 1) + "…")
    return pl.format("'{}'", cut.otherwise(column))


def year_shown(year: str = "year") -> pl.Expr:
    """A year for a message: ``2010``, or ``no year``."""
    return pl.col(year).cast(pl.String).fill_null("no year")
