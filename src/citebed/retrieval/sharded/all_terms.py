"""The frequencies of all terms in the whole collection, kept beside the index of each shard.

A model that norms documents by all their terms needs them, and who prepares a shard for many
queries. They are made once for the fields that count, and belong to the indexes of all shards: when
one of these is made anew, they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection.storing.store import SHARDS
from citebed.errors import CollectionError
from citebed.files import output_files
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import FOLDER
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.sharded.counting import view_of
from citebed.retrieval.sharded.indexed import IndexedShards, Shard
from citebed.wording import printable

Frequencies = NDArray[np.int64]
_FEW = "whole-*.npy"


@dataclass(frozen=True)
class CountAll:
    """Counts all terms of a shard, as far as fields have them: a row a term."""

    fields: Fields

    @property
    def schema(self) -> Mapping[str, Any]:
        """The columns of its rows."""
        return {"shard": pl.String, "term": pl.String, **dict.fromkeys(self.numbers, pl.Int64)}

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are added up: df, and how often each field has a term."""
        return ("df", *self.fields.weights)

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """The counts of a shard."""
        index, size = shard.index, len(shard.index.terms)
        counts = {name: np.zeros(size, np.int64) for name in self.numbers}
        for part in view_of(index, self.fields).counted():
            counts["df"][part.terms] = part.df
            for name, times in part.cf.items():
                counts[name][part.terms] = times
        own = {"shard": [index.folder.parent.name] * size, "term": index.terms.series(), **counts}
        return pl.DataFrame(own, schema=self.schema)


@dataclass(frozen=True)
class KeepAll:
    """Writes what all shards together have of the terms of one beside its index."""

    folder: Path
    indexed: IndexedShards
    fields: Fields

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Keep the sums of a shard's terms; tells how many terms these are."""
        name = str(table["shard"][0])
        sums = table.sort("term").select("df", *self.fields.weights)
        path = path_of(self.folder, name, self.indexed, self.fields)
        with output_files.add_files(path.parent, path) as draft:
            np.save(draft / path.name, np.ascontiguousarray(sums.to_numpy().T))
        kept = f"whole-{_key(self.indexed)}-"
        for other in path.parent.glob(_FEW):
            if not other.name.startswith(kept):
                other.unlink(missing_ok=True)
        return pl.DataFrame({"shard": [name], "terms": [table.height]}, schema=KEPT)


KEPT: Mapping[str, Any] = {"shard": pl.String, "terms": pl.Int64}


@dataclass(frozen=True)
class KeptTerms:
    """Reads what is kept of a shard's terms."""

    folder: Path
    indexed: IndexedShards
    fields: Fields

    def __call__(self, shard: Shard) -> Frequencies:
        """df of the shard's terms in the whole collection, then how often each field has them."""
        name = shard.index.folder.parent.name
        path = path_of(self.folder, name, self.indexed, self.fields)
        return kept_frequencies(path, shard.index, self.fields)


def path_of(folder: Path, shard: str, indexed: IndexedShards, fields: Fields) -> Path:
    """Where the frequencies of a shard's terms are, if they are there."""
    name = f"whole-{_key(indexed)}-{'-'.join(fields.weights)}.npy"
    return folder / SHARDS / shard / FOLDER / name


def _key(indexed: IndexedShards) -> str:
    told = json.dumps([each.fingerprint for each in indexed.shards])
    return hashlib.sha256(told.encode()).hexdigest()[:24]


def are_kept(folder: Path, indexed: IndexedShards, fields: Fields) -> bool:
    """Whether the frequencies of the terms of all shards are there."""
    names = (entry.name for entry in indexed.shards)
    return all(path_of(folder, name, indexed, fields).is_file() for name in names)


def kept_frequencies(path: Path, index: Index, fields: Fields) -> Frequencies:
    """df of an index's terms in the whole collection, then how often each field has them: a row
    each."""
    shape = (1 + len(fields.weights), len(index.terms))
    try:
        found: Frequencies = np.load(path, mmap_mode="r", allow_pickle=False)
        good = found.shape == shape and found.dtype == np.int64 and found.min(initial=0) >= 0
    except (OSError, ValueError, EOFError):
        good = False
    if not good or path.is_symlink():
        raise CollectionError(
            f"'{printable(path)}', the frequencies of all terms for the shard "
            f"{path.parents[1].name}, is damaged. Remove it; it is made anew when it is needed."
        )
    return found
