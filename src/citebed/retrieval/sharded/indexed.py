"""The index of a collection in shards: one a shard, and ``index/shards.json``, which tells of all.

It is written last and whole. An index of a shard that is not the one that it tells of is refused:
scores of two states of a collection do not go together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from citebed._version import __version__
from citebed.collection import Collection, open_collection
from citebed.collection.storing.store import SHARDS, locked
from citebed.errors import CitebedError, CollectionError, FormatError
from citebed.files import output_files
from citebed.files.input_files import hash_file, read_small
from citebed.retrieval.index import layout
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import FIELDS, FOLDER, Description
from citebed.retrieval.search.fields import Fields
from citebed.wording import printable

FORMAT = 1
_OPEN = 64
"""Indexes of shards that a process keeps open."""


class ShardEntry(NamedTuple):
    """What is told of a shard's index: its documents, and what tells it from any other."""

    name: str
    documents: int
    fingerprint: str


@dataclass(frozen=True)
class IndexedShards:
    """The index of a collection in shards: the whole of it in numbers, and its shards."""

    analyser: str
    documents: int
    postings: int
    tokens: Mapping[str, int]
    """Of all documents, by field; it has the fields that any shard has."""
    static: str
    """The fingerprint of the model that made the word vectors."""
    shards: tuple[ShardEntry, ...]
    vectors: Mapping[str, Mapping[str, Any]]
    """The models of vectors that all documents have, by kind."""
    latest: int = 0
    latest_citing: int = 0
    """The years of the latest document, and of the latest paper that cites one; 0 without any."""
    has_citing: bool = False
    """Whether there are sentences that cite documents."""
    fit: Mapping[str, Any] = field(default_factory=dict)
    """What was learned from the collection for ranking it."""
    citebed: str = __version__
    format: int = FORMAT


@dataclass(frozen=True)
class Shard:
    """A shard that is open: it is a collection, and has an index."""

    collection: Collection
    index: Index


def fingerprint_of(description: Description) -> str:
    """What tells the contents of an index from those of any other."""
    files = sorted((name, str(entry["sha256"])) for name, entry in description.files.items())
    told = json.dumps([description.format, description.analyser, files])
    return hashlib.sha256(told.encode()).hexdigest()


def write_indexed(collection: Collection, indexed: IndexedShards) -> None:
    """Tell of the indexes of a collection's shards, which all are there."""
    with locked(collection.folder):
        collection.check_unchanged()
        folder = output_files.check_not_link(collection.folder / FOLDER)
        folder.mkdir(exist_ok=True)
        output_files.write_own_file(
            folder / layout.SHARDS_DESCRIPTION, json.dumps(asdict(indexed), indent=1)
        )
        output_files.sync_folder(folder)


def read_indexed(collection: str | Path | Collection) -> IndexedShards:
    """What is told of the indexes of a collection's shards, if it is of these very shards."""
    opened = open_collection(collection)
    path, name = opened.folder / FOLDER / layout.SHARDS_DESCRIPTION, printable(opened.folder)
    if not opened.shards:
        raise CollectionError(
            f"{name} is in one piece, and engines work on shards. Cut it with: "
            f"citebed import {name} --shard-size 1000000"
        )
    if not path.is_file() or path.is_symlink():
        raise CollectionError(f"the shards of {name} have no index yet. {mending(opened.folder)}")
    indexed = _read(path, opened.folder)
    names = [shard.name for shard in opened.shards]
    if [entry.name for entry in indexed.shards] != names:
        raise CollectionError(
            f"{name} has {len(names)} shards, and others than were indexed "
            f"({len(indexed.shards)}). {mending(opened.folder)}"
        )
    return indexed


def _read(path: Path, folder: Path) -> IndexedShards:
    try:
        values = json.loads(read_small(path))
        if values["format"] != FORMAT:
            what = f"has format {values['format']!r}, this citebed reads {FORMAT}"
            raise CollectionError(
                f"the index in shards of {printable(folder)} {what}. {mending(folder)}"
            )
        values["shards"] = tuple(ShardEntry(*each) for each in values["shards"])
        values["tokens"] = {name: int(values["tokens"][name]) for name in values["tokens"]}
        return _checked(IndexedShards(**values))
    except (ValueError, TypeError, KeyError, AttributeError, FormatError) as error:
        what = f"is damaged ({path.name}: {error})"
        raise CollectionError(
            f"the index in shards of {printable(folder)} {what}. {mending(folder)}"
        ) from None


def _checked(indexed: IndexedShards) -> IndexedShards:
    numbers = (
        indexed.documents,
        indexed.postings,
        indexed.latest,
        indexed.latest_citing,
        *(each.documents for each in indexed.shards),
    )
    texts = (indexed.analyser, indexed.static, *(each.fingerprint for each in indexed.shards))
    if not all(isinstance(each, int) for each in numbers):
        raise ValueError("a number is none")
    if not all(isinstance(each, str) for each in texts) or not set(indexed.tokens) <= set(FIELDS):
        raise ValueError("a name is none")
    for about in indexed.vectors.values():
        int(about["width"]), str.encode(about["fingerprint"]), str.encode(about["name"])
    if not all(isinstance(name, str) for name in indexed.fit):
        raise ValueError("what was learned has no names")
    return indexed


def mending(folder: Path) -> str:
    """How to get the index of a collection's shards, in a sentence."""
    return f"Index them with: citebed index {printable(folder)} --on ADDRESS"


def opened_shard(folder: Path, entry: ShardEntry) -> Shard:
    """A shard of a collection, by the collection's folder, with the index that was told of it; a
    process opens and checks it once, until another index takes its place."""
    path = folder / SHARDS / entry.name
    if not path.is_dir():
        raise CollectionError(
            f"the shard {entry.name} of {printable(folder)}: its folder is not there, or not where "
            "workers look for it. They must see the collection under the same path; if it is gone, "
            f"make the collection anew with: citebed import {printable(folder)} SOURCES"
        )
    written = layout.description_version(path / FOLDER)
    if written is None:
        raise _unusable(folder, entry, "it has no index")
    return _opened(folder, entry, written)


@lru_cache(_OPEN)
def _opened(folder: Path, entry: ShardEntry, _written: tuple[int, int]) -> Shard:
    path = folder / SHARDS / entry.name
    try:
        shard = Shard(open_collection(path), open_index(path, verified=True))
    except layout.DamagedIndex as error:
        raise _unusable(folder, entry, f"its index {error.what}") from None
    except CitebedError as error:
        raise _unusable(folder, entry, str(error)) from None
    if fingerprint_of(shard.index.description) != entry.fingerprint:
        raise _unusable(folder, entry, "its index is not the one that was made with the others")
    return shard


def _unusable(folder: Path, entry: ShardEntry, what: str) -> CollectionError:
    name = printable(folder)
    return CollectionError(f"the shard {entry.name} of {name}: {what}. {mending(folder)}")


def fields_in(indexed: IndexedShards, fields: Fields, folder: Path) -> Fields:
    """The fields that count in an index in shards; one that no shard has is an error."""
    found = fields.of(indexed.tokens)
    missing = [name for name in found.weights if name not in indexed.tokens]
    if missing:
        has = ", ".join(indexed.tokens)
        raise CitebedError(
            f"the index of {printable(folder)} has no field '{missing[0]}'. It has: {has}."
        )
    return found


def facts_of(collection: Collection, indexed: IndexedShards) -> dict[str, Any]:
    """What a run says of the index that it was made with."""
    return {
        "documents": indexed.documents,
        "sha256": hash_file(collection.folder / FOLDER / layout.SHARDS_DESCRIPTION),
        "shards": len(indexed.shards),
    }


def total(numbers: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Numbers by field added up, in the fields' order."""
    there = [name for name in FIELDS if any(name in each for each in numbers)]
    return {name: sum(each.get(name, 0) for each in numbers) for name in there}
