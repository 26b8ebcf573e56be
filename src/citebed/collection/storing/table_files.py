"""The Parquet files of a collection's tables; errors say how to repair them."""

from __future__ import annotations

import contextlib
import itertools
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from citebed.collection.storing.store import SETS, SHARDS, read_manifest
from citebed.collection.tables import (
    DERIVED,
    IMPORT,
    TABLES,
    Schema,
    add_missing_columns,
    check_types,
    check_values,
    empty_table,
)
from citebed.errors import CitebedError, CollectionError, is_interrupt
from citebed.files.file_kinds import MANIFEST
from citebed.files.input_files import reusable_path
from citebed.files.parquet import Footer, copy_row_groups, read_footer
from citebed.files.system_errors import translate_read_errors
from citebed.wording import printable

DOCUMENTS = "documents"
ROW_GROUP = 5_000
"""Rows in a row group, the smallest unit of reading and writing."""
_SLICE = 20 * ROW_GROUP
_CACHED = 8
"""Row groups of a stored table that stay in memory."""
_PACKED: Any = {
    "compression": "zstd",
    "compression_level": 1,
    "statistics": False,
    "row_group_size": ROW_GROUP,
}


def _new_file(path: Path) -> IO[bytes]:
    """Open a file for writing, because polars refuses names that are not UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


def write_table(
    path: Path, table: pl.DataFrame, schema: Schema, about: Mapping[str, str] | None = None
) -> None:
    """Write a table with the columns of ``schema``, and ``about`` as metadata."""
    made = table.select(pl.col(name).cast(kind) for name, kind in schema.items())
    with _new_file(path) as handle:
        made.write_parquet(handle, metadata=None if about is None else dict(about), **_PACKED)


def write_frames(path: Path, frames: Iterator[pl.DataFrame], schema: Schema) -> None:
    """Write a table that is given in pieces, with few of them in memory."""

    def pieces(*_: object) -> Iterator[pl.DataFrame]:
        yield empty_table(schema)
        for piece in frames:
            yield piece.select(pl.col(name).cast(kind) for name, kind in schema.items())

    with _new_file(path) as handle:
        register_io_source(pieces, schema=dict(schema)).sink_parquet(handle, **_PACKED)


# --- Tables with few changes ------------------------------------------------------------------


class StoredTable:
    """A table file that is read by row groups; the last few stay in memory."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name, self.schema = path, name, TABLES[name]
        with translate_damage(path):
            self.footer = read_footer(path)
            self.sizes = self.footer.rows
        self.starts = [0, *itertools.accumulate(self.sizes)]
        self._group = lru_cache(_CACHED)(self._read)

    def _read(self, number: int) -> pl.DataFrame:
        start, size = self.starts[number], self.sizes[number]
        return read_slice(self._path, self._name, self.schema, start, size)

    def take(self, rows: pl.Series) -> pl.DataFrame:
        """Return the rows with these numbers, in ascending order."""
        parts = [empty_table(self.schema)]
        cuts = rows.search_sorted(pl.Series(self.starts)).to_list()
        for number, (first, end) in enumerate(itertools.pairwise(cuts)):
            if end > first:
                parts.append(self._group(number)[rows[first:end] - self.starts[number]])
        return pl.concat(parts)


class _Part(NamedTuple):
    """A range of rows to write: a row ``group`` of the stored table, or other rows."""

    first: int
    end: int
    group: int | None


def write_changed(
    path: Path, before: StoredTable, rows: pl.Series, fresh: pl.DataFrame, work: Path
) -> None:
    """Write the ``rows`` of a stored table (ascending), with ``fresh`` rows in place of nulls.

    Unchanged row groups are copied; the others are written to files in ``work`` first.
    """
    parts = list(_parts(before, rows))

    def frame(part: _Part) -> pl.DataFrame:
        mine = rows[part.first : part.end]
        ours, is_fresh = before.take(mine.drop_nulls()), mine.is_null()
        start = rows[: part.first].null_count()
        both = pl.concat([ours, fresh[start : start + mine.null_count()].select(ours.columns)])
        order = pl.concat([(~is_fresh).arg_true(), is_fresh.arg_true()])
        return both[order.arg_sort()]

    made: list[tuple[Footer, range]] = []
    for part in parts:
        if part.group is None:
            draft = work / f"{path.stem}-{part.first}.parquet"
            write_table(draft, frame(part), before.schema)
            made.append((read_footer(draft), range(1)))
        else:
            made.append((before.footer, range(part.group, part.group + 1)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy_row_groups(path, made)
    except ValueError:  # another polars wrote the stored table
        write_frames(path, map(frame, parts), before.schema)


def _parts(before: StoredTable, rows: pl.Series) -> Iterator[_Part]:
    """Yield the unchanged row groups, and the rows between them as new row groups.

    Small row groups are joined with their neighbours, so that the file does not get too many.
    """
    kept, places = rows.drop_nulls(), rows.is_not_null().arg_true()
    cuts = kept.search_sorted(pl.Series(before.starts)).to_list()
    parts: list[_Part] = []
    for number, (first, end) in enumerate(itertools.pairwise(cuts)):
        size = before.sizes[number]
        if size and end - first == size and places[end - 1] - places[first] == size - 1:
            parts.append(_Part(int(places[first]), int(places[end - 1]) + 1, number))
    ends = [0, *(part.end for part in parts)]
    starts = [*(part.first for part in parts), len(rows)]
    between = (
        _Part(at, min(at + ROW_GROUP, start), None)
        for end, start in zip(ends, starts, strict=True)
        for at in range(end, start, ROW_GROUP)
    )
    waiting: _Part | None = None
    for part in sorted([*parts, *between]):
        if waiting is None:
            waiting = part
        elif part.end - waiting.first <= ROW_GROUP and None in (part.group, waiting.group):
            waiting = _Part(waiting.first, part.end, None)
        else:
            yield waiting
            waiting = part
    if waiting is not None:
        yield waiting


def table_paths(folder: Path, name: str) -> list[Path]:
    """Return the files of a table: one, or those in the shards, in their order."""
    path = folder / f"{name}.parquet"
    if path.exists() or not (folder / SHARDS).is_dir() or not (folder / MANIFEST).is_file():
        return [path] if path.exists() else []
    places = (folder / SHARDS / shard for shard in read_manifest(folder).shards)
    paths = [place / f"{name}.parquet" for place in places]
    return paths if name == DOCUMENTS else [each for each in paths if each.exists()]


def required_paths(folder: Path, name: str) -> list[Path]:
    """Return the files of a table; raise if a collection lacks its documents."""
    paths = table_paths(folder, name)
    if not paths and name == DOCUMENTS and (folder / MANIFEST).exists():
        check_exists(folder / f"{name}.parquet")
    return paths


@contextlib.contextmanager
def open_table(path: Path) -> Iterator[pl.LazyFrame]:
    """Yield the rows of a table file; raise ``CollectionError`` if it is missing or damaged."""
    check_exists(path)
    with translate_damage(path), reusable_path(path) as file:
        yield pl.scan_parquet(file, glob=False)


def read_slices(folder: Path, name: str, schema: Schema, size: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the columns in ``schema`` of a table in pieces (of ``size`` rows, if given)."""
    size = size or _SLICE
    paths = table_paths(folder, name)
    if not all(path.exists() and _has(path, schema) for path in paths) or not paths:
        yield from read_table(folder, name, TABLES[name]).select(list(schema)).iter_slices(size)
        return
    for path in paths:
        for start in range(0, count_rows(path), size):
            yield read_slice(path, name, schema, start, size)


def read_slice(
    path: Path, name: str, schema: Schema, start: int = 0, size: int | None = None
) -> pl.DataFrame:
    """Return the columns in ``schema`` of ``size`` rows of a table file (default: all rows)."""
    with open_table(path) as rows:
        columns = rows.collect_schema()
        check_types(columns, schema)
        wanted = rows.select(list(schema)) if columns.keys() >= schema.keys() else rows
        piece = wanted.slice(start, size).collect()
        check_values(piece, name)
    return add_missing_columns(piece, schema)


def read_table(folder: Path, name: str, schema: Schema) -> pl.DataFrame:
    """Return a table of the collection; a missing table is empty."""
    parts = [read_slice(path, name, schema) for path in required_paths(folder, name)]
    return pl.concat(parts, rechunk=False) if parts else empty_table(schema)


def read_schema(path: Path) -> Mapping[str, pl.DataType]:
    """Return the checked columns of a file of documents."""
    with open_table(path) as rows:
        schema = rows.collect_schema()
        check_types(schema, TABLES[DOCUMENTS])
        return schema


def count_rows(path: Path) -> int:
    with open_table(path) as rows:
        return int(rows.select(pl.len()).collect().item())


def read_rows(path: Path, rows: Iterable[int], columns: Iterable[str]) -> list[pl.DataFrame]:
    """Return existing columns of some rows of a file, without decompressing others."""
    with open_table(path) as stored:
        frame = stored.select([name for name in columns if name in stored.collect_schema()])
        return [frame.slice(row, 1).collect() for row in rows]


def check_exists(path: Path) -> None:
    """Raise if a file of a collection is missing."""
    if not path.exists():
        raise CollectionError(f"{printable(path)} is missing. {repair_hint(path)}")


@contextlib.contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Turn errors and panics of polars into errors that report damage, except for Ctrl-C, missing
    memory and errors of the disk."""
    try:
        with translate_read_errors(path):
            yield
    except (CitebedError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        reason = str(error).partition("\n")[0]
        raise CollectionError(
            f"{printable(path)} is damaged ({reason}). {repair_hint(path)}"
        ) from None


def repair_hint(path: Path) -> str:
    """Return the sentence that says how to restore a damaged or missing file."""
    folder = path.parent.parent if path.parent.name in (*SETS, IMPORT) else path.parent
    folder = folder.parent.parent if folder.parent.name == SHARDS else folder
    name = printable(folder)
    if path.parent.name in SETS:
        return f"Restore it from the rest of the collection with: citebed import {name}"
    sources = []
    with contextlib.suppress(CitebedError):
        sources = [str(row["path"]) for row in read_manifest(folder).sources]
    arguments = " ".join(map(shlex.quote, sources)) or "SOURCES"
    return f"Move '{name}' away and import again: citebed import {name} {arguments}"


def is_complete(folder: Path, name: str) -> bool:
    """Return True if a table has all columns that come from sources, or does not exist."""
    wanted = TABLES[name].keys() - DERIVED
    return all(_has(path, wanted) for path in table_paths(folder, name) if path.exists())


def _has(path: Path, columns: Iterable[str]) -> bool:
    with open_table(path) as rows:
        return rows.collect_schema().keys() >= set(columns)


def write_qrels(path: Path, qrels: pl.DataFrame) -> None:
    """Write judgements as TREC qrels with iteration 0."""
    from citebed.runs.writer import write_lines  # needs numpy, which readers do not

    with _new_file(path) as handle:
        write_lines(qrels.select("query_id", pl.lit("0").alias("0"), "doc_id", "relevance"), handle)


def write_jsonl(path: Path, table: pl.DataFrame) -> None:
    with _new_file(path) as handle:
        table.write_ndjson(handle)
