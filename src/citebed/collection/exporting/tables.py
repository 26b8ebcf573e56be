"""The collection's tables as files: Parquet as they are, or CSV for spreadsheets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, Output
from citebed.files.spreadsheets import harmless_table
from citebed.wording import count

_TABLES = ("documents", "papers", "references", "contexts", "links", "sections")
_ALWAYS = frozenset(("documents", "papers", "contexts"))
_JOINT = "; "


def _query_tables(collection: Collection, output: Output) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in output.query_sets:
        yield f"queries/{name}", collection.queries(name)
        yield f"qrels/{name}", collection.qrels(name).table


def write_parquet(collection: Collection, output: Output) -> None:
    """Every table as Parquet, the queries and judgements too."""
    for name in _TABLES:
        source = collection.folder / f"{name}.parquet"
        if source.exists():
            height = collection.table(name, {"source": pl.String()}).height
            shutil.copyfile(source, output.file(f"{name}.parquet", height))
    for name, table in _query_tables(collection, output):
        with output.open(f"{name}.parquet", table.height) as file:
            table.write_parquet(file)


def write_csv(collection: Collection, output: Output) -> None:
    """Every table as CSV in UTF-8, with a header.

    Lists (authors, keywords …) are joined by ``; ``. An unknown value is an empty cell, an
    empty text is ``""``; a cell with a comma, a quote or a line end stands in quotes. A text that
    a spreadsheet would run as a formula has an apostrophe before it.
    """
    for name in _TABLES:
        table = getattr(collection, name)
        if table.height or name in _ALWAYS:
            _write_csv(name, table, output)
    for name, table in _query_tables(collection, output):
        _write_csv(name, table, output)


def _write_csv(name: str, table: pl.DataFrame, output: Output) -> None:
    lists = [column for column, kind in table.schema.items() if kind == pl.List(pl.String)]
    for column in lists:
        joint = pl.col(column).list.join("\n").str.contains(_JOINT, literal=True)
        if number := int(table.select(joint.sum()).item()):
            rows = count(number, "row")
            output.notes.append(
                f"{name}.csv: in {rows} an item of {column} has the joining '{_JOINT}' in it"
            )
    flat = table.with_columns(pl.col(column).list.join(_JOINT) for column in lists)
    safe, changed = harmless_table(flat)
    if changed:
        cells = f"{count(changed, 'cell')} that a spreadsheet would run"
        output.notes.append(f"{name}.csv: {cells} got an apostrophe in front")
    with output.open(f"{name}.csv", table.height) as file:
        safe.write_csv(file)


PARQUET = Exporter("parquet", "Parquet tables", write_parquet)
CSV = Exporter("csv", "CSV tables", write_csv)
