"""The indexes of a collection in shards, and ``index/shards.json``, which describes them all.

citebed writes this file last, in one step. It refuses an index of a shard that the file does not
describe, because scores of two states of a collection cannot be compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed._version import __version__
from citebed.collection import Collection, open_collection
from citebed.collection.storing.store import SHARDS, lock_collection
from citebed.errors import CitebedError, CollectionError, FormatError
from citebed.files import output_files
from citebed.files.input_files import read_small
from citebed.retrieval.index import layout
from citebed.retrieval.index.analyser_choice import AUTO, choose_analyser
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.citation_contexts import read_contexts
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import FIELDS, FOLDER, Description
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.ranking.collection_weights import parse_weights
from citebed.retrieval.ranking.weight_fit import FitInput, fit_weights, is_stale
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.vectors.static_model import choose_model, find_model
from citebed.wording import printable

FORMAT = 1
_OPEN = 64
"""Number of shard indexes that a process keeps open."""


class ShardEntry(NamedTuple):
    """A shard's index: its number of documents, and a fingerprint of its files."""

    name: str
    documents: int
    fingerprint: str


@dataclass(frozen=True)
class IndexedShards:
    """The index of a sharded collection: statistics of the whole, and its shards."""

    analyser: str
    documents: int
    postings: int
    tokens: Mapping[str, int]
    """Tokens of all documents by field, for every field of any shard."""
    static: str
    """The fingerprint of the model that made the word vectors."""
    shards: tuple[ShardEntry, ...]
    vectors: Mapping[str, Mapping[str, Any]]
    """The models of vectors that all documents have, by kind."""
    latest: int = 0
    latest_citing: int = 0
    """The years of the latest document, and of the latest paper that cites one; 0 without any."""
    has_citing: bool = False
    """True if there are sentences that cite documents."""
    fit: Mapping[str, Any] = field(default_factory=dict)
    """Ranking weights fitted to the collection."""
    citebed: str = __version__
    format: int = FORMAT


@dataclass(frozen=True)
class Shard:
    """An open shard: its collection and its index."""

    collection: Collection
    index: Index


def fingerprint_of(description: Description) -> str:
    files = sorted((name, str(entry["sha256"])) for name, entry in description.files.items())
    told = json.dumps([description.format, description.analyser, files])
    return hashlib.sha256(told.encode()).hexdigest()


def read_indexed(collection: str | Path | Collection) -> IndexedShards:
    """Read the description of the shards' indexes. Raise if the shards have changed."""
    opened = open_collection(collection)
    _check_sharded(opened)
    path, name = opened.folder / FOLDER / layout.SHARDS_DESCRIPTION, printable(opened.folder)
    if not path.is_file() or path.is_symlink():
        raise CollectionError(f"the shards of {name} have no index yet. {mending(opened.folder)}")
    about = f"the index in shards of {name}"
    try:
        values = json.loads(read_small(path))
        if values["format"] != FORMAT:
            what = f"has format {values['format']!r}, this citebed reads {FORMAT}"
            raise CollectionError(f"{about} {what}. {mending(opened.folder)}")
        values["shards"] = tuple(ShardEntry(*each) for each in values["shards"])
        values["tokens"] = {name: int(values["tokens"][name]) for name in values["tokens"]}
        indexed = IndexedShards(**values)
        _check(indexed)
    except (ValueError, TypeError, KeyError, AttributeError, FormatError) as error:
        what = f"is damaged ({path.name}: {error})"
        raise CollectionError(f"{about} {what}. {mending(opened.folder)}") from None
    names = [shard.name for shard in opened.shards]
    if [entry.name for entry in indexed.shards] != names:
        raise CollectionError(
            f"the {len(names)} shards of {name} are not the {len(indexed.shards)} that were "
            f"indexed. {mending(opened.folder)}"
        )
    return indexed


def _check_sharded(collection: Collection) -> None:
    if not collection.shards:
        name = printable(collection.folder)
        raise CollectionError(
            f"{name} is in one piece, but --on needs shards. Create them with: "
            f"citebed import {name} --shard-size 1000000"
        )


def _check(indexed: IndexedShards) -> None:
    """Raise if a value has another type."""
    numbers = (
        indexed.documents,
        indexed.postings,
        indexed.latest,
        indexed.latest_citing,
        *(each.documents for each in indexed.shards),
    )
    texts = (indexed.analyser, indexed.static, *(each.fingerprint for each in indexed.shards))
    if not all(isinstance(each, int) for each in numbers):
        raise ValueError("a count is not a number")
    if not all(isinstance(each, str) for each in texts) or not set(indexed.tokens) <= set(FIELDS):
        raise ValueError("a name is not text, or not a field")
    for about in indexed.vectors.values():
        int(about["width"]), str.encode(about["fingerprint"]), str.encode(about["name"])
    if not all(isinstance(name, str) for name in indexed.fit):
        raise ValueError("what was learned has no names")


def mending(folder: Path) -> str:
    """Return a sentence that says how to index the collection's shards."""
    return f"Index them with: citebed index {printable(folder)} --on ADDRESS"


def opened_shard(folder: Path, entry: ShardEntry) -> Shard:
    """Open a shard with the index that its entry describes. A process opens and checks it once,
    until its index is replaced."""
    path = folder / SHARDS / entry.name
    if not path.is_dir():
        raise CollectionError(
            f"the shard {entry.name} of {printable(folder)}: its folder is not there, or not where "
            "workers look for it. They must see the collection under the same path; if it is gone, "
            f"create the collection again with: citebed import {printable(folder)} SOURCES"
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
        raise _unusable(folder, entry, "its index was not made together with the others")
    return shard


def _unusable(folder: Path, entry: ShardEntry, what: str) -> CollectionError:
    name = printable(folder)
    return CollectionError(f"the shard {entry.name} of {name}: {what}. {mending(folder)}")


def fields_in(indexed: IndexedShards, fields: Fields, folder: Path) -> Fields:
    """Return the fields to search. Raise if no shard has one of them."""
    found = fields.of(indexed.tokens)
    missing = [name for name in found.weights if name not in indexed.tokens]
    if missing:
        has = ", ".join(indexed.tokens)
        raise CitebedError(
            f"the index of {printable(folder)} has no field '{missing[0]}'. It has: {has}."
        )
    return found


_ADDED = (
    *("documents", "counted", "terms", "postings", "bytes", "contexts", "contexts_elsewhere"),
    *("embedded", "vector_bytes"),
)
"""Counts that are summed over shards. A term counts once per shard."""
BUILT: Mapping[str, Any] = {
    "shard": pl.String, **dict.fromkeys((*_ADDED, "unchanged"), pl.Int64),
    **dict.fromkeys(("fingerprint", "vectors"), pl.String), **dict.fromkeys(FIELDS, pl.Int64),
    **dict.fromkeys(("latest", "latest_citing", "citing_papers"), pl.Int64),
}  # fmt: skip
"""One row per shard: the outcome of indexing it, and its tokens by field."""


@dataclass(frozen=True)
class ShardOptions:
    """Options of indexing; ``static`` names word vectors as on the command line."""

    analyser: str = AUTO
    citing: tuple[Path, ...] = ()
    workers: int = 0
    rebuild: bool = False
    static: str | None = None


def index_shard(options: ShardOptions, folder: Path) -> pl.DataFrame:
    """Index a shard, given its folder, or update its index."""
    if not folder.is_dir():
        raise CollectionError(
            f"the shard {folder.name} is not where workers look for it ({printable(folder)}): "
            "they must see the collection's folder under the same path"
        )
    report = write_index(
        folder,
        IndexOptions(
            options.analyser, options.citing, options.workers or 1, options.rebuild,
            static=choose_model(options.static),
        ),
    )  # fmt: skip
    index = open_index(folder)
    row: dict[str, Any] = {
        "shard": folder.name,
        **{name: int(getattr(report, name)) for name in (*_ADDED, "unchanged")},
        "fingerprint": fingerprint_of(index.description),
        "vectors": json.dumps({"static": index.description.vectors["static"]}, sort_keys=True),
        "latest": index.totals.latest,
        "latest_citing": index.totals.latest_citing,
        "citing_papers": index.description.citing_papers,
        **{name: int(index.lengths[name].sum()) for name in index.fields},
    }
    return pl.DataFrame([row], schema=BUILT)


Everywhere = Callable[[Callable[[Path], pl.DataFrame], list[Path]], pl.DataFrame]
"""Calls a function with each folder, on any machine, and returns the rows."""


def index_shards(
    collection: Collection, options: ShardOptions, everywhere: Everywhere
) -> IndexReport:
    """Index every shard of a collection, then describe all of them in one file."""
    _check_sharded(collection)
    analyser = choose_analyser(collection, options.analyser)
    citing = tuple(path.resolve() for path in options.citing)
    work = partial(index_shard, replace(options, analyser=analyser, citing=citing))
    folder = collection.folder.resolve() / SHARDS
    rows = everywhere(work, [folder / shard.name for shard in collection.shards]).sort("shard")
    indexed = _combine(collection, analyser, rows)
    known = None  # the old weights stay unless they are stale
    with contextlib.suppress(CollectionError):
        known = None if options.rebuild else parse_weights(read_indexed(collection).fit)
    now = FitInput(indexed.documents, indexed.analyser, find_model(indexed.static))
    if known is None or is_stale(known, now):
        known = fit_weights(collection, now)
    indexed = replace(indexed, fit=asdict(known))
    with lock_collection(collection.folder):
        collection.check_unchanged()
        folder = output_files.check_not_link(collection.folder / FOLDER)
        folder.mkdir(exist_ok=True)
        output_files.write_own_file(
            folder / layout.SHARDS_DESCRIPTION, json.dumps(asdict(indexed), indent=1)
        )
        output_files.sync_folder(folder)
    added: dict[str, Any] = {name: int(rows[name].sum()) for name in _ADDED}
    # A shard counts contexts that cite documents of other shards as contexts of other works; an
    # unchanged shard counts none.
    looked = bool(citing) and not rows["unchanged"].sum()
    others = (rows.height - 1) * sum(read_contexts(path).height for path in citing) if looked else 0
    added["contexts_elsewhere"] = added["contexts_elsewhere"] - others if looked else 0
    return IndexReport(**added, unchanged=bool(rows["unchanged"].min()), analyser=analyser)


def _combine(collection: Collection, analyser: str, rows: pl.DataFrame) -> IndexedShards:
    """Return the description of all shards, given the outcome of indexing each."""
    names = [shard.name for shard in collection.shards]
    if rows["shard"].to_list() != names:
        raise CollectionError(
            f"only {rows.height} of {len(names)} shards of {printable(collection.folder)} were "
            "indexed. Run the same command again."
        )
    if rows["vectors"].n_unique() > 1:
        raise CollectionError(
            "the shards have word vectors of several models: index them with --static shipped, or "
            "with a model that all workers have"
        )
    has_field = [name for name in FIELDS if rows[name].count()]
    vectors = json.loads(rows["vectors"][0])
    return IndexedShards(
        analyser, int(rows["documents"].sum()), int(rows["postings"].sum()),
        {name: int(rows[name].sum()) for name in has_field},
        vectors["static"]["fingerprint"],
        tuple(map(ShardEntry, names, rows["documents"].to_list(), rows["fingerprint"].to_list())),
        vectors, max(rows["latest"].to_list(), default=0),
        max(rows["latest_citing"].to_list(), default=0),
        bool(rows["citing_papers"].sum()),
    )  # fmt: skip
