"""Find the records of the same document with a shuffle.

Records of one document share a text (`SHARED`). Records that share one, directly or through others,
meet on one worker, which decides by the same rules as one machine. All other records are documents
by themselves and stay in their parts.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
import polars as pl

from citebed.collection.building.assembling import Decisions, fresh_ids
from citebed.collection.building.combining import WISHES, combine, wishes
from citebed.collection.building.import_report import count_by_file
from citebed.collection.building.merging import identities
from citebed.collection.building.records import SHARED, Keys, Parts, keys_of
from citebed.collection.names import number_duplicates, strip_number
from citebed.collection.rules import Rules, exclusion_reasons
from citebed.collection.tables import RECORD, read_ipc
from citebed.distributed.arrow import Batches
from citebed.distributed.importing.reader import PartNote
from citebed.distributed.sessions import Engine, collect_arrow
from citebed.distributed.shuffle import (
    SCHEMA,
    Given,
    Message,
    concat_tables,
    group_by_partition,
    map_partitions,
    message_table,
    pack_json,
    persist,
    select_kinds,
    send_rows,
    unpack_json,
    unpack_table,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


AT_ONCE = 20_000
"""Number of possibly equal records that a worker compares at a time."""
A_PART = 100_000
"""Approximate number of records in a part, the unit of work of a worker."""
_FEW = 2_000_000
"""Up to this many links from records to shared texts, one worker follows them (in 450 MB)."""
_LINKED = 200_000
"""Number of records whose texts a worker compares at a time, to find shared texts."""
_LINKS = "key bigint, row bigint, part bigint"
_LABELS = "row bigint, part bigint, label bigint"


class ImportContext(NamedTuple):
    """The context of an import: the engine, a folder that its workers see, the rules, and the
    number of documents per shard."""

    engine: Engine
    folder: Path
    rules: Rules
    size: int


class Part(NamedTuple):
    """Files of records: their paths, the row of each source's first record among all records, and
    their number."""

    paths: list[str]
    starts: dict[str, int]
    rows: int

    def records(self) -> pl.DataFrame:
        """Return the records with their ``row`` among all records."""
        records = pl.concat(read_ipc(Path(path)).select(list(RECORD)) for path in self.paths)
        starts = pl.col("source").replace_strict(self.starts, return_dtype=pl.Int64())
        return records.with_columns(row=starts + pl.int_range(pl.len()).over("source"))


def group_into_parts(notes: list[PartNote], files: Parts) -> list[Part]:
    """Group the files of records, in the order of sources, into parts that are worth a task."""
    counts: list[Counter[str]] = []
    paths: list[list[str]] = []
    for at, note in enumerate(notes):
        if not counts or counts[-1].total() + sum(note.counts.values()) > A_PART:
            counts.append(Counter())
            paths.append([])
        counts[-1].update(note.counts)
        paths[-1].append(str(files.path(at)))
    starts: list[dict[str, int]] = [{} for _ in counts]
    row = 0
    for source, at in sorted((name, at) for at, own in enumerate(counts) for name in own):
        starts[at][source] = row
        row += counts[at][source]
    return [
        Part(*each) for each in zip(paths, starts, (own.total() for own in counts), strict=True)
    ]


def unpack_part(given: Given) -> Part:
    return Part(*unpack_json(given, "part"))


# --- Records that may be the same -------------------------------------------------------------


def merge_records(context: ImportContext, start: DataFrame, parts: list[Part]) -> DataFrame:
    """Decide which records are one document. Send the decisions to the parts of the records, and
    merged documents to the part of their first record."""
    from pyspark.sql import functions as of

    links = 1 + sum(part.rows for part in parts) // _LINKED
    every = map_partitions(start, partial(_link, context.rules, links), len(parts))
    doubled = persist(
        context.engine, map_partitions(every, _doubled, links), context.folder / "links"
    )
    labels = _components(context, doubled.mapInArrow(_unpacked, _LINKS))
    if labels is None:
        return start.limit(0)
    several = int(collect_arrow(labels.agg(of.count("*").alias("n")))["n"][0].as_py())
    buckets = -(-several // AT_ONCE)
    nothing = of.lit(None)
    rows = labels.select(
        of.col("part").alias("to"), "row", "label", nothing.cast("binary").alias("data")
    )
    files = start.select("to", *(nothing.cast("bigint").alias(n) for n in ("row", "label")), "data")

    def bring(table: pa.Table) -> pa.Table:
        """On a worker: send records that share a text to one partition."""
        own = pl.DataFrame(table)
        labels = own.drop_nulls("row").select("row", "label")
        if labels.is_empty():
            return message_table(())
        part = Part(*json.loads(own["data"].drop_nulls()[0]))
        records = part.records().join(labels, on="row", maintain_order="left")
        to, bucket = pl.lit(int(own["to"][0]), dtype=pl.Int64), pl.col("label") % buckets
        records = records.with_columns(part=to, bucket=bucket).drop("label")
        return message_table(send_rows("record", records, "bucket"))

    wanted = group_by_partition(files.unionByName(rows), len(parts))
    sent_records = wanted.applyInArrow(bring, SCHEMA)
    return persist(
        context.engine, map_partitions(sent_records, _merge, buckets), context.folder / "merged"
    )


def _link(rules: Rules, buckets: int, number: int, given: Given) -> Iterator[Message]:
    """On a worker: send the texts that a part's records may share with others, as numbers."""
    records = unpack_part(given).records()
    records = records.filter(exclusion_reasons(records, rules).is_null())
    texts = SHARED.of(records.select(SHARED.columns)).with_columns(records["row"])
    links = texts.unpivot(index="row", value_name="text").drop_nulls("text")
    key = pl.Series(map(number_of, links["text"]), dtype=pl.Int64())
    links = links.select("row", key=key, part=pl.lit(number, dtype=pl.Int64()))
    yield from send_rows("link", links.with_columns(bucket=pl.col("key") % buckets), "bucket")


def _doubled(bucket: int, given: Given) -> Iterator[Message]:
    """On a worker: keep the texts that several records share."""
    links = concat_tables(given["link"])
    assert links is not None
    several = links.filter(pl.col("key").is_duplicated())
    yield from send_rows("link", several.with_columns(bucket=pl.lit(bucket)), "bucket")


def _unpacked(batches: Batches) -> Iterator[pa.RecordBatch]:
    """On a worker: unpack links from messages into rows of the engine."""
    for batch in batches:
        for data in batch["data"].to_pylist():
            links = unpack_table(data).select("key", "row", "part")
            yield from links.to_arrow().to_batches()


def number_of(text: str) -> int:
    """Return a number of 63 bits for a text, the same on every machine."""
    data = text.encode("utf-8", "surrogatepass")
    return (crc32(data) << 31) ^ crc32(data[::-1])


def _components(context: ImportContext, links: DataFrame) -> DataFrame | None:
    """Return the records that share a text, with a ``label``: the lowest row of all records that
    they share texts with, directly or through others. Return ``None`` if there are none."""
    from pyspark.sql import functions as of

    found = links.withColumn("label", of.col("row"))
    before, number = None, 0
    while True:
        found = persist(context.engine, found, context.folder / f"labels-{number}")
        totals = collect_arrow(found.agg(of.count("*").alias("n"), of.sum("label").alias("sum")))
        now = totals["n"][0].as_py(), totals["sum"][0].as_py()
        if not now[0]:
            return None
        if now[0] <= _FEW:
            few = found.withColumn("all", of.lit(0)).groupBy("all").applyInArrow(_followed, _LABELS)
            return persist(context.engine, few, context.folder / "labels")
        if now == before:  # labels never increase
            return found.select("row", "part", "label").distinct()
        before, number = now, number + 1
        least = found.groupBy("key").agg(of.min("label").alias("least"))
        own = found.join(least, "key").groupBy("row").agg(of.min("least").alias("label"))
        found = found.drop("label").join(own, "row").select("key", "row", "part", "label")


def _followed(table: pa.Table) -> pa.Table:
    """On a worker: label few links at once; on the engine each step would be several jobs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = pl.DataFrame(table).select("key", "row", "part")
    keys, rows = (links[name].rank("dense").to_numpy() - 1 for name in ("key", "row"))
    sides = int(rows.max()) + 1, int(keys.max()) + 1
    # Records are the first nodes of the graph, texts the others.
    edges = coo_array((np.ones(len(links), bool), (rows, keys + sides[0])), shape=(sum(sides),) * 2)
    _, component = connected_components(edges, directed=False)
    own = links.select("row", "part", component=component[rows]).unique()
    return own.select("row", "part", label=pl.col("row").min().over("component")).to_arrow()


# --- Records that are the same ---------------------------------------------------------------


def _merge(bucket: int, given: Given) -> Iterator[Message]:
    """On a worker: decide which records are one document; merge documents of several records."""
    records = concat_tables(given["record"]).sort("row").rechunk()

    def look(rows: pl.Series, what: Keys) -> pl.DataFrame:
        return what.of(records.select(what.columns)[rows])

    same = identities(keys_of(records).with_columns(records["source"]), look)
    first = pl.col("row").first().over("identity")
    table = records.hstack(same).with_columns(
        owner=first,
        size=pl.len().over("identity").cast(pl.UInt32),
        kept_as=pl.col("doc_id").first().over("identity"),
    )
    told = table.select("row", "owner", "size", "doubtful", "kept_as", "part")
    yield from send_rows("fate", told, "part")
    several = table.filter(pl.col("size") > 1)
    if several.height:
        # A document goes to the part of its first record, with the cite keys that it may get.
        made = combine(several.select(*RECORD, "row", "identity", "doubtful"))
        wanted = wishes(
            several.select("row", "owner").hstack(WISHES.of(several.select(WISHES.columns)))
        ).select("own", "in_bib", "made", row="owner")
        made = made.join(wanted, on="row", maintain_order="left")
        yield from send_rows("made", made.join(several.select("row", "part"), on="row"), "part")
    doubtful = table.filter("doubtful")["owner"].n_unique()
    yield Message("count", bucket, pack_json({"files": count_files(several), "doubtful": doubtful}))


def count_files(table: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Count the outcomes of the records of each file, for complete documents."""
    if table.is_empty():
        return {}
    names = table["source"].unique(maintain_order=True)
    numbers = dict(zip(names, range(len(names)), strict=True))
    source = pl.col("source").replace_strict(numbers, return_dtype=pl.UInt32)
    told = table.select("row", "owner", "size", source)
    return count_by_file(Decisions(Parts(Path(), ()), told, list(names)))


NAMES_AT_ONCE = 100_000
"""Approximate number of names that a worker compares at a time."""


def route_requests(kind: str, table: pl.DataFrame, name: str, buckets: int) -> Iterator[Message]:
    """Send documents to partitions by the name that they want (in the column ``name``)."""
    own = table.with_columns(stem=pl.col(name), mine=True)
    numbered = own.with_columns(stem=strip_number(pl.col(name)), mine=False)
    requests = pl.concat([own, numbered.filter(pl.col("stem") != pl.col(name))])
    bucket = pl.Series(
        [zlib.crc32(stem.encode()) % buckets for stem in requests["stem"]], dtype=pl.Int64
    )
    yield from send_rows(kind, requests.drop("stem").with_columns(bucket=bucket), "bucket")


def assign_names(wishes: DataFrame, buckets: int) -> DataFrame:
    """Return the cite keys of all documents, for their parts, and new ids for documents that cannot
    have the wanted one."""
    keys = map_partitions(select_kinds(wishes, "wish"), _keys, buckets)
    return keys.unionByName(assign_ids(wishes, buckets))


def assign_ids(wishes: DataFrame, buckets: int) -> DataFrame:
    """Return new ids for documents that cannot have the one they want."""
    return map_partitions(select_kinds(wishes, "name"), _ids, buckets)


def _keys(_: int, given: Given) -> Iterator[Message]:
    wanted = _once(given["wish"])
    made = wanted.with_columns(number_duplicates(wanted.drop("part", "mine"))).filter("mine")
    yield from send_rows("key", made.select("row", "part", "cite_key"), "part")


def _ids(bucket: int, given: Given) -> Iterator[Message]:
    owners = _once(given["name"])
    fresh = fresh_ids(owners).join(owners.filter("mine"), on="row", how="semi")
    if fresh.height:
        yield from send_rows("id", fresh.with_columns(to=pl.lit(bucket)), "to")


def _once(data: list[bytes]) -> pl.DataFrame:
    """Return the requests in order, each document once."""
    return (
        concat_tables(data)
        .sort("row", pl.col("mine").not_())
        .unique("row", keep="first", maintain_order=True)
    )
