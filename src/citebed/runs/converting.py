"""The door: whatever a user has, made into `Qrels` and `Run` tables.

Accepted are files (TREC or Parquet), polars and pandas tables, dicts of dicts, iterables (lists
or generators) of records with ``query_id``, ``doc_id`` and ``score`` or ``relevance`` (ir_measures
and ir_datasets give such), of dicts with these fields and of plain triples, ir_datasets' data sets
and ranx's objects themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError
from citebed.runs.tables import Qrels, Run, checked_columns, read_qrels, read_run, read_runs
from citebed.runs.trec_files import QRELS, RUN, Layout


def as_qrels(given: Any, name: str = "qrels") -> Qrels:
    """Judgements from whatever holds them."""
    if isinstance(given, Qrels):
        return given
    if isinstance(given, str | Path):
        return read_qrels(given)
    if hasattr(given, "qrels_iter"):
        given = given.qrels_iter()
    return Qrels(_table(given, QRELS), name)


def as_run(given: Any, name: str = "run") -> Run:
    """A run from whatever holds it."""
    if isinstance(given, Run):
        return given
    if isinstance(given, str | Path):
        return read_run(given)
    if isinstance(getattr(given, "table", None), pl.DataFrame):
        given = given.table
    if hasattr(given, "scoreddocs_iter"):
        given = given.scoreddocs_iter()
    return Run(_table(given, RUN), name)


def as_runs(given: Any) -> Iterator[Run]:
    """One run, several (a list or a generator) or a dict of them by name, one at a time."""
    if isinstance(given, Mapping) and not _is_nested(given):
        for name, run in given.items():
            found = as_run(run, str(name))
            yield Run(found.table, str(name), found.source)
        return
    several = isinstance(given, list | tuple) and bool(given) and not _is_row(given[0])
    if isinstance(given, Iterator):
        several, given = _peeked(given)
    if isinstance(given, list | tuple) and given and all(isinstance(x, str | Path) for x in given):
        yield from read_runs([Path(x) for x in given])
    elif several:
        for number, run in enumerate(given, 1):
            yield as_run(run, f"run{number}")
    else:
        yield as_run(given)


def _peeked(given: Iterator[Any]) -> tuple[bool, Iterator[Any]]:
    """Whether an iterator gives runs, not rows; and it with its first item put back."""
    for first in given:
        return not _is_row(first), chain([first], given)
    return False, given


def _is_nested(given: Mapping[Any, Any]) -> bool:
    """Whether it is a dict of queries, not of runs."""
    if not given:
        return True
    first = next(iter(given.values()))
    return isinstance(first, Mapping) and not any(isinstance(x, Mapping) for x in first.values())


def _is_row(given: Any) -> bool:
    """Whether it is a line of a run: a record, a dict of fields or a triple."""
    if isinstance(given, Mapping):
        return any(name in given for name in ("query_id", "qid")) and not any(
            isinstance(value, Mapping) for value in given.values()
        )
    return hasattr(given, "query_id") or (
        isinstance(given, tuple | list)
        and len(given) == 3
        and isinstance(given[0], str | int)
        and isinstance(given[2], Real)
    )


def _table(given: Any, layout: Layout) -> pl.DataFrame:
    try:
        return checked_columns(_converted(given, layout), layout)
    except UnicodeEncodeError as error:
        raise CitebedError(f"{error.object!a} holds half a character; no table can.") from None


def _converted(given: Any, layout: Layout) -> pl.DataFrame:
    if isinstance(given, pl.LazyFrame):
        return given.collect()
    if isinstance(given, pl.DataFrame):
        return given
    if hasattr(given, "columns") and hasattr(given, "iloc"):  # pandas, without importing it
        return _from_pandas(given)
    if not isinstance(given, Mapping) and hasattr(given, "to_dict"):  # ranx's Qrels and Run
        given = given.to_dict()
    if isinstance(given, Mapping):
        return _from_dicts(given, layout)
    if isinstance(given, Iterable):
        return _from_rows(given, layout)
    raise CitebedError(
        f"cannot read {layout.what} from a {type(given).__name__}. Give a file, a table with "
        f"columns {', '.join(layout.kept)}, or a dict of dicts."
    )


def _frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(columns, strict=False)


_NUMBERS = ("score", "relevance", "label", "rel")


def _from_pandas(given: Any) -> pl.DataFrame:
    """A pandas table as a polars one; a missing value is one, whatever pandas writes for it.

    pandas turns whole numbers into fractions where one is missing; ids are turned back.
    """
    columns = {}
    for name in given.columns:
        values, gone = given[name].tolist(), given[name].isna()
        if str(name) not in _NUMBERS and given[name].dtype.kind == "f":
            values = [
                int(x) if not no and x.is_integer() else x
                for x, no in zip(values, gone, strict=True)
            ]
        if gone.any():
            values = [None if no else x for x, no in zip(values, gone, strict=True)]
        columns[str(name)] = values
    return _frame(columns)


def _from_dicts(given: Mapping[Any, Any], layout: Layout) -> pl.DataFrame:
    queries: list[str] = []
    documents: list[str] = []
    values: list[Any] = []
    for query, found in given.items():
        if not isinstance(found, Mapping):
            raise CitebedError(
                f"query '{query}' has a {type(found).__name__}; expected a dict from document "
                f"to {layout.kept[2]}."
            )
        queries.extend([str(query)] * len(found))
        documents.extend(map(str, found))
        values.extend(found.values())
    return _frame(dict(zip(layout.kept, (queries, documents, values), strict=True)))


def _from_rows(given: Iterable[Any], layout: Layout) -> pl.DataFrame:
    rows = list(given)
    if rows and all(isinstance(row, Mapping) for row in rows):
        return pl.from_dicts(rows, strict=False)
    if rows and hasattr(rows[0], layout.kept[2]):
        columns = {name: [getattr(row, name) for row in rows] for name in layout.kept}
    else:
        try:
            columns = {name: [row[at] for row in rows] for at, name in enumerate(layout.kept)}
        except (TypeError, IndexError, KeyError):
            raise CitebedError(
                f"expected rows of {', '.join(layout.kept)}; found {rows[0]!r:.80}."
            ) from None
    return _frame(columns)
