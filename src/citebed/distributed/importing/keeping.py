"""The cite keys that documents had before an import, which they keep.

Which document of before one of now is, is asked by what they have in common, surest first
(`SAME`). Nearly all have their id and title in common, and are settled where that is found, on
workers; those documents of before that are not come here, and what may be one of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from citebed.collection.building.combining import BEFORE, SAME, earlier_keys
from citebed.collection.rules import Rules
from citebed.collection.tables import empty, read_part, write_part
from citebed.distributed.importing.earlier import Piece, dealt_pieces, piece_in
from citebed.distributed.importing.merging import Place, number_of
from citebed.distributed.importing.placing import RENAMED, decided, named
from citebed.distributed.parcels import (
    Given,
    Parcel,
    addressed,
    at_each,
    dealt,
    fetched,
    joined,
    kept,
    of_kind,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIRST, *_OTHERS = SAME
_LEFT, _TWICE = "left.arrow", "twice.arrow"
_KEPT = (pl.col("owner").alias("row"), "kept", "home")
_OF_OWNERS = ("owner", "home", "doc_id", "doi", "title", "year")
"""A record as it is asked for: its document, the part that this is in, and what tells which."""


def keys_of_before(
    place: Place, given: DataFrame, parts: int, before: list[Piece], buckets: int
) -> DataFrame:
    """The keys of before, to the parts of the documents that keep them; ``given`` is what was
    decided of the records of parts, whose ids are written."""
    engine, folder = place.engine, place.folder
    _write_twice(place, before, buckets)
    now = at_each(given, partial(_now, place.rules, str(folder), buckets), parts)
    work = partial(_before, str(folder), buckets)
    were = at_each(dealt_pieces(engine, before), work, len(before))
    asked = now.unionByName(were)
    matched = kept(engine, at_each(asked, partial(_match, buckets), buckets), folder / "matched")
    settled = at_each(of_kind(matched, "claim"), _settle, buckets)
    both = matched.unionByName(kept(engine, settled, folder / "settled"))
    keys = of_kind(both, "kept")
    left = joined(data for _, data in fetched(of_kind(both, "left")))
    if left is None:
        return keys
    write_part(folder / _LEFT, left)
    may_be = at_each(of_kind(both, "rest"), partial(_alike, str(folder)), buckets)
    records = joined(data for _, data in fetched(may_be))
    if records is None:
        return keys
    more = earlier_keys(records, left, _OTHERS)
    homes = records.select("owner", "home").unique()
    parcels = list(addressed("kept", more.join(homes, on="owner").select(_KEPT), "home"))
    return keys.unionByName(dealt(engine, parcels)) if parcels else keys


def _now(rules: Rules, folder: str, buckets: int, number: int, given: Given) -> Iterator[Parcel]:
    """On a worker: the records of a part's documents, to where those of before with their ids
    are."""
    table = named(
        decided(given, rules), read_part(Path(folder, RENAMED)), "row", "doc_id", "doc_id"
    )
    records = _numbered(table.filter(pl.col("owner").is_not_null()).select(
        "row", "owner", "size", "doc_id", "doi", "title", "year", home=pl.lit(number, pl.Int64)
    ))  # fmt: skip
    yield from _by_name("now", records, "doc_id", buckets)


def _write_twice(place: Place, before: list[Piece], buckets: int) -> None:
    """The keys that several documents had, which an earlier version may have given: nobody's."""
    pieces = dealt_pieces(place.engine, before)
    keys = at_each(pieces, partial(_keys, buckets), len(before))
    twice = joined(data for _, data in fetched(at_each(keys, _twice, buckets)))
    none = pl.DataFrame(schema={"cite_key": pl.String()})
    write_part(place.folder / _TWICE, none if twice is None else twice)


def _keys(buckets: int, _: int, given: Given) -> Iterator[Parcel]:
    """On a worker: the keys of some documents that there were."""
    keys = piece_in(given).read({"cite_key": BEFORE["cite_key"]})
    yield from _by_name("key", keys, "cite_key", buckets)


def _twice(bucket: int, given: Given) -> Iterator[Parcel]:
    keys = joined(given["key"])
    assert keys is not None
    yield from _here("twice", keys.filter(pl.col("cite_key").is_duplicated()).unique(), bucket)


def _before(folder: str, buckets: int, _: int, given: Given) -> Iterator[Parcel]:
    """On a worker: the documents that there were, with a key of their own."""
    twice = read_part(Path(folder, _TWICE))
    documents = piece_in(given).read(BEFORE).join(twice, on="cite_key", how="anti")
    yield from _by_name("before", _numbered(documents), "doc_id", buckets)


def _numbered(documents: pl.DataFrame) -> pl.DataFrame:
    """Documents with their DOIs and titles as numbers, the same on every machine, which is all that
    is compared."""
    titles = (number_of(title) if title else None for title in documents["title"])
    dois = (None if doi is None else number_of(doi) for doi in documents["doi"])
    return documents.with_columns(
        pl.Series("title", titles, pl.Int64()),
        pl.Series("doi", dois, pl.Int64()),
        pl.col("year").fill_null(0),
    )


def _by_name(kind: str, table: pl.DataFrame, name: str, buckets: int) -> Iterator[Parcel]:
    """Rows to where others of the same name are."""
    bucket = [zlib.crc32(text.encode()) % buckets for text in table[name]]
    yield from addressed(
        kind, table.with_columns(bucket=pl.Series(bucket, dtype=pl.Int64)), "bucket"
    )


def _match(buckets: int, bucket: int, given: Given) -> Iterator[Parcel]:
    """On a worker: the documents of some ids, now and before. A key that several would keep is
    nobody's yet; a document of several records is asked for where all of these are."""
    now, before = joined(given.get("now", ())), joined(given.get("before", ()))
    if before is None:
        before = _numbered(empty(BEFORE))
    if now is None:
        yield from _here("left", before, bucket)
        return
    theirs = before.unique(_FIRST, keep="none")
    theirs = theirs.select(*_FIRST, kept="cite_key", was_doi="doi", was_year="year")
    found = now.join(theirs, on=_FIRST, how="left", maintain_order="left")
    wanted = pl.col("owner").n_unique().over("kept")
    found = found.with_columns(is_sure=pl.col("kept").is_not_null() & (wanted == 1))
    alone = found.filter(pl.col("size") == 1)
    yield from addressed("kept", alone.filter("is_sure").select(_KEPT), "home")
    yield from _here("rest", alone.filter(~pl.col("is_sure")).select(_OF_OWNERS), bucket)
    several = found.filter(pl.col("size") > 1)
    yield from addressed("claim", several.with_columns(to=pl.col("owner") % buckets), "to")
    claimed = found.filter("is_sure").select(cite_key="kept")
    yield from _here("left", before.join(claimed, on="cite_key", how="anti"), bucket)


def _settle(bucket: int, given: Given) -> Iterator[Parcel]:
    """On a worker: documents of several records, which keep a key where these have but one."""
    table = joined(given["claim"])
    assert table is not None
    home = pl.col("home").filter(pl.col("row") == pl.col("owner")).first().over("owner")
    one = pl.col("kept").drop_nulls().n_unique().over("owner") == 1
    table = table.with_columns(home=home, is_one=one & pl.col("is_sure").any().over("owner"))
    sure = table.filter("is_one", "is_sure").unique("owner")
    yield from addressed("kept", sure.select(_KEPT), "home")
    rest = table.filter(~pl.col("is_one"))
    yield from _here("rest", rest.select(_OF_OWNERS), bucket)
    unsettled = rest.filter("is_sure").unique("kept").select(
        "doc_id", "title", doi="was_doi", year="was_year", cite_key="kept"
    )  # fmt: skip
    yield from _here("left", unsettled.select(list(BEFORE)), bucket)


def _here(kind: str, table: pl.DataFrame, bucket: int) -> Iterator[Parcel]:
    yield from addressed(kind, table.with_columns(to=pl.lit(bucket)), "to")


def _alike(folder: str, bucket: int, given: Given) -> Iterator[Parcel]:
    """On a worker: the records that may be one of the documents that are left."""
    left, records = read_part(Path(folder, _LEFT)), joined(given["rest"])
    assert records is not None
    alike = [records.join(left, on=names, how="semi") for names in _OTHERS]
    yield from _here("record", pl.concat(alike).unique(), bucket)
