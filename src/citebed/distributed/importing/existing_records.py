"""The state of a collection before an import: its records, and the cite keys to keep.

A document of one record is in the documents table; the records of other documents are in the table
of records set aside. citebed sorts both by source and line, and no machine holds all of them. A
document keeps its cite key if it shares an id, title or DOI with an earlier document; the most
reliable match counts first (`SAME`). Nearly all documents keep their id and title, and workers
match them; the driver gets the others.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from citebed.collection.building.combining import EARLIER_COLUMNS, SAME, earlier_keys
from citebed.collection.importing import DOCUMENT_COLUMNS, not_from, restore_single_records
from citebed.collection.rules import Rules
from citebed.collection.storing import table_files
from citebed.collection.tables import RECORD, TABLES, Schema, empty_table, read_ipc, write_ipc
from citebed.distributed.importing import merged_records
from citebed.distributed.importing.merged_records import ImportContext, number_of
from citebed.distributed.importing.output_tables import RENAMED, add_final_ids, decide_part
from citebed.distributed.importing.reader import PartNote, make_note
from citebed.distributed.sessions import Engine
from citebed.distributed.shuffle import (
    Given,
    Message,
    collect_messages,
    collect_values,
    concat_tables,
    map_partitions,
    pack_json,
    pack_table,
    persist,
    read_spilled_tables,
    select_kinds,
    send_messages,
    send_rows,
    send_values,
    spill_rows,
    unpack_json,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_DEALT = "dealt"
STEP = 1000
"""Every thousandth record is a sample, which determines the bounds of parts."""
_ORDER = ("source", "line", "piece", "at")
"""The order of records: by source and line, then by position in the tables."""


class Piece(NamedTuple):
    """Some rows of a file of a table."""

    table: str
    path: str
    start: int
    size: int

    def read(self, schema: Schema) -> pl.DataFrame:
        """Read some columns of these rows."""
        return table_files.read_slice(Path(self.path), self.table, schema, self.start, self.size)


def list_pieces(folder: Path, table: str) -> list[Piece]:
    """Return the pieces of a table of a collection, in order."""
    most, pieces = merged_records.A_PART, list[Piece]()
    for path in table_files.required_paths(folder, table):
        rows = table_files.count_rows(path)
        pieces += [
            Piece(table, str(path.absolute()), start, min(most, rows - start))
            for start in range(0, rows, most)
        ]
    return pieces


def has_columns(folder: Path, columns: Iterable[str]) -> bool:
    """Return True unless the documents of a collection at ``folder`` lack some columns."""
    paths = table_files.required_paths(folder, "documents")
    schemas = map(table_files.read_schema, paths)
    return all(schema.keys() >= set(columns) for schema in schemas)


def send_pieces(engine: Engine, pieces: Iterable[Piece]) -> DataFrame:
    return send_values(engine, "piece", pieces)


def unpack_piece(given: Given) -> Piece:
    return Piece(*unpack_json(given, "piece"))


def earlier_records(
    engine: Engine, pieces: list[Piece], dropped: Iterable[str], place: Path
) -> list[PartNote]:
    """Write the records of pieces in order to files in ``place``, without ``dropped`` sources.
    Return the notes of these files."""
    if not pieces:
        return []
    (place / "dropped.json").write_text(json.dumps(sorted(dropped)), encoding="utf-8")
    start = send_pieces(engine, pieces)
    sampled = collect_messages(map_partitions(start, partial(_sample, str(place)), len(pieces)))
    sample = concat_tables(data for _, data in sampled)
    number = pl.col("rows").cum_sum() // merged_records.A_PART
    bounds = sample.sort(_ORDER).filter(number > number.shift(1, fill_value=0)).select(_ORDER)
    write_ipc(place / "bounds.arrow", bounds)
    (place / _DEALT).mkdir()
    parts = map_partitions(start, partial(_deal, str(place)), len(pieces))
    notes = collect_values(map_partitions(parts, partial(_write, str(place)), bounds.height + 1))
    shutil.rmtree(place / _DEALT, ignore_errors=True)  # a repeated task may still use it
    return [PartNote(*note) for note in notes]


def _sample(place: str, number: int, given: Given) -> Iterator[Message]:
    """On a worker: sample the sort keys of a piece's records, and the last one, with the number of
    records that each represents."""
    keys = _read(place, number, unpack_piece(given), ("source", "line")).sort(_ORDER)
    some = keys.gather_every(STEP, STEP - 1).with_columns(rows=pl.lit(STEP, pl.Int64))
    rest = keys.tail(1).with_columns(rows=pl.lit(keys.height % STEP, pl.Int64))
    yield Message("sample", number, pack_table(pl.concat([some, rest.filter(pl.col("rows") > 0)])))


def _deal(place: str, number: int, given: Given) -> Iterator[Message]:
    """On a worker: send the records of a piece to their parts."""
    records = _read(place, number, unpack_piece(given), tuple(RECORD))
    bounds = read_ipc(Path(place, "bounds.arrow")).with_columns(part=pl.lit(1))
    keys = records.select(_ORDER).with_row_index("row")
    both = pl.concat([bounds, keys], how="diagonal")
    both = both.sort(*_ORDER, "part", nulls_last=[False] * len(_ORDER) + [True])
    both = both.with_columns(pl.col("part").fill_null(0).cum_sum()).drop_nulls("row").sort("row")
    records = records.with_columns(both["part"])
    yield from spill_rows(os.path.join(place, _DEALT), "record", records, "part")


def _write(place: str, number: int, given: Given) -> Iterator[Message]:
    """On a worker: write the records of a part, and return a note."""
    path = Path(tempfile.mkdtemp(dir=place)) / "records.arrow"
    write_ipc(path, read_spilled_tables(given["record"]).sort(_ORDER).select(list(RECORD)))
    yield Message("note", number, pack_json(make_note(path)))


def _read(place: str, number: int, piece: Piece, columns: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of a piece that are records as they were read, with their sort keys."""
    of_documents = piece.table == "documents"
    more = ("doc_id", "records", "read_as") if of_documents else ()
    schema = DOCUMENT_COLUMNS if of_documents else TABLES[piece.table]
    rows = piece.read({name: schema[name] for name in dict.fromkeys((*columns, *more))})
    dropped = json.loads(Path(place, "dropped.json").read_text("utf-8"))
    rows = rows.filter(not_from(dropped))
    rows = restore_single_records(rows) if of_documents else rows
    return rows.select(
        *columns, piece=pl.lit(number, dtype=pl.Int64), at=pl.int_range(pl.len(), dtype=pl.Int64)
    )


_FIRST, *_OTHERS = SAME
_LEFT, _TWICE = "left.arrow", "twice.arrow"
_KEPT = (pl.col("owner").alias("row"), "kept", "home")
_OF_OWNERS = ("owner", "home", "doc_id", "doi", "title", "year")
"""The columns of a record in requests: its document, the document's part, and its identity."""


def send_earlier_keys(
    context: ImportContext, given: DataFrame, parts: int, before: list[Piece], buckets: int
) -> DataFrame:
    """Send earlier cite keys to the parts of the documents that keep them. ``given`` has the
    decisions about records; the new ids must be written already."""
    engine, folder = context.engine, context.folder
    # No document keeps a key that several have; early versions allowed that.
    keys_by_text = map_partitions(send_pieces(engine, before), partial(_keys, buckets), len(before))
    repeated = collect_messages(map_partitions(keys_by_text, _repeated, buckets))
    twice = concat_tables((data for _, data in repeated), {"cite_key": pl.String()})
    write_ipc(folder / _TWICE, twice)
    now = map_partitions(given, partial(_now, context.rules, str(folder), buckets), parts)
    work = partial(_before, str(folder), buckets)
    then = map_partitions(send_pieces(engine, before), work, len(before))
    records_by_id = now.unionByName(then)
    matched = persist(
        engine, map_partitions(records_by_id, partial(_match, buckets), buckets), folder / "matched"
    )
    settled = map_partitions(select_kinds(matched, "claim"), _settle, buckets)
    both = matched.unionByName(persist(engine, settled, folder / "settled"))
    keys = select_kinds(both, "kept")
    left = concat_tables(data for _, data in collect_messages(select_kinds(both, "left")))
    if left.is_empty():
        return keys
    write_ipc(folder / _LEFT, left)
    may_be = map_partitions(select_kinds(both, "rest"), partial(_alike, str(folder)), buckets)
    records = concat_tables(data for _, data in collect_messages(may_be))
    if records.is_empty():
        return keys
    more = earlier_keys(records, left, _OTHERS)
    homes = records.select("owner", "home").unique()
    messages = list(send_rows("kept", more.join(homes, on="owner").select(_KEPT), "home"))
    return keys.unionByName(send_messages(engine, messages)) if messages else keys


def _now(rules: Rules, folder: str, buckets: int, number: int, given: Given) -> Iterator[Message]:
    """On a worker: send the records of a part's documents to the partitions of their ids."""
    table = add_final_ids(
        decide_part(given, rules), read_ipc(Path(folder, RENAMED)), "row", "doc_id", "doc_id"
    )
    records = _numbered(table.filter(pl.col("owner").is_not_null()).select(
        "row", "owner", "size", "doc_id", "doi", "title", "year", home=pl.lit(number, pl.Int64)
    ))  # fmt: skip
    yield from _by_name("now", records, "doc_id", buckets)


def _keys(buckets: int, _: int, given: Given) -> Iterator[Message]:
    """On a worker: send the earlier cite keys of a piece to partitions by key."""
    keys = unpack_piece(given).read({"cite_key": EARLIER_COLUMNS["cite_key"]})
    yield from _by_name("key", keys, "cite_key", buckets)


def _repeated(bucket: int, given: Given) -> Iterator[Message]:
    keys = concat_tables(given["key"])
    yield from _here("twice", keys.filter(pl.col("cite_key").is_duplicated()).unique(), bucket)


def _before(folder: str, buckets: int, _: int, given: Given) -> Iterator[Message]:
    """On a worker: send the earlier documents that have a key of their own to partitions by id."""
    twice = read_ipc(Path(folder, _TWICE))
    documents = unpack_piece(given).read(EARLIER_COLUMNS).join(twice, on="cite_key", how="anti")
    yield from _by_name("before", _numbered(documents), "doc_id", buckets)


def _numbered(documents: pl.DataFrame) -> pl.DataFrame:
    """Replace DOIs and titles by numbers, which are the same on every machine."""
    titles = (number_of(title) if title else None for title in documents["title"])
    dois = (None if doi is None else number_of(doi) for doi in documents["doi"])
    return documents.with_columns(
        pl.Series("title", titles, pl.Int64()),
        pl.Series("doi", dois, pl.Int64()),
        pl.col("year").fill_null(0),
    )


def _by_name(kind: str, table: pl.DataFrame, name: str, buckets: int) -> Iterator[Message]:
    """Send rows with equal names to the same partition."""
    bucket = [zlib.crc32(text.encode()) % buckets for text in table[name]]
    yield from send_rows(
        kind, table.with_columns(bucket=pl.Series(bucket, dtype=pl.Int64)), "bucket"
    )


def _match(buckets: int, bucket: int, given: Given) -> Iterator[Message]:
    """On a worker: match documents by id, now and before. Keys that several could keep are decided
    later; documents of several records meet in the partition of all their records."""
    now, before = concat_tables(given.get("now", ())), concat_tables(given.get("before", ()))
    if before.is_empty():
        before = _numbered(empty_table(EARLIER_COLUMNS))
    if now.is_empty():
        yield from _here("left", before, bucket)
        return
    theirs = before.unique(_FIRST, keep="none")
    theirs = theirs.select(*_FIRST, kept="cite_key", was_doi="doi", was_year="year")
    found = now.join(theirs, on=_FIRST, how="left", maintain_order="left")
    wanted = pl.col("owner").n_unique().over("kept")
    found = found.with_columns(is_sure=pl.col("kept").is_not_null() & (wanted == 1))
    alone = found.filter(pl.col("size") == 1)
    yield from send_rows("kept", alone.filter("is_sure").select(_KEPT), "home")
    yield from _here("rest", alone.filter(~pl.col("is_sure")).select(_OF_OWNERS), bucket)
    several = found.filter(pl.col("size") > 1)
    yield from send_rows("claim", several.with_columns(to=pl.col("owner") % buckets), "to")
    claimed = found.filter("is_sure").select(cite_key="kept")
    yield from _here("left", before.join(claimed, on="cite_key", how="anti"), bucket)


def _settle(bucket: int, given: Given) -> Iterator[Message]:
    """On a worker: let documents of several records keep a key if their records have only one."""
    table = concat_tables(given["claim"])
    home = pl.col("home").filter(pl.col("row") == pl.col("owner")).first().over("owner")
    one = pl.col("kept").drop_nulls().n_unique().over("owner") == 1
    table = table.with_columns(home=home, is_one=one & pl.col("is_sure").any().over("owner"))
    sure = table.filter("is_one", "is_sure").unique("owner")
    yield from send_rows("kept", sure.select(_KEPT), "home")
    rest = table.filter(~pl.col("is_one"))
    yield from _here("rest", rest.select(_OF_OWNERS), bucket)
    unsettled = rest.filter("is_sure").unique("kept").select(
        "doc_id", "title", doi="was_doi", year="was_year", cite_key="kept"
    )  # fmt: skip
    yield from _here("left", unsettled.select(list(EARLIER_COLUMNS)), bucket)


def _here(kind: str, table: pl.DataFrame, bucket: int) -> Iterator[Message]:
    yield from send_rows(kind, table.with_columns(to=pl.lit(bucket)), "to")


def _alike(folder: str, bucket: int, given: Given) -> Iterator[Message]:
    """On a worker: return the records that may belong to an unmatched earlier document."""
    left, records = read_ipc(Path(folder, _LEFT)), concat_tables(given["rest"])
    alike = [records.join(left, on=names, how="semi") for names in _OTHERS]
    yield from _here("record", pl.concat(alike).unique(), bucket)
