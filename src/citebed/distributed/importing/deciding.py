"""From parts of records to the shards of a collection, step by step on an engine's workers."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from citebed.collection.building.import_report import Became, Files
from citebed.collection.tables import write_part
from citebed.distributed.importing import naming, placing
from citebed.distributed.importing.earlier import Piece
from citebed.distributed.importing.keeping import keys_of_before
from citebed.distributed.importing.merging import Part, Place, merged, seeds
from citebed.distributed.parcels import (
    Parcel,
    Work,
    at_each,
    dealt,
    fetched,
    joined,
    kept,
    noted,
    of_kind,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Shard(NamedTuple):
    """The file of a shard's documents, and how many texts have LaTeX left in them."""

    path: Path
    latex: int


class Made(NamedTuple):
    """What became of the records: the files of shards and of what is aside, in their order, and of
    the table of the latter, if there is any."""

    told: Became
    shards: list[Shard]
    aside: list[Path]
    set_aside: Path | None


def documents_of(place: Place, parts: list[Part], before: list[Piece]) -> Made:
    """Merge the records of all parts, name their documents, and write these in shards; those that
    were there ``before`` keep their cite keys."""
    start = dealt(place.engine, seeds(parts))
    fates = merged(place, start, parts)
    fates = start.unionByName(of_kind(fates, "fate", "made", "count"))
    rows = sum(part.rows for part in parts), sum(piece.size for piece in before)
    buckets = naming.buckets_for(max(rows))
    given = of_kind(fates, "part", "fate", "made")
    known = given
    if before:
        work = partial(placing.ask_ids, place.rules, buckets)
        _write_renamed(place, naming.ids(at_each(given, work, len(parts)), buckets))
        known = given.unionByName(keys_of_before(place, given, len(parts), before, buckets))
    work = partial(placing.ask, place.rules, buckets, not before)
    asked = _kept(place, at_each(known, work, len(parts)), "asked")
    counts = [json.loads(data) for _, data in fetched(of_kind(asked, "count"))]
    merges = [json.loads(data) for _, data in fetched(of_kind(fates, "count"))]
    told = _became([*counts, *merges])
    if not told.documents:
        return Made(told, [], [], None)
    names = _kept(place, naming.named(asked, buckets), "named")
    if not before:
        _write_renamed(place, names)
    given = given.unionByName(of_kind(names, "key"))
    given = given.unionByName(dealt(place.engine, _bases(parts, counts)))
    work = partial(placing.place, place.rules, place.size, str(place.folder))
    placed = _kept(place, at_each(given, work, len(parts)), "placed")
    return Made(told, *_written(place, placed, told))


def _kept(place: Place, frame: DataFrame, name: str) -> DataFrame:
    return kept(place.engine, frame, place.folder / name)


def _became(counts: list[dict[str, Any]]) -> Became:
    """What became of all records, from what workers counted of some."""
    totals: Counter[str] = Counter()
    aside: Counter[str] = Counter()
    files: Files = {}
    for each in counts:
        owners = sum(each.get("owners", {}).values())
        totals.update(documents=owners, **{n: each.get(n, 0) for n in ("records", "doubtful")})
        aside.update(each.get("set_aside", {}))
        for name, numbers in each["files"].items():
            own = files.setdefault(name, {})
            own.update({kind: own.get(kind, 0) + number for kind, number in numbers.items()})
    reasons = dict(aside.most_common())
    return Became(totals["records"], totals["documents"], reasons, totals["doubtful"], files)


def _bases(parts: list[Part], counts: list[dict[str, Any]]) -> list[Parcel]:
    """The place among all documents of the first one of each source in each part."""
    bases: list[dict[str, int]] = [{} for _ in parts]
    base = 0
    sources = [(source, at) for at, part in enumerate(parts) for source in part.starts]
    for source, at in sorted(sources):
        bases[at][source] = base
        base += counts[at]["owners"].get(source, 0)
    return [Parcel("bases", at, noted(each)) for at, each in enumerate(bases)]


def _write_renamed(place: Place, names: DataFrame) -> None:
    """The new ids of documents of which several want one: these alone come here."""
    fresh = joined(data for _, data in fetched(of_kind(names, "id")))
    if fresh is None:
        fresh = pl.DataFrame(schema={"row": pl.Int64(), "fresh": pl.String()})
    write_part(place.folder / placing.RENAMED, fresh)


def _written(
    place: Place, placed: DataFrame, told: Became
) -> tuple[list[Shard], list[Path], Path | None]:
    """The files of shards and of what is aside, and that of the table of the latter."""

    def notes(kind: str, work: Work, addresses: int, frame: DataFrame = placed) -> list[Any]:
        made = at_each(of_kind(frame, kind), work, addresses)
        return [json.loads(data) for _, data in fetched(made)]

    folder = str(place.folder)
    count = -(-told.documents // place.size)
    shards = notes("document", partial(placing.write_shard, folder), count)
    spans = 1 + told.records // placing.SPAN
    aside = notes("aside", partial(placing.write_aside, folder), spans)
    files = [Shard(Path(each["path"]), each["latex"]) for each in shards]
    if not aside:
        return files, [], None
    paths = [each["path"] for each in aside]
    whole = dealt(place.engine, [Parcel("aside", 0, noted(paths))])
    (table,) = notes("aside", partial(placing.write_set_aside, folder), 1, whole)
    return files, [Path(path) for path in paths], Path(table["path"])
