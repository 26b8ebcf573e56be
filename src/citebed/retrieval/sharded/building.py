"""Indexing a collection in shards: an index a shard, all with one analyser and one model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.storing.store import SHARDS
from citebed.errors import CollectionError
from citebed.retrieval.index.analyser_choice import AUTO, choose_analyser
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.citation_contexts import read_contexts
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.ranking.fitted_weights import as_fit
from citebed.retrieval.ranking.fitting import Indexed, is_stale, learned
from citebed.retrieval.sharded.indexed import (
    IndexedShards,
    ShardEntry,
    fingerprint_of,
    read_indexed,
    total,
    write_indexed,
)
from citebed.retrieval.vectors.static_model import choose_model, find_model
from citebed.wording import printable

_ADDED = (
    *("documents", "counted", "terms", "postings", "bytes", "contexts", "contexts_elsewhere"),
    *("embedded", "vector_bytes"),
)
"""What is reported of an index and adds up over shards; of terms, how many each shard has."""
BUILT: Mapping[str, Any] = {
    "shard": pl.String, **dict.fromkeys((*_ADDED, "unchanged"), pl.Int64),
    **dict.fromkeys(("fingerprint", "vectors"), pl.String), **dict.fromkeys(FIELDS, pl.Int64),
    **dict.fromkeys(("latest", "latest_citing", "citing_papers"), pl.Int64),
}  # fmt: skip
"""A row a shard: what became of its index, and its tokens by field."""


@dataclass(frozen=True)
class ShardOptions:
    """How the shards are indexed; ``static`` names the model of word vectors, as the command line
    does."""

    analyser: str = AUTO
    citing: tuple[Path, ...] = ()
    workers: int = 0
    rebuild: bool = False
    static: str | None = None


@dataclass(frozen=True)
class IndexShard:
    """Indexes a shard, by its folder."""

    options: ShardOptions

    def __call__(self, folder: Path) -> pl.DataFrame:
        """Index it, or bring its index up to date."""
        if not folder.is_dir():
            raise CollectionError(
                f"the shard {folder.name} is not where workers look for it ({printable(folder)}): "
                "they must see the collection's folder under the same path"
            )
        how = self.options
        options = IndexOptions(
            how.analyser, how.citing, how.workers or 1, how.rebuild, None, choose_model(how.static)
        )
        report = write_index(folder, options)
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


Everywhere = Callable[[IndexShard, list[Path]], pl.DataFrame]
"""What indexes folders, wherever that is, and gives a row for each."""


def index_shards(
    collection: Collection, options: ShardOptions, everywhere: Everywhere
) -> IndexReport:
    """Index every shard of a collection, and tell of all of them when all are done."""
    name = printable(collection.folder)
    if not collection.shards:
        raise CollectionError(
            f"{name} is in one piece, and engines work on shards. Cut it with: "
            f"citebed import {name} --shard-size 1000000"
        )
    analyser = choose_analyser(collection, options.analyser)
    citing = tuple(path.resolve() for path in options.citing)
    work = IndexShard(replace(options, analyser=analyser, citing=citing))
    folder = collection.folder.resolve() / SHARDS
    rows = everywhere(work, [folder / shard.name for shard in collection.shards]).sort("shard")
    indexed = _fitted(collection, _indexed(collection, analyser, rows), options.rebuild)
    write_indexed(collection, indexed)
    return _report(rows, analyser, citing)


def _indexed(collection: Collection, analyser: str, rows: pl.DataFrame) -> IndexedShards:
    names = [shard.name for shard in collection.shards]
    if rows["shard"].to_list() != names:
        raise CollectionError(
            f"of {len(names)} shards of {printable(collection.folder)} {rows.height} were indexed; "
            "run the same command again"
        )
    if rows["vectors"].n_unique() > 1:
        raise CollectionError(
            "the shards have word vectors of several models: index them with --static shipped, or "
            "with a model that all workers have"
        )
    tokens = [
        {n: row[n] for n in FIELDS if row[n] is not None} for row in rows.iter_rows(named=True)
    ]
    vectors = json.loads(rows["vectors"][0])
    return IndexedShards(
        analyser, int(rows["documents"].sum()), int(rows["postings"].sum()), total(tokens),
        vectors["static"]["fingerprint"],
        tuple(map(ShardEntry, names, rows["documents"].to_list(), rows["fingerprint"].to_list())),
        vectors, _most(rows["latest"]), _most(rows["latest_citing"]),
        bool(rows["citing_papers"].sum()),
    )  # fmt: skip


def _most(numbers: pl.Series) -> int:
    return max(numbers.to_list(), default=0)


def _fitted(collection: Collection, indexed: IndexedShards, anew: bool) -> IndexedShards:
    """With what the collection teaches about ranking it: of before, while that stands."""
    known = None
    with contextlib.suppress(CollectionError):
        known = None if anew else as_fit(read_indexed(collection).fit)
    now = Indexed(indexed.documents, indexed.analyser, find_model(indexed.static))
    if known is None or is_stale(known, now):
        known = learned(collection, now)
    return replace(indexed, fit=asdict(known))


def _report(rows: pl.DataFrame, analyser: str, citing: Sequence[Path]) -> IndexReport:
    added: dict[str, Any] = {name: int(rows[name].sum()) for name in _ADDED}
    # To a shard, what cites the documents of another is elsewhere; one that is unchanged has not
    # looked.
    looked = bool(citing) and not rows["unchanged"].sum()
    others = (rows.height - 1) * sum(read_contexts(path).height for path in citing) if looked else 0
    added["contexts_elsewhere"] = added["contexts_elsewhere"] - others if looked else 0
    return IndexReport(**added, unchanged=bool(rows["unchanged"].min()), analyser=analyser)
