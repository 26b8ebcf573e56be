"""Runs and judgements as tables: ``query_id, doc_id, score`` and ``query_id, doc_id, relevance``.

Both are immutable, and checked when they are made. Ids are strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.runs.times import epochs, time_column
from citebed.runs.trec_files import (
    OUT_OF_RANGE,
    QRELS,
    RUN,
    Layout,
    grades,
    trec_lines,
)
from citebed.wording import printable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Hashes = npt.NDArray[np.uint64]
    Flags = npt.NDArray[np.bool_]
else:  # only type checkers need these, and importing numpy takes long
    Ints = Floats = Hashes = Flags = Any


@dataclass(frozen=True, eq=False)
class _Rows:
    """Columns ``query_id``, ``doc_id`` and a number, as they were read or given.

    ``source`` is the file they came from, for messages. ``hashes`` are hashes of document ids, if
    reading computed them, and ``times`` the documents' times, if they were given. Query ids may be
    integers in tables that citebed makes itself.
    """

    rows: pl.DataFrame
    name: str = ""
    source: Path | None = None
    hashes: pl.Series | None = None
    times: pl.Series | None = None

    @cached_property
    def table(self) -> pl.DataFrame:
        """The columns with ids as strings, even if they were read as categories."""
        if self.rows.schema.get("query_id") != pl.Categorical:
            return self.rows
        return self.rows.cast({"query_id": pl.String})

    @property
    def query_codes(self) -> Ints:
        """A number for each row's query; equal numbers mean the same query within this table."""
        queries = self.rows["query_id"]
        if not queries.dtype.is_integer():
            queries = queries.cast(pl.Categorical).to_physical()
        return queries.to_numpy()

    @cached_property
    def doc_hashes(self) -> Hashes:
        """The hash of each row's document id, as a read-only array."""
        column = self.rows["doc_id"].hash() if self.hashes is None else self.hashes
        hashes = column.to_numpy()
        hashes.flags.writeable = False  # the array is shared
        return hashes

    @cached_property
    def epochs(self) -> pl.Series:
        """The documents' times, as given or else from the front of their ids; null if unknown."""
        return epochs(self.rows["doc_id"]) if self.times is None else time_column(self.times)

    def only(self, chosen: pl.Series) -> Self:
        """Return the chosen rows."""
        hashes, times = (
            None if column is None else column.filter(chosen)
            for column in (self.hashes, self.times)
        )
        return replace(self, rows=self.rows.filter(chosen), hashes=hashes, times=times)


@dataclass(frozen=True, eq=False)
class Qrels(_Rows):
    """Judgements: columns ``query_id``, ``doc_id``, ``relevance`` (whole numbers).

    A grade below 0 means pooled but not judged, as in trec_eval. ``notes`` explain how a file was
    read, if that is not obvious.
    """

    name: str = "qrels"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Run(_Rows):
    """The documents that a system retrieved: ``query_id``, ``doc_id``, ``score`` (finite numbers).

    ``tag`` is the run's name in its file; ``team`` is its team in a KBA file. A run that citebed
    made has ``notes``, ``facts`` on how it was made, and a column ``rank``.
    """

    name: str = "run"
    tag: str | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    team: str | None = None


def is_parquet(path: Path) -> bool:
    """Return True if a file is a Parquet table, by its name."""
    return path.suffix.lower() == ".parquet"


_SYNONYMS = {
    "query_id": ("query_id", "qid", "q_id", "query"),
    "doc_id": ("doc_id", "docno", "docid", "doc"),
    "score": ("score",),
    "relevance": ("relevance", "label", "rel"),
}


def checked_columns(table: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Check and convert the three columns of a table; raise an error if one is missing or invalid.

    PyTerrier's names (``qid``, ``docno``, ``label``) are accepted, too.
    """
    names = match_columns(table.columns, layout)
    columns = {name: table[names[name]].rename(name) for name in layout.columns}
    value = number_column(columns[layout.columns[2]], layout.number)
    return pl.DataFrame([id_column(columns["query_id"]), id_column(columns["doc_id"]), value])


def match_columns(names: Sequence[str], layout: Layout) -> dict[str, str]:
    """Map the layout's columns to a table's column names; raise an error if one is missing."""
    matched = {}
    for name in layout.columns:
        known = [x for x in _SYNONYMS[name] if x in names]
        if not known:
            raise CitebedError(
                f"the table has no column '{name}'. Found: {', '.join(names) or 'none'}; "
                f"expected {', '.join(layout.columns)}."
            )
        matched[name] = known[0]
    return matched


def id_column(column: pl.Series) -> pl.Series:
    """Convert ids to strings; raise an error if one is missing or the type cannot be an id."""
    if column.null_count():
        row = column.is_null().arg_true()[0]
        raise CitebedError(f"the {column.name} of row {row + 1} is missing.")
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if whole.cast(pl.Float64).eq_missing(column).all():
            column = whole  # pandas turns the id 1 into 1.0 if other values are missing
    return _cast(column, pl.String, "ids")


def _cast(column: pl.Series, kind: type[pl.DataType], expected: str) -> pl.Series:
    """Convert a column to another type; raise an error if that is impossible."""
    try:
        if not column.dtype.is_nested():
            return column.cast(kind)
    except pl.exceptions.PolarsError:
        pass
    raise CitebedError(f"the column '{column.name}' holds {column.dtype}; expected {expected}.")


def number_column(column: pl.Series, kind: type[pl.Float64] | type[pl.Int64]) -> pl.Series:
    """Convert a column to finite numbers or to grades; raise an error for any other value."""
    cast = _cast(column, kind, "numbers")
    bad = cast.is_null()
    if kind is pl.Float64:
        bad = bad | ~cast.is_finite()
    elif column.dtype.is_float() or column.dtype.is_decimal():
        bad = bad | (cast.cast(pl.Float64) != column.cast(pl.Float64))
    if bad.any():
        row = bad.arg_true()[0]
        what = "a finite number" if kind is pl.Float64 else "a whole number"
        raise CitebedError(f"the {column.name} of row {row + 1}, {column[row]}, is not {what}.")
    if kind is pl.Int64 and not grades(cast).all():
        row = (~grades(cast)).arg_true()[0]
        raise CitebedError(f"the {column.name} of row {row + 1}, {cast[row]}, {OUT_OF_RANGE}")
    return cast


def raise_duplicate(of: Qrels | Run, query: str, document: str) -> NoReturn:
    """Raise an error for a document that occurs twice for a query, with its line in the file."""
    layout = QRELS if isinstance(of, Qrels) else RUN
    what = "judged" if layout is QRELS else "retrieved"
    message = (
        f"document '{document}' is {what} twice for query '{query}'. Delete one of the two lines."
    )
    if of.source is None or is_parquet(of.source) or not of.source.is_file():
        raise CitebedError(f"{printable(of.source or of.name)}: {message}")
    lines = [n for n, q, d, _ in trec_lines(of.source, layout) if (q, d) == (query, document)]
    raise FormatError(of.source, lines[-1], f"{message} First in line {lines[0]}.")
