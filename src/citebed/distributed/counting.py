"""Counting what is in a collection's shards, each on a worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from citebed.collection import Collection
from citebed.collection.tallies import Tally, added, tallied
from citebed.distributed.parcels import Given, Parcel, at_each, dealt, fetched, noted
from citebed.distributed.sessions import Engine


def tally_on(engine: Engine, collection: Collection) -> Tally:
    """What is counted of a collection's documents, shard by shard on an engine's workers, which see
    the collection at the path where it is here."""
    folders = collection.shards or (collection.folder,)
    parcels = [
        Parcel("shard", number, noted(str(folder.absolute())))
        for number, folder in enumerate(folders)
    ]
    made = fetched(at_each(dealt(engine, parcels), _count, len(folders)))
    return added(_read(json.loads(data)) for _, data in made)


def _count(number: int, given: Given) -> Iterator[Parcel]:
    """On a worker: count what is in a shard."""
    tally = tallied(Collection(json.loads(given["shard"][0])))
    yield Parcel("tally", number, noted(asdict(tally)))


def _read(values: dict[str, Any]) -> Tally:
    years = {int(year): tuple(counts) for year, counts in values.pop("years").items()}
    return Tally(**values, years=years)
