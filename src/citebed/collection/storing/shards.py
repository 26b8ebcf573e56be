"""The shards of a large collection: each a collection of some of its documents, in their order.

What belongs to documents (their records and full texts) is in the shards alone. Citing papers and
their contexts are the whole collection's; a shard has those that cite its documents too, so that
its index needs nothing but the shard.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from citebed.collection.storing import store, table_files
from citebed.collection.storing.store import MANIFEST, SHARDS, Manifest
from citebed.collection.tables import DOCUMENTS, TABLES, Frames, empty
from citebed.files.input_files import reusable_path

OF_DOCUMENTS = ("documents", "sections")
"""The tables whose rows are in the shards, and nowhere else."""
_IN_SHARDS = (*OF_DOCUMENTS, "papers", "contexts")


class Shards:
    """The files of the documents, made under a folder: shards of so many documents, or one table
    where their ``size`` is 0."""

    def __init__(self, ready: Path, size: int) -> None:
        self._ready, self.size = ready, size
        self.names: tuple[str, ...] = ()

    def has(self, table: str) -> bool:
        """Whether the shards alone have a table."""
        return bool(self.names) and table in OF_DOCUMENTS

    def documents(self) -> list[Path]:
        """The files of documents, in their order."""
        return [self._path(name, "documents") for name in self.names or ("",)]

    def _path(self, shard: str, table: str) -> Path:
        folder = self._ready / SHARDS / shard if shard else self._ready
        return folder / f"{table}.parquet"

    def write_documents(self, pieces: Iterable[pl.DataFrame]) -> None:
        """Write the documents, which come piece by piece."""
        if not self.size:
            path = self._path("", "documents")
            table_files.write_frames(path, iter(pieces), DOCUMENTS)
            return
        for number, shard in enumerate(_cut(pieces, self.size)):
            self.names = (*self.names, store.shard_name(number))
            table_files.write_frames(self._path(self.names[-1], "documents"), shard, DOCUMENTS)

    def write_others(self, frames: Frames, manifest: Manifest) -> None:
        """Write what else each shard has of some tables, and what it says of itself."""
        if not self.names:
            return
        cited = frames["contexts"].select(doc_id="cited").explode("doc_id")
        wanted = pl.concat([cited, frames["sections"].select("doc_id")]).unique()
        for number, name in enumerate(self.names):
            ids = wanted
            if wanted.height:
                with reusable_path(self._path(name, "documents")) as file:
                    every = pl.scan_parquet(file, glob=False).select("doc_id")
                    ids = every.join(wanted.lazy(), on="doc_id", how="semi").collect()
            others = of_shard(frames, ids["doc_id"])
            write_shard(self._ready / SHARDS / name, others, manifest, number)

    def without(self, folder: Path) -> list[str]:
        """The files of a collection's documents that are none any more."""
        old = [folder / f"{name}.parquet" for name in (OF_DOCUMENTS if self.names else ())]
        if (folder / MANIFEST).is_file():
            gone = [name for name in store.read_manifest(folder).shards if name not in self.names]
            files = (MANIFEST, *(f"{name}.parquet" for name in _IN_SHARDS))
            old += [folder / SHARDS / name / file for name in gone for file in files]
        return [str(path.relative_to(folder)) for path in old if path.exists()]

    def sweep(self, folder: Path) -> None:
        """Take away what is left of shards that a collection has no more: folders, and indexes. A
        stranger's collection may have a link there, to folders that are none of it."""
        shards = folder / SHARDS
        if shards.is_symlink():
            return
        for place in shards.glob("*"):
            gone = place.name.isdecimal() and place.name not in self.names
            if gone and place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
        if not self.names:
            with contextlib.suppress(OSError):
                shards.rmdir()


def _cut(pieces: Iterable[pl.DataFrame], size: int) -> Iterator[Iterator[pl.DataFrame]]:
    """Pieces of a table as the pieces of tables of a size; of none there is one that is empty."""
    coming = iter(pieces)
    left = next(coming, empty(DOCUMENTS))

    def shard() -> Iterator[pl.DataFrame]:
        nonlocal left
        wanted = size
        while True:
            yield left[:wanted]
            wanted, left = wanted - left[:wanted].height, left[wanted:]
            if not left.height:
                left = next((piece for piece in coming if piece.height), left)
            if not wanted or not left.height:
                return

    yield shard()
    while left.height:
        yield shard()


def of_shard(frames: Frames, ids: pl.Series) -> Frames:
    """What tables have of some documents: their texts, and the contexts that cite them."""
    mine = pl.DataFrame({"doc_id": ids})
    contexts = frames["contexts"].with_row_index("at")
    cited = contexts.select("at", doc_id="cited").explode("doc_id")
    cited = cited.join(mine, on="doc_id", how="semi", maintain_order="left")
    lists = cited.group_by("at", maintain_order=True).agg(cited="doc_id")
    some = contexts.drop("cited").join(lists, on="at", maintain_order="left")
    papers = frames["papers"].join(some, on="paper_id", how="semi", maintain_order="left")
    sections = frames["sections"].join(mine, on="doc_id", how="semi", maintain_order="left")
    return {"contexts": some, "papers": papers, "sections": sections}


def write_shard(folder: Path, frames: Frames, manifest: Manifest, number: int) -> None:
    """Write what a shard has beside its documents."""
    for name, table in frames.items():
        if table.height or name != "sections":
            table_files.write_table(folder / f"{name}.parquet", table, TABLES[name])
    own = replace(
        manifest, name=f"{manifest.name} {store.shard_name(number)}", sources=(), query_sets=(),
        shards=(), shard_size=0,
    )  # fmt: skip
    (folder / MANIFEST).write_text(own.to_toml(), encoding="utf-8")
