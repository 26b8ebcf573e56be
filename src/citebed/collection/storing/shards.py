"""The shards of a large collection, each a collection of some of its documents, in their order.

Documents and their full texts are only in the shards. Citing papers and contexts are in the large
collection; a shard has copies of the ones that cite its documents, so that it can be indexed alone.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from citebed.collection.storing import store, table_files
from citebed.collection.storing.store import SHARDS, Manifest
from citebed.collection.tables import DOCUMENTS, TABLES, Frames, empty_table
from citebed.files.file_kinds import MANIFEST

OF_DOCUMENTS = ("documents", "sections")
"""The tables whose rows are only in the shards."""
_IN_SHARDS = (*OF_DOCUMENTS, "papers", "contexts")


class Shards:
    """Writes the documents to a folder: as shards of ``size`` documents, or as one table if it is
    0."""

    def __init__(self, ready: Path, size: int) -> None:
        self._ready, self.size = ready, size
        self.names: tuple[str, ...] = ()

    def has(self, table: str) -> bool:
        """Return True if a table is only in the shards."""
        return bool(self.names) and table in OF_DOCUMENTS

    def documents(self) -> list[Path]:
        """Return the files of documents, in their order."""
        return [self._path(name, "documents") for name in self.names or ("",)]

    def _path(self, shard: str, table: str) -> Path:
        folder = self._ready / SHARDS / shard if shard else self._ready
        return folder / f"{table}.parquet"

    def write_documents(self, pieces: Iterable[pl.DataFrame]) -> None:
        if not self.size:
            path = self._path("", "documents")
            table_files.write_frames(path, iter(pieces), DOCUMENTS)
            return
        for number, shard in enumerate(_split(pieces, self.size)):
            self.names = (*self.names, store.format_shard_name(number))
            table_files.write_frames(self._path(self.names[-1], "documents"), shard, DOCUMENTS)

    def write_others(self, frames: Frames, manifest: Manifest) -> None:
        if not self.names:
            return
        cited = frames["contexts"].select(doc_id="cited").explode("doc_id")
        wanted = pl.concat([cited, frames["sections"].select("doc_id")]).unique()
        for number, name in enumerate(self.names):
            ids = wanted
            if wanted.height:
                with table_files.open_table(self._path(name, "documents")) as rows:
                    every = rows.select("doc_id")
                    ids = every.join(wanted.lazy(), on="doc_id", how="semi").collect()
            mine = pl.DataFrame({"doc_id": ids["doc_id"]})
            contexts = frames["contexts"].with_row_index("at")
            mentions = contexts.select("at", doc_id="cited").explode("doc_id")
            mentions = mentions.join(mine, on="doc_id", how="semi", maintain_order="left")
            lists = mentions.group_by("at", maintain_order=True).agg(cited="doc_id")
            some = contexts.drop("cited").join(lists, on="at", maintain_order="left")
            papers = frames["papers"].join(some, on="paper_id", how="semi", maintain_order="left")
            sections = frames["sections"].join(mine, on="doc_id", how="semi", maintain_order="left")
            others = {"contexts": some, "papers": papers, "sections": sections}
            write_shard(self._ready / SHARDS / name, others, manifest, number)

    def replaced_files(self, folder: Path) -> list[str]:
        """Return the files of a collection's documents that the new shards replace."""
        old = [folder / f"{name}.parquet" for name in (OF_DOCUMENTS if self.names else ())]
        if (folder / MANIFEST).is_file():
            gone = [name for name in store.read_manifest(folder).shards if name not in self.names]
            files = (MANIFEST, *(f"{name}.parquet" for name in _IN_SHARDS))
            old += [folder / SHARDS / name / file for name in gone for file in files]
        return [str(path.relative_to(folder)) for path in old if path.exists()]

    def remove_former(self, folder: Path) -> None:
        """Delete the folders of former shards, with their indexes; follow no links."""
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


def _split(pieces: Iterable[pl.DataFrame], size: int) -> Iterator[Iterator[pl.DataFrame]]:
    """Divide the pieces of a table into tables of ``size`` rows, at least one."""
    coming = iter(pieces)
    left = next(coming, empty_table(DOCUMENTS))

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


def write_shard(folder: Path, frames: Frames, manifest: Manifest, number: int) -> None:
    """Write the tables of a shard other than its documents, and its manifest."""
    for table, rows in frames.items():
        if rows.height or table != "sections":
            table_files.write_table(folder / f"{table}.parquet", rows, TABLES[table])
    name = f"{manifest.name} {store.format_shard_name(number)}"
    own = replace(manifest, name=name, sources=(), query_sets=(), shards=(), shard_size=0)
    (folder / MANIFEST).write_text(own.to_toml(), encoding="utf-8")
