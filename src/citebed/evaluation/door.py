"""The door: whatever a user has, made into `Qrels` and `Run` tables.

Accepted are files (TREC or Parquet), polars and pandas tables, dicts of dicts, iterables of
records with ``query_id``, ``doc_id`` and ``score`` or ``relevance`` (ir_measures and ir_datasets
give such), of plain triples, and ir_datasets' data sets themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.tables import Qrels, Run, checked_columns, read_qrels, read_run
from citebed.evaluation.trec_files import QRELS, RUN, Layout


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
    return Run(_table(given, RUN), name)


def as_runs(given: Any) -> Iterator[Run]:
    """One run, a list of runs or a dict of them by name, one at a time."""
    if isinstance(given, Mapping) and not _is_nested(given):
        for name, run in given.items():
            found = as_run(run, str(name))
            yield Run(found.table, str(name), found.source)
    elif isinstance(given, Iterator) or (isinstance(given, list | tuple) and not _is_rows(given)):
        for number, run in enumerate(given, 1):
            yield as_run(run, f"run{number}")
    else:
        yield as_run(given)


def _is_nested(given: Mapping[Any, Any]) -> bool:
    """Whether it is a dict of queries, not of runs."""
    if not given:
        return True
    first = next(iter(given.values()))
    return isinstance(first, Mapping) and not any(isinstance(x, Mapping) for x in first.values())


def _is_rows(given: list[Any] | tuple[Any, ...]) -> bool:
    if not given:
        return True
    first = given[0]
    return hasattr(first, "query_id") or (
        isinstance(first, tuple)
        and len(first) == 3
        and isinstance(first[0], str)
        and isinstance(first[2], int | float)
    )


def _table(given: Any, layout: Layout) -> pl.DataFrame:
    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if isinstance(given, pl.DataFrame):
        return checked_columns(given, layout)
    if hasattr(given, "columns") and hasattr(given, "iloc"):  # pandas, without importing it
        columns = {str(name): given[name].tolist() for name in given.columns}
        return checked_columns(_frame(columns), layout)
    if isinstance(given, Mapping):
        return checked_columns(_from_dicts(given, layout), layout)
    if isinstance(given, Iterable):
        return checked_columns(_from_rows(given, layout), layout)
    raise CitebedError(
        f"cannot read {layout.what} from a {type(given).__name__}. Give a file, a table with "
        f"columns {', '.join(layout.kept)}, or a dict of dicts."
    )


def _frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(columns, strict=False)


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
