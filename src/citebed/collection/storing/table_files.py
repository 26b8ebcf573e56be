"""The tables of a collection as files; what is damaged is told, with how to mend it."""

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

from citebed.collection.storing.store import MANIFEST, SETS, SHARDS, read_manifest
from citebed.collection.tables import (
    DERIVED,
    IMPORT,
    TABLES,
    Schema,
    check_types,
    check_values,
    empty,
    with_added,
)
from citebed.errors import CitebedError, CollectionError, is_interrupt
from citebed.files.input_files import reusable_path
from citebed.files.parquet import Footer, copy_row_groups, read_footer
from citebed.files.system_errors import translate_read_errors
from citebed.wording import printable

DOCUMENTS = "documents"
ROW_GROUP = 5_000
"""Rows in a row group, the least that is read or written."""
_SLICE = 20 * ROW_GROUP
_HELD = 8
"""Row groups of a stored table that stay in memory."""
_PACKED: Any = {
    "compression": "zstd",
    "compression_level": 1,
    "statistics": False,
    "row_group_size": ROW_GROUP,
}


def _new_file(path: Path) -> IO[bytes]:
    """A handle to write to: polars takes no name that is not UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


def write_table(
    path: Path, table: pl.DataFrame, schema: Schema, about: Mapping[str, str] | None = None
) -> None:
    """Write a table with exactly the stated columns, and ``about`` in its metadata."""
    made = table.select(pl.col(name).cast(kind) for name, kind in schema.items())
    with _new_file(path) as handle:
        made.write_parquet(handle, metadata=None if about is None else dict(about), **_PACKED)


def write_frames(path: Path, frames: Iterator[pl.DataFrame], schema: Schema) -> None:
    """Write a table that comes piece by piece, in memory for a few of them."""

    def pieces(*_: object) -> Iterator[pl.DataFrame]:
        yield empty(schema)
        for piece in frames:
            yield piece.select(pl.col(name).cast(kind) for name, kind in schema.items())

    with _new_file(path) as handle:
        register_io_source(pieces, schema=dict(schema)).sink_parquet(handle, **_PACKED)


# --- a table of which most rows stay ----------------------------------------------------------


class StoredTable:
    """The file of a table, read by row groups; the last few stay in memory."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name, self.schema = path, name, TABLES[name]
        with translate_damage(path):
            self.footer = read_footer(path)
            self.sizes = self.footer.rows
        self.starts = [0, *itertools.accumulate(self.sizes)]
        self._group = lru_cache(_HELD)(self._read)

    def _read(self, number: int) -> pl.DataFrame:
        start, size = self.starts[number], self.sizes[number]
        return read_slice(self._path, self._name, self.schema, start, size)

    def take(self, rows: pl.Series) -> pl.DataFrame:
        """Return the rows with these numbers, which rise."""
        parts = [empty(self.schema)]
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
    """Write the ``rows`` of a stored table (rising numbers), with ``fresh`` rows in place of nulls.

    Row groups that stay whole are copied as they are; the others are packed under ``work`` first.
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
    """Return the row groups that stay whole, and the rows between them as new row groups; a small
    one is joined with its neighbour, so that row groups do not become many."""
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
    """The files of a table: one, or those of the shards that have some of it, in their order."""
    path = folder / f"{name}.parquet"
    if path.exists() or not (folder / SHARDS).is_dir() or not (folder / MANIFEST).is_file():
        return [path] if path.exists() else []
    places = (folder / SHARDS / shard for shard in read_manifest(folder).shards)
    paths = [place / f"{name}.parquet" for place in places]
    return paths if name == DOCUMENTS else [each for each in paths if each.exists()]


def read_slices(folder: Path, name: str, schema: Schema, size: int = 0) -> Iterator[pl.DataFrame]:
    """A table of the collection piece by piece; ``schema`` are the columns that are wanted, and
    ``size`` the rows of a piece, if it matters."""
    size = size or _SLICE
    paths = table_paths(folder, name)
    if not all(path.exists() and _has(path, schema) for path in paths) or not paths:
        yield from read_table(folder, name, TABLES[name]).select(list(schema)).iter_slices(size)
        return
    for path in paths:
        yield from _slices_of(path, name, schema, size)


def _slices_of(path: Path, name: str, schema: Schema, size: int) -> Iterator[pl.DataFrame]:
    for start in range(0, rows_of(path), size):
        yield read_slice(path, name, schema, start, size)


def read_slice(path: Path, name: str, schema: Schema, start: int, size: int) -> pl.DataFrame:
    """Some columns, which must be there, of so many rows of a file of a table."""
    with translate_damage(path), reusable_path(path) as file:
        check_types(pl.read_parquet_schema(file), schema)
        rows = pl.scan_parquet(file, glob=False).select(list(schema))
        piece = rows.slice(start, size).collect()
        check_values(piece, name)
        return piece


def read_table(folder: Path, name: str, schema: Schema) -> pl.DataFrame:
    """A table of the collection; one that is not there is empty."""
    paths = table_paths(folder, name)
    if not paths and name == DOCUMENTS and (folder / MANIFEST).exists():
        check_there(folder / f"{name}.parquet")
    parts = [_table_of(path, name, schema) for path in paths]
    return pl.concat(parts, rechunk=False) if parts else empty(schema)


def read_schema(path: Path) -> Mapping[str, pl.DataType]:
    """The columns of a file of the documents, checked."""
    check_there(path)
    with translate_damage(path), reusable_path(path) as file:
        schema = pl.read_parquet_schema(file)
        check_types(schema, TABLES[DOCUMENTS])
        return schema


def rows_of(path: Path) -> int:
    """How many rows a file has."""
    check_there(path)
    with translate_damage(path), reusable_path(path) as file:
        return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())


def read_rows(path: Path, rows: Iterable[int], columns: Iterable[str]) -> list[pl.DataFrame]:
    """Some columns, those that are there, of some rows of a file; no others are unpacked."""
    with translate_damage(path), reusable_path(path) as file:
        frame = pl.scan_parquet(file, glob=False)
        frame = frame.select([name for name in columns if name in frame.collect_schema()])
        return [frame.slice(row, 1).collect() for row in rows]


def check_there(path: Path) -> None:
    """Refuse a file of a collection that is gone."""
    if not path.exists():
        raise CollectionError(f"{printable(path)} is missing. {mending(path)}")


def _table_of(path: Path, name: str, schema: Schema) -> pl.DataFrame:
    check_there(path)
    with translate_damage(path), reusable_path(path) as file:
        columns = pl.read_parquet_schema(file)
        check_types(columns, schema)
        stated = list(schema) if columns.keys() >= schema.keys() else None
        table = pl.read_parquet(file, columns=stated)
        check_values(table, name)
    return with_added(table, schema)


@contextlib.contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Whatever polars says of a file of the collection, also in panic, is told as damage; but for
    Ctrl-C, a machine without memory and a disk that fails."""
    try:
        with translate_read_errors(path):
            yield
    except (CitebedError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        reason = str(error).partition("\n")[0]
        raise CollectionError(f"{printable(path)} is damaged ({reason}). {mending(path)}") from None


def mending(path: Path) -> str:
    """How to get a file of a collection back that is damaged or gone, in a sentence."""
    folder = path.parent.parent if path.parent.name in (*SETS, IMPORT) else path.parent
    folder = folder.parent.parent if folder.parent.name == SHARDS else folder
    name = printable(folder)
    if path.parent.name in SETS:
        return f"The rest of the collection has what was in it: citebed import {name}"
    sources = []
    with contextlib.suppress(CitebedError):
        sources = [str(row["path"]) for row in read_manifest(folder).sources]
    arguments = " ".join(map(shlex.quote, sources)) or "SOURCES"
    return f"Make the collection anew: move '{name}' away, then: citebed import {name} {arguments}"


def is_complete(folder: Path, name: str) -> bool:
    """Whether a table has all columns that are read from sources, or is not there at all."""
    wanted = TABLES[name].keys() - DERIVED
    return all(_has(path, wanted) for path in table_paths(folder, name) if path.exists())


def _has(path: Path, columns: Iterable[str]) -> bool:
    with translate_damage(path), reusable_path(path) as file:
        return pl.read_parquet_schema(file).keys() >= set(columns)


def write_qrels(path: Path, qrels: pl.DataFrame) -> None:
    """Write judgements in TREC's four columns, with iteration 0."""
    from citebed.runs.writer import write_lines  # which needs numpy, and who reads does not

    with _new_file(path) as handle:
        write_lines(qrels.select("query_id", pl.lit("0").alias("0"), "doc_id", "relevance"), handle)


def write_jsonl(path: Path, table: pl.DataFrame) -> None:
    """Write a table as JSON Lines, one object a row."""
    with _new_file(path) as handle:
        table.write_ndjson(handle)
