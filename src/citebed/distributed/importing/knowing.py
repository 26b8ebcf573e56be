"""What citing papers may cite, found where the documents are: those that are asked for, alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from citebed.collection.building.citing import are_asked
from citebed.collection.importing import KNOWN, known_aside
from citebed.collection.tables import TABLES, read_part, write_part
from citebed.distributed.parcels import (
    Given,
    Parcel,
    at_each,
    dealt,
    fetched,
    noted,
    packed,
    unpacked,
)
from citebed.distributed.sessions import Engine

Asked = tuple[pl.Series, pl.Series]
"""Names and folded titles."""


def known(
    engine: Engine, shards: list[Path], aside: list[Path], asked: Asked, folder: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Those documents and records set aside that have a name or a title which is asked."""
    ours, others = _found(engine, shards, aside, asked, folder / "asked")
    if others.height:  # one that is aside may have the id of a document
        names = pl.concat([asked[0], others["doc_id"].str.to_lowercase()]).unique()
        ours, others = _found(engine, shards, aside, (names, asked[1]), folder / "asked-again")
    return ours, others


def _found(
    engine: Engine, shards: list[Path], aside: list[Path], asked: Asked, place: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    place.mkdir()
    for name, series in zip(("names", "titles"), asked, strict=True):
        write_part(place / f"{name}.arrow", series.to_frame("text"))
    paths = [*shards, *aside]
    parcels = [Parcel("file", at, noted(str(path))) for at, path in enumerate(paths)]
    work = partial(_look_up, str(place), len(shards))
    made = fetched(at_each(dealt(engine, parcels), work, len(paths)))
    none = pl.DataFrame(schema={name: TABLES["documents"][name] for name in KNOWN})
    ours = [unpacked(data) for at, data in made if at < len(shards)]
    others = [unpacked(data) for at, data in made if at >= len(shards)]
    return pl.concat([none, *ours]), pl.concat([none, *others])


def _look_up(place: str, shards: int, number: int, given: Given) -> Iterator[Parcel]:
    """On a worker: what is asked of a file of documents, or of records that are set aside."""
    path = Path(json.loads(given["file"][0]))
    if number < shards:
        table = pl.read_parquet(path, columns=list(KNOWN), glob=False).select(KNOWN)
    else:
        table = known_aside(read_part(path).lazy()).collect()
    names, titles = (
        read_part(Path(place, f"{name}.arrow"))["text"] for name in ("names", "titles")
    )
    found = are_asked(table, names, titles)
    if found.height:
        yield Parcel("known", number, packed(found))
