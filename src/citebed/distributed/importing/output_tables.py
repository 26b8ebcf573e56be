"""The tables of an import: the shards with their documents, and the records set aside.

Each part is processed twice: first to collect the names that its documents want and their number,
then, when the position of each document is known, to send them to their shards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from citebed.collection.building import assembling
from citebed.collection.building.combining import WISHES, wishes
from citebed.collection.names import choose_keys
from citebed.collection.rules import Rules, exclusion_reasons
from citebed.collection.storing.table_files import write_frames
from citebed.collection.tables import DOCUMENTS, SET_ASIDE, count_values, read_ipc, write_ipc
from citebed.distributed.importing.merged_records import count_files, route_requests, unpack_part
from citebed.distributed.shuffle import (
    Given,
    Message,
    concat_tables,
    pack_json,
    read_spilled_tables,
    send_rows,
    spill_rows,
    unpack_json,
)

SPAN = assembling.SPAN
RENAMED = "renamed.arrow"
"""The file with the new ids of documents that wanted the same id."""
_KEPT = {"row": pl.Int64(), "kept": pl.String()}
_FATE = {
    "row": pl.Int64(), "owner": pl.Int64(), "size": pl.UInt32(), "doubtful": pl.Boolean(),
    "kept_as": pl.String(),
}  # fmt: skip


def decide_part(given: Given, rules: Rules) -> pl.DataFrame:
    """Return the records of a part with the decisions about them."""
    records = unpack_part(given).records().sort("row")
    fates = concat_tables(given.get("fate", ()), _FATE).select(list(_FATE))
    table = records.with_columns(reason=exclusion_reasons(records, rules)).join(
        fates, on="row", how="left", maintain_order="left"
    )
    is_kept = pl.col("reason").is_null()
    return table.with_columns(
        owner=pl.when(is_kept).then(pl.coalesce("owner", "row")),
        size=pl.when(is_kept).then(pl.col("size").fill_null(1)),
        doubtful=pl.when(is_kept).then(pl.col("doubtful").fill_null(value=False)),
    )


def request_keys(
    rules: Rules, buckets: int, with_ids: bool, number: int, given: Given
) -> Iterator[Message]:
    """On a worker: request names for the documents of a part, given their earlier keys, and count
    its records and documents."""
    table = decide_part(given, rules)
    alone = table.filter(pl.col("size") == 1)
    own = wishes(alone.select("row", "owner").hstack(WISHES.of(alone.select(WISHES.columns))))
    columns = ("row", "doc_id", "own", "in_bib", "made")
    every = own.with_columns(alone["doc_id"]).select(columns)
    if (made := concat_tables(given.get("made", ()))).height:
        every = pl.concat([every, made.select(columns)])
    before = concat_tables(given.get("kept", ()), _KEPT)
    every = every.join(before, on="row", how="left", maintain_order="left")
    keys = choose_keys(every)
    homes = every.select("row", part=pl.lit(number, dtype=pl.Int64))
    yield from route_requests("wish", homes.hstack(keys), "same", buckets)
    if with_ids:
        yield from route_requests("name", every.select("row", "doc_id"), "doc_id", buckets)
    yield Message("count", number, pack_json(_counts(table)))


def request_ids(rules: Rules, buckets: int, _: int, given: Given) -> Iterator[Message]:
    """On a worker: request ids for the documents of a part."""
    owners = decide_part(given, rules).filter(pl.col("owner") == pl.col("row"))
    yield from route_requests("name", owners.select("row", "doc_id"), "doc_id", buckets)


def _counts(table: pl.DataFrame) -> dict[str, object]:
    owners = table.filter(pl.col("owner") == pl.col("row"))
    by_source = dict(owners["source"].value_counts().iter_rows())
    here = table.filter((pl.col("size") == 1) | pl.col("owner").is_null())
    aside = count_values(table["reason"])
    return {
        "owners": by_source,
        "files": count_files(here),
        "set_aside": aside,
        "records": table.height,
    }


def send_to_shards(rules: Rules, size: int, folder: str, _: int, given: Given) -> Iterator[Message]:
    """On a worker: send the documents of a part to their shards, and its records set aside."""
    table = decide_part(given, rules)
    fresh = read_ipc(Path(folder, RENAMED))
    table = add_final_ids(table, fresh, "row", "doc_id", "id")
    bases = unpack_json(given, "bases")
    documents = _documents(table, given)
    shard = _places(table, bases) // size
    sent = documents.join(table.select("row").hstack([shard.alias("shard")]), on="row")
    yield from spill_rows(folder, "document", sent, "shard")
    aside = add_final_ids(table.filter(assembling.is_aside()), fresh, "owner", "kept_as", "kept_as")
    described = assembling.told_aside(aside, aside["reason"], aside["kept_as"])
    described = described.with_columns(aside["row"], span=aside["row"] // SPAN)
    yield from send_rows("aside", described, "span")


def add_final_ids(
    table: pl.DataFrame, fresh: pl.DataFrame, row: str, old: str, new: str
) -> pl.DataFrame:
    """Return a table with the final ids of documents in the column ``new``."""
    ids = fresh.rename({"row": row})
    joined = table.join(ids, on=row, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("fresh", old).alias(new)).drop("fresh")


def _places(table: pl.DataFrame, bases: dict[str, int]) -> pl.Series:
    """Return the position of each document among all, in the row of its first record."""
    is_owner = (pl.col("owner") == pl.col("row")).fill_null(value=False)
    base = pl.col("source").replace_strict(bases, return_dtype=pl.Int64())
    before = is_owner.cum_sum().over("source").cast(pl.Int64) - 1
    return table.select(pl.when(is_owner).then(base + before).alias("place")).to_series()


def _documents(table: pl.DataFrame, given: Given) -> pl.DataFrame:
    """Return the finished documents that begin in a part, with their ``row``."""
    keys = concat_tables(given.get("key", ()))
    if keys.is_empty():
        return pl.DataFrame(schema={**DOCUMENTS, "row": pl.Int64()})
    table = table.join(keys, on="row", how="left", maintain_order="left")
    alone = table.filter(pl.col("size") == 1)
    names = alone.select("row", "cite_key", "doubtful", doc_id="id")
    parts = [assembling.singles(alone.select(pl.exclude("id", "cite_key", "doubtful")), names)]
    if (made := concat_tables(given.get("made", ()))).height:
        own = made.select("row").join(table, on="row", maintain_order="left")
        parts.append(assembling.several(made, own.select("cite_key", doc_id="id")))
    columns = [*DOCUMENTS, "row"]
    return pl.concat([part.select(columns) for part in parts])


# --- Files ------------------------------------------------------------------------------------


def write_shard(folder: str, number: int, given: Given) -> Iterator[Message]:
    """On a worker: write the documents of a shard, and return the path."""
    table = read_spilled_tables(given["document"])
    path = Path(tempfile.mkdtemp(dir=folder)) / "documents.parquet"
    table = table.sort("row").drop("row")
    write_frames(path, iter((table,)), DOCUMENTS)
    latex = assembling.latex_left(table.lazy()).height
    yield Message("shard", number, pack_json({"path": str(path), "latex": latex}))


def write_aside(folder: str, span: int, given: Given) -> Iterator[Message]:
    """On a worker: write some of the records set aside, and return the path."""
    table = concat_tables(given["aside"])
    path = Path(tempfile.mkdtemp(dir=folder)) / "aside.arrow"
    write_ipc(path, table.sort("row").select(list(SET_ASIDE)))
    yield Message("aside", span, pack_json({"path": str(path)}))


def write_set_aside(folder: str, _: int, given: Given) -> Iterator[Message]:
    """On a worker: join the records set aside in one table, and return its path."""
    parts = map(Path, unpack_json(given, "aside"))
    path = Path(tempfile.mkdtemp(dir=folder)) / "set_aside.parquet"
    write_frames(path, map(read_ipc, parts), SET_ASIDE)
    yield Message("aside", 0, pack_json({"path": str(path)}))
