"""Messages between workers: tables and values, each addressed to a partition.

A step of a job is a function of one partition: it gets all messages that were sent there and sends
others. Messages carry packed Arrow tables or JSON, so that the engine has nothing to convert.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import polars as pl

from citebed._version import __version__
from citebed.collection.tables import read_ipc, write_ipc
from citebed.distributed.arrow import (
    ERROR,
    Batches,
    check_version,
    error_row,
    spark_schema,
    to_arrow,
)
from citebed.distributed.sessions import Engine, collect_arrow, short_errors
from citebed.errors import CitebedError
from citebed.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, GroupedData


SCHEMA = f"kind string, to bigint, data binary, {ERROR} string"
_ODD = frozenset("*?[]{}%\\")
MOST_PARTS = 2000
"""The largest number of partitions. Each is a task of the engine."""


class Message(NamedTuple):
    """Data of a ``kind`` for the partition ``to``."""

    kind: str
    to: int
    data: bytes


Given = Mapping[str, list[bytes]]
"""The messages to a partition, by kind."""
Work = Callable[[int, Given], Iterable[Message]]
Compression = Literal["zstd", "uncompressed"]
Schema = Mapping[str, Any]
Thing = TypeVar("Thing")


def pack_table(table: pl.DataFrame, compression: Compression = "zstd") -> bytes:
    data = io.BytesIO()
    table.write_ipc(data, compression=compression)
    return data.getvalue()


def unpack_table(data: bytes) -> pl.DataFrame:
    return pl.read_ipc(io.BytesIO(data))


def concat_tables(data: Iterable[bytes], schema: Schema | None = None) -> pl.DataFrame:
    """Unpack tables and concatenate them; return an empty table of a schema if there are none."""
    parts = [unpack_table(each) for each in data]
    return pl.concat(parts, rechunk=False) if parts else pl.DataFrame(schema=schema)


def pack_json(value: Any) -> bytes:
    """Serialise a plain value to bytes."""
    return json.dumps(value).encode()


def unpack_json(given: Given, kind: str) -> Any:
    """Restore the only value of a kind that a partition got."""
    return json.loads(given[kind][0])


def send_rows(
    kind: str, table: pl.DataFrame, to: str, compression: Compression = "zstd"
) -> Iterator[Message]:
    """Yield the rows of a table as messages to the partitions in its column ``to``."""
    for part in table.partition_by(to, maintain_order=True) if table.height else ():
        yield Message(kind, int(part[to][0]), pack_table(part.drop(to), compression))


def spill_rows(folder: str, kind: str, table: pl.DataFrame, to: str) -> Iterator[Message]:
    """Do the same for more rows than an engine can pass on: they stay in files that all workers
    see, in a new folder, and the messages have the paths."""
    place = Path(tempfile.mkdtemp(dir=folder))
    for part in table.partition_by(to, maintain_order=True) if table.height else ():
        address = int(part[to][0])
        path = place / f"{address}.arrow"
        write_ipc(path, part.drop(to))
        yield Message(kind, address, os.fsencode(path))


def read_spilled_tables(paths: Iterable[bytes]) -> pl.DataFrame:
    """Read the tables in these files, and concatenate them."""
    return pl.concat([read_ipc(Path(os.fsdecode(path))) for path in paths])


def send_messages(engine: Engine, parcels: Iterable[Message]) -> DataFrame:
    """Send messages from here, at least one."""
    return engine.session.createDataFrame(message_table(parcels))


def send_values(engine: Engine, kind: str, values: Iterable[Any]) -> DataFrame:
    """Send plain values, at least one, each to a partition of its own."""
    messages = (Message(kind, at, pack_json(value)) for at, value in enumerate(values))
    return send_messages(engine, messages)


def map_partitions(frame: DataFrame, work: Work, addresses: int) -> DataFrame:
    """Run ``work`` in each of ``addresses`` partitions that got messages; return what it sends."""
    version = __version__

    def step(table: pa.Table) -> pa.Table:
        if told := _told(table):  # an error that occurred before
            return message_table((), told)
        given: dict[str, list[bytes]] = {}
        for kind, data in zip(table["kind"].to_pylist(), table["data"].to_pylist(), strict=True):
            given.setdefault(kind, []).append(data)
        try:
            check_version(version)
            return message_table(work(table["to"][0].as_py(), given))
        except CitebedError as error:
            return message_table((), str(error))

    return group_by_partition(frame, addresses).applyInArrow(step, SCHEMA)


def group_by_partition(frame: DataFrame, addresses: int) -> GroupedData:
    """Group rows by partition; ``addresses`` is the number of partitions."""
    # Otherwise an engine would put small messages into one task, however much work they cause.
    return frame.repartition(max(1, min(addresses, MOST_PARTS)), "to").groupBy("to")


def message_table(parcels: Iterable[Message], error: str | None = None) -> pa.Table:
    """Return messages, or an error, as a table of the engine."""
    import pyarrow as pa

    rows: list[tuple[Any, ...]] = [(*parcel, None) for parcel in parcels]
    rows += [(None, None, None, error)] if error is not None else []
    kinds = (pa.string(), pa.int64(), pa.binary(), pa.string())
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=["kind", "to", "data", ERROR])


def each(
    engine: Engine, things: Sequence[Thing], work: Callable[[Thing], pl.DataFrame], schema: Schema
) -> DataFrame:
    """Return the rows of ``work`` for each thing, each in its own task; errors are rows, too."""
    whole = {**schema, ERROR: pl.String}
    todo, version = list(things), __version__
    a_batch = 1 if pl.Binary in schema.values() else None  # rows of megabytes

    def part(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    check_version(version)
                    made = work(todo[number])
                except CitebedError as error:
                    made = error_row(error)
                yield from to_arrow(made, whole).to_batches(a_batch)

    numbers = engine.session.range(0, len(todo), 1, len(todo))
    return numbers.mapInArrow(part, spark_schema(whole))


def persist(engine: Engine, frame: DataFrame, folder: Path) -> DataFrame:
    """Compute the rows of a frame once and store them on disk, because several steps read them."""
    with short_errors():
        frame.write.parquet(_address(folder))
    read = engine.session.read.schema(frame.schema).parquet(_address(folder))
    if ERROR in read.columns:
        _refuse(collect_arrow(read.select(ERROR).filter(f"{ERROR} is not null")))
    return read


def _address(folder: Path) -> str:
    """Return the address of a folder on disk; engines may read a bare path from HDFS."""
    return f"file://{folder}"


def check_folder(folder: Path) -> None:
    """Raise if engines would read a folder's path as a pattern, or as another path."""
    if odd := sorted(set(str(folder.absolute())) & _ODD):
        raise CitebedError(
            f"'{''.join(odd)}' in '{printable(folder.absolute())}' has a special meaning for "
            "engines. Choose a folder whose path does not contain it."
        )


def select_kinds(frame: DataFrame, *kinds: str) -> DataFrame:
    """Select the messages of some kinds, and errors."""
    return frame.filter(frame["kind"].isin(*kinds) | frame[ERROR].isNotNull())


def collect_messages(frame: DataFrame) -> list[tuple[int, bytes]]:
    """Collect messages here, by partition."""
    table = collect_arrow(frame.select("to", "data", ERROR))
    _refuse(table)
    pairs = zip(table["to"].to_pylist(), table["data"].to_pylist(), strict=True)
    return sorted(pairs)


def collect_values(frame: DataFrame) -> list[Any]:
    """Collect plain values here, by partition."""
    return [json.loads(data) for _, data in collect_messages(frame)]


def _refuse(table: pa.Table) -> None:
    """Raise the error, if there is one; of several always the same."""
    if told := _told(table):
        raise CitebedError(told)


def _told(table: pa.Table) -> str | None:
    return min((text for text in table[ERROR].to_pylist() if text is not None), default=None)
