"""Cards: what is known of documents, as far as recommendations tell it."""

from __future__ import annotations

import json
import os
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import IO, Any

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.retrieval.index.index import Index

Card = Mapping[str, Any]
_TEXTS = ("title", "venue", "doi", "url", "abstract", "cite_key")
_LISTS = ("authors", "keys")
_TOLD = ("doc_id", "title", "venue", "doi", "url", "cite_key", *_LISTS, "year", "arxiv")


def card_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table of documents as a card: texts and lists that are empty, none missing."""
    texts = {name: row[name] or "" for name in _TEXTS if name in row}
    return {**row, **texts, **{name: tuple(row[name] or ()) for name in _LISTS}}


class Cards:
    """The cards of a collection's documents: all at hand once they are prepared, else those that
    were asked for.

    Those that are at hand are rows of a table, and their abstracts are packed: as values of Python
    they would take three times the memory.
    """

    def __init__(self, collection: Collection, index: Index, *, keywords: bool) -> None:
        self._collection, self._index = collection, index
        # Keywords only spell what feedback added, and take a third of the time to read.
        words = pl.col("keywords").list.join(", ").fill_null("")
        self._keywords = words if keywords else pl.lit("").alias("keywords")
        self._known: dict[str, Card] = {}
        self._abstracts: Packed | None = None

    def prepare(self) -> None:
        """Read all."""
        if self._abstracts is None:
            self.table, self._rows  # noqa: B018 - read now, not with the first text
            abstracts = self._collection.scan_documents().select("abstract").collect()
            self._abstracts = Packed(abstracts.to_series())

    @cached_property
    def table(self) -> pl.DataFrame:
        """What is told of all documents, in the order of the collection."""
        columns = (*_TOLD, "aliases", self._keywords)
        return self._collection.scan_documents().select(*columns).collect().rechunk()

    @cached_property
    def _rows(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The row of each document of the index; -1 for one that is there no longer."""
        own = self.table.select("doc_id").with_row_index("row")
        ids = pl.DataFrame({"doc_id": self._index.ids.series()})
        found = ids.join(own, on="doc_id", how="left", maintain_order="left")["row"]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()

    def of(self, names: Sequence[str]) -> list[Card]:
        """The cards of documents by id."""
        if self._abstracts is None:
            self._read([name for name in names if name not in self._known])
            self._check(name for name in names if name not in self._known)
            return [self._known[name] for name in names]
        numbers = np.array([self._index.ids.find(name) for name in names], np.int64)
        rows = np.where(numbers >= 0, self._rows[numbers], -1)
        self._check(names[at] for at in np.flatnonzero(rows < 0).tolist())
        return [self._card(row) for row in rows.tolist()]

    def _card(self, row: int) -> Card:
        # Row by row: for a few that is many times as quick as to gather them.
        told = dict(zip(self.table.columns, self.table.row(row), strict=True))
        assert self._abstracts is not None  # who asks by row has prepared
        return _Unpacking(card_of(told), self._abstracts, row)

    def _read(self, names: list[str]) -> None:
        if not names:
            return
        documents = self._collection.scan_documents().filter(pl.col("doc_id").is_in(names))
        rows = documents.select(*_TOLD, "abstract", self._keywords).collect()
        self._known |= {row["doc_id"]: card_of(row) for row in rows.iter_rows(named=True)}

    def _check(self, missing: Iterable[str]) -> None:
        for name in missing:
            raise CitebedError(
                f"document '{name}' is in the index but no longer in the collection. "
                f"Run: citebed index {self._collection.folder}"
            )


class _Unpacking(dict[str, Any]):
    """A card whose abstract is unpacked when somebody asks for it."""

    def __init__(self, card: Card, abstracts: Packed, row: int) -> None:
        super().__init__(card)
        self._abstracts, self._row = abstracts, row

    def __missing__(self, name: str) -> Any:
        if name != "abstract":
            raise KeyError(name)
        return self.setdefault(name, self._abstracts[self._row])


_TOGETHER, _THREADS = 16, 2
"""So many texts are packed as one, by so many threads."""


class Packed(Sequence[str]):
    """Texts that are read now and then, packed, in a temporary file that has no name: they take no
    memory; where there is no room for the file, less than half of theirs."""

    def __init__(self, texts: pl.Series) -> None:
        self._count = len(texts)
        starts = range(0, self._count, _TOGETHER)
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = list(pool.map(lambda at: _packed(texts[at : at + _TOGETHER]), starts))
        self._ends = np.cumsum([0, *map(len, parts)])
        whole = b"".join(parts)
        self._file = _written(whole)
        self._whole = b"" if self._file else whole
        if self._file is not None:
            weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        """One of the texts; empty where there is none."""
        part = json.loads(zlib.decompress(self._part(number // _TOGETHER)))
        return part[number % _TOGETHER] or ""

    def _part(self, number: int) -> bytes:
        start, end = self._ends[number : number + 2].tolist()
        if self._file is None:
            return self._whole[start:end]
        return os.pread(self._file.fileno(), end - start, start)  # whoever else reads meanwhile


def _packed(texts: pl.Series) -> bytes:
    return zlib.compress(json.dumps(texts.to_list(), ensure_ascii=False).encode(), 1)


def _written(data: bytes) -> IO[bytes] | None:
    """A temporary file with the data; ``None`` where none can be written, or read at any place."""
    if not hasattr(os, "pread"):
        return None
    file = None
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the texts
        file.write(data)
        file.flush()
    except OSError:
        if file is not None:
            with suppress(OSError):  # of what it could not write
                file.close()
        return None
    return file
