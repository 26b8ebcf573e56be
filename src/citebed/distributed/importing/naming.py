"""What the documents of an import are called: ids and cite keys, each once in the whole collection.

Two documents that want one name, and those whose names are that with a number behind it, are
brought together; the others have what they want.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from citebed.collection.building.assembling import fresh_ids
from citebed.collection.names import once_each, stem_of
from citebed.distributed.parcels import Given, Parcel, addressed, at_each, joined, of_kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE = 100_000
"""So many names, about, are looked at together."""


def buckets_for(records: int) -> int:
    """Into how many buckets the names of so many records go."""
    return 1 + records // AT_ONCE


def asking(kind: str, table: pl.DataFrame, name: str, buckets: int) -> Iterator[Parcel]:
    """Documents with what they want to be called by (in the column ``name``), to where others are
    that want the same."""
    own = table.with_columns(stem=pl.col(name), mine=True)
    numbered = own.with_columns(stem=stem_of(pl.col(name)), mine=False)
    asked = pl.concat([own, numbered.filter(pl.col("stem") != pl.col(name))])
    bucket = pl.Series(
        [zlib.crc32(stem.encode()) % buckets for stem in asked["stem"]], dtype=pl.Int64
    )
    yield from addressed(kind, asked.drop("stem").with_columns(bucket=bucket), "bucket")


def named(wishes: DataFrame, buckets: int) -> DataFrame:
    """The cite keys of all documents, to the parts that they are in, and the ids of those that
    cannot have the one they want."""
    keys = at_each(of_kind(wishes, "wish"), _keys, buckets)
    return keys.unionByName(ids(wishes, buckets))


def ids(wishes: DataFrame, buckets: int) -> DataFrame:
    """The ids of those documents that cannot have the one they want."""
    return at_each(of_kind(wishes, "name"), _ids, buckets)


def _keys(_: int, given: Given) -> Iterator[Parcel]:
    wanted = _once(given["wish"])
    made = wanted.with_columns(once_each(wanted.drop("part", "mine"))).filter("mine")
    yield from addressed("key", made.select("row", "part", "cite_key"), "part")


def _ids(bucket: int, given: Given) -> Iterator[Parcel]:
    owners = _once(given["name"])
    fresh = fresh_ids(owners).join(owners.filter("mine"), on="row", how="semi")
    if fresh.height:
        yield from addressed("id", fresh.with_columns(to=pl.lit(bucket)), "to")


def _once(data: list[bytes]) -> pl.DataFrame:
    """What was asked, each document once, in their order."""
    table = joined(data)
    assert table is not None
    return table.sort("row", pl.col("mine").not_()).unique("row", keep="first", maintain_order=True)
