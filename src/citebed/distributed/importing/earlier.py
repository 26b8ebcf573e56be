"""The records that a collection has already, in parts, as if its sources were read again.

A document of one record is in the table of documents, the records of all others are among those set
aside. They are brought into their order, by source and line, without any machine having all.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from citebed.collection.importing import OWN, own_records, still_there
from citebed.collection.storing import table_files
from citebed.collection.storing.store import MANIFEST
from citebed.collection.tables import RECORD, TABLES, Schema, read_part, write_part
from citebed.distributed.importing import merging
from citebed.distributed.importing.reading import PartNote, note_of
from citebed.distributed.parcels import (
    Given,
    Parcel,
    at_each,
    dealt,
    fetched,
    joined,
    left,
    noted,
    packed,
    taken,
)
from citebed.distributed.sessions import Engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DEALT = "dealt"
STEP = 1000
"""One in so many records tells where the parts begin."""
_ORDER = ("source", "line", "piece", "at")
"""By source and line; those of one line as they lie in the tables."""


class Piece(NamedTuple):
    """Some rows of one of a table's files."""

    table: str
    path: str
    start: int
    size: int

    def read(self, schema: Schema) -> pl.DataFrame:
        """Some columns of its rows."""
        return table_files.read_slice(Path(self.path), self.table, schema, self.start, self.size)


def pieces_of(folder: Path, table: str) -> list[Piece]:
    """The pieces of a table of a collection, in their order."""
    most, pieces = merging.A_PART, list[Piece]()
    for path in _paths(folder, table):
        rows = table_files.rows_of(path)
        pieces += [
            Piece(table, str(path.absolute()), start, min(most, rows - start))
            for start in range(0, rows, most)
        ]
    return pieces


def has_columns(folder: Path, columns: Iterable[str]) -> bool:
    """Whether the documents of a collection, if it is one, have some columns."""
    schemas = map(table_files.read_schema, _paths(folder, "documents"))
    return all(schema.keys() >= set(columns) for schema in schemas)


def _paths(folder: Path, table: str) -> list[Path]:
    """The files of a table; that of the documents must be there."""
    paths = table_files.table_paths(folder, table)
    if not paths and table == "documents" and (folder / MANIFEST).exists():
        table_files.check_there(folder / "documents.parquet")
    return paths


def dealt_pieces(engine: Engine, pieces: Iterable[Piece]) -> DataFrame:
    """What tells each piece's address what the piece is."""
    return dealt(engine, (Parcel("piece", at, noted(each)) for at, each in enumerate(pieces)))


def piece_in(given: Given) -> Piece:
    """The piece that an address is."""
    return Piece(*json.loads(given["piece"][0]))


def earlier_records(
    engine: Engine, pieces: list[Piece], dropped: Iterable[str], place: Path
) -> list[PartNote]:
    """The files of a collection's records, which are in pieces, but for those of sources that are
    ``dropped``, in their order; they are written in ``place``."""
    if not pieces:
        return []
    (place / "dropped.json").write_text(json.dumps(sorted(dropped)), encoding="utf-8")
    start = dealt_pieces(engine, pieces)
    sampled = fetched(at_each(start, partial(_sample, str(place)), len(pieces)))
    sample = joined(data for _, data in sampled)
    assert sample is not None
    number = pl.col("rows").cum_sum() // merging.A_PART
    bounds = sample.sort(_ORDER).filter(number > number.shift(1, fill_value=0)).select(_ORDER)
    write_part(place / "bounds.arrow", bounds)
    (place / _DEALT).mkdir()
    parts = at_each(start, partial(_deal, str(place)), len(pieces))
    notes = fetched(at_each(parts, partial(_write, str(place)), bounds.height + 1))
    shutil.rmtree(place / _DEALT, ignore_errors=True)  # a task that is done twice may be at it
    return [PartNote(*json.loads(note)) for _, note in notes]


def _sample(place: str, number: int, given: Given) -> Iterator[Parcel]:
    """On a worker: what one in so many records of a piece, and the last, is ordered by; and how
    many each stands for."""
    keys = _read(place, number, piece_in(given), ("source", "line")).sort(_ORDER)
    some = keys.gather_every(STEP, STEP - 1).with_columns(rows=pl.lit(STEP, pl.Int64))
    rest = keys.tail(1).with_columns(rows=pl.lit(keys.height % STEP, pl.Int64))
    yield Parcel("sample", number, packed(pl.concat([some, rest.filter(pl.col("rows") > 0)])))


def _deal(place: str, number: int, given: Given) -> Iterator[Parcel]:
    """On a worker: the records of a piece, to the parts that they are in."""
    records = _read(place, number, piece_in(given), tuple(RECORD))
    bounds = read_part(Path(place, "bounds.arrow")).with_columns(part=pl.lit(1))
    keys = records.select(_ORDER).with_row_index("row")
    both = pl.concat([bounds, keys], how="diagonal")
    both = both.sort(*_ORDER, "part", nulls_last=[False] * len(_ORDER) + [True])
    both = both.with_columns(pl.col("part").fill_null(0).cum_sum()).drop_nulls("row").sort("row")
    records = records.with_columns(both["part"])
    yield from left(os.path.join(place, _DEALT), "record", records, "part")


def _write(place: str, number: int, given: Given) -> Iterator[Parcel]:
    """On a worker: write the records of a part, and tell of them."""
    path = Path(tempfile.mkdtemp(dir=place)) / "records.arrow"
    write_part(path, taken(given["record"]).sort(_ORDER).select(list(RECORD)))
    yield Parcel("note", number, noted(note_of(path)))


def _read(place: str, number: int, piece: Piece, columns: tuple[str, ...]) -> pl.DataFrame:
    """Those rows of a piece that are records as they were read, with what they are ordered by."""
    of_documents = piece.table == "documents"
    more = ("doc_id", "records", "read_as") if of_documents else ()
    schema = OWN if of_documents else TABLES[piece.table]
    rows = piece.read({name: schema[name] for name in dict.fromkeys((*columns, *more))})
    rows = rows.filter(still_there(_dropped(place)))
    rows = own_records(rows) if of_documents else rows
    return rows.select(
        *columns,
        piece=pl.lit(number, dtype=pl.Int64),
        at=pl.int_range(pl.len(), dtype=pl.Int64),
    )


@lru_cache(2)
def _dropped(place: str) -> list[str]:
    """The names of sources, which may be many."""
    names: list[str] = json.loads(Path(place, "dropped.json").read_text("utf-8"))
    return names
