"""The documents of a collection: their records, and which of them a draft or a user names."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.names import clean_key
from citebed.drafts.document_matching import Bibliography, Work
from citebed.drafts.records import Cited, Draft
from citebed.errors import CitebedError
from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import LruCache, trim_heap

Row = Mapping[str, Any]
"""A document's record: no text or list is missing, but they can be empty."""
Rows = NDArray[np.int64]
_TEXTS = ("title", "venue", "doi", "url", "abstract", "cite_key")
_LISTS = ("authors", "keys")
_COLUMNS = ("doc_id", "title", "venue", "doi", "url", "cite_key", *_LISTS, "year", "arxiv")
_BLOCK = 16
"""Texts to compress together."""
_LIBRARIES, _DRAFTS, _CITATIONS = 4, 16, 1000
"""Sizes of caches: while a user writes, the same draft is looked up again and again."""
_ARXIV_PREFIXES = ("", "arxiv:", "arXiv:", "arxiv.", "arXiv.")
"""How an arXiv id can begin as a document's id or key."""


def fill_row(row: Row) -> dict[str, Any]:
    """Return a row of the table of documents without missing values."""
    texts = {name: row[name] or "" for name in _TEXTS if name in row}
    return {**row, **texts, **{name: tuple(row[name] or ()) for name in _LISTS}}


def make_work(row: Row) -> Work:
    """Return a document as a bibliography describes it."""
    return Work(
        row["title"], row["authors"], row["year"], row["doi"] or None, row["arxiv"],
        row["keys"], clean_key(row["cite_key"]),
    )  # fmt: skip


class DocumentRecords:
    """The records of a collection's documents.

    After ``prepare``, all are in memory: the abstracts compressed, the rest as a table, because
    Python values would take three times the memory. Before that, only used records are.
    """

    def __init__(self, collection: Collection, index: Index, *, keywords: bool) -> None:
        self._collection, self._index = collection, index
        # Only feedback needs keywords, which take a third of the reading time.
        words = pl.col("keywords").list.join(", ").fill_null("")
        self._keywords = words if keywords else pl.lit("").alias("keywords")
        self._known: dict[str, Row] = {}
        self._abstracts: CompressedTexts | pl.Series | None = None

    def prepare(self) -> None:
        if self._abstracts is None:
            self.table, self._rows  # noqa: B018 - read now, not with the first text
            abstracts = self._collection.scan_documents().select("abstract").collect()
            self._abstracts = abstracts.to_series()
            threading.Thread(target=self._compress, args=[self._abstracts], daemon=True).start()

    def _compress(self, abstracts: pl.Series) -> None:
        """Compress the abstracts while the first texts are searched for."""
        self._abstracts = CompressedTexts(abstracts)
        trim_heap()

    @cached_property
    def table(self) -> pl.DataFrame:
        """All records without abstracts, in the order of the collection."""
        columns = (*_COLUMNS, "aliases", self._keywords)
        return self._collection.scan_documents().select(*columns).collect().rechunk()

    @cached_property
    def _rows(self) -> Rows:
        """The row of each document of the index; -1 if the collection has lost it."""
        own = self.table.select("doc_id").with_row_index("row")
        ids = pl.DataFrame({"doc_id": self._index.ids.series()})
        found = ids.join(own, on="doc_id", how="left", maintain_order="left")["row"]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()

    def get(self, ids: Sequence[str]) -> list[Row]:
        """Return the records of documents, without abstracts if all are in memory."""
        if self._abstracts is not None:
            # Row by row: for a few rows that is several times faster than gathering them.
            columns, rows = self.table.columns, self._find(ids).tolist()
            return [fill_row(dict(zip(columns, self.table.row(row), strict=True))) for row in rows]
        if missing := [name for name in ids if name not in self._known]:
            documents = self._collection.scan_documents().filter(pl.col("doc_id").is_in(missing))
            found = documents.select(*_COLUMNS, "abstract", self._keywords).collect()
            self._known |= {row["doc_id"]: fill_row(row) for row in found.iter_rows(named=True)}
            self._check(name for name in missing if name not in self._known)
        return [self._known[name] for name in ids]

    def abstracts(self, ids: Sequence[str]) -> list[str]:
        if self._abstracts is None:
            return [row["abstract"] for row in self.get(ids)]
        return [self._abstracts[row] or "" for row in self._find(ids).tolist()]

    def _find(self, ids: Sequence[str]) -> Rows:
        numbers = np.array([self._index.ids.find(name) for name in ids], np.int64)
        rows = np.where(numbers >= 0, self._rows[numbers], -1)
        self._check(ids[at] for at in np.flatnonzero(rows < 0).tolist())
        return rows

    def _check(self, missing: Iterable[str]) -> None:
        for name in missing:
            raise CitebedError(
                f"document '{name}' is in the index but no longer in the collection. "
                f"Run: citebed index {self._collection.folder}"
            )


class CompressedTexts:
    """Texts that are seldom read, compressed in a temporary file without a name.

    They take no memory; if the file cannot be written, they take less than half of theirs.
    """

    def __init__(self, texts: pl.Series) -> None:
        self._count, texts = len(texts), texts.fill_null("")
        self._starts = np.cumsum([0, *texts.str.len_chars()])

        def compress(start: int) -> bytes:
            return zlib.compress("".join(texts[start : start + _BLOCK]).encode(), 1)

        parts = list(map(compress, range(0, self._count, _BLOCK)))
        self._ends = np.cumsum([0, *map(len, parts)])
        data = b"".join(parts)
        self._file = _write_temporary(data)
        self._data = b"" if self._file else data
        if self._file is not None:
            weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> str:
        start, end = self._ends[number // _BLOCK :][:2].tolist()
        if self._file is None:
            data = self._data[start:end]
        else:  # several threads can read at once
            data = os.pread(self._file.fileno(), end - start, start)
        block = zlib.decompress(data).decode()
        first, start, end = self._starts[[number - number % _BLOCK, number, number + 1]].tolist()
        return block[start - first : end - first]


def _write_temporary(data: bytes) -> IO[bytes] | None:
    """Return a temporary file with the data, or ``None`` if it cannot be written."""
    if not hasattr(os, "pread"):
        return None
    file = None
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the texts
        file.write(data)
        file.flush()
    except OSError:
        if file is not None:
            with suppress(OSError):  # closing writes what is left
                file.close()
        return None
    return file


# --- Documents by name --------------------------------------------------------------------------


class HashIndex:
    """Rows by the hashes of their names, which take little memory.

    ``parts`` are tables of a ``row`` and its ``name``, or a list of its names; with ``folded`` the
    names are taken in lower case.
    """

    def __init__(self, parts: Iterable[pl.DataFrame], *, folded: bool = False) -> None:
        named = pl.concat(
            each.explode("name") if each.schema["name"] == pl.List else each for each in parts
        )
        if folded:
            named = named.with_columns(pl.col("name").str.to_lowercase())
        rows = named.select("row", hash=pl.col("name").hash()).filter(named["name"].is_not_null())
        rows = rows.sort("hash")
        self._hashes: NDArray[Any] = rows["hash"].to_numpy()
        self._rows = rows["row"].to_numpy()

    def find(self, names: Iterable[str | None]) -> Rows:
        """Return the rows of names, and perhaps a few others."""
        hashes = pl.Series(sorted(set(filter(None, names))), dtype=pl.String).hash().to_numpy()
        starts, ends = (np.searchsorted(self._hashes, hashes, side) for side in ("left", "right"))
        spans = [self._rows[start:end] for start, end in zip(starts, ends, strict=True)]
        return np.concatenate([np.zeros(0, np.int64), *spans]).astype(np.int64)


class DocumentLookup:
    """Finds the documents that a draft cites, that a .bib file contains, or that a user names.

    Only documents that share a name with a citation are compared with it: among 100,000 documents
    that takes a hundredth of the time.
    """

    def __init__(self, records: DocumentRecords) -> None:
        self._records = records
        self._indexes: dict[str, HashIndex] = {}
        self._libraries: LruCache[tuple[str, ...], frozenset[str]] = LruCache(_LIBRARIES)
        self._authored: LruCache[str, frozenset[str]] = LruCache(_CITATIONS)
        self._drafts: LruCache[tuple[Cited, str], frozenset[str]] = LruCache(_DRAFTS)

    def cited_in(self, draft: Draft) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """Return the documents that a draft cites or is itself; and for each citation by authors
        and year that fits several documents, these."""
        from citebed.drafts import find_cited_documents, find_own_documents
        from citebed.drafts.references import match_author_year

        cited, title = draft.cited, draft.title
        if not (title or any((cited.keys, cited.dois, cited.arxiv, cited.entries, cited.authored))):
            return frozenset(), {}

        def find() -> frozenset[str]:
            documents = self._likely(cited, title)
            own = find_own_documents(title, None, documents)
            return frozenset(find_cited_documents(cited, documents) | own)

        def find_authored(cite: str) -> frozenset[str]:
            table = self._records.table
            return self._authored.get(
                cite, lambda: match_author_year([cite], table).get(cite, frozenset())
            )

        named = {cite: find_authored(cite) for cite in cited.authored}
        found = self._drafts.get((cited, title), find)
        found = found.union(*(names for names in named.values() if len(names) == 1))
        return found, {cite: names for cite, names in named.items() if len(names) > 1}

    def in_libraries(self, libraries: Sequence[str]) -> frozenset[str]:
        """Return the documents in .bib files, given as their texts."""
        from citebed.drafts import find_cited_documents
        from citebed.drafts.bibliography import bib_entries

        if not libraries:
            raise CitebedError(
                "no .bib file to search: the draft names none, and --bib was not given"
            )

        def find() -> frozenset[str]:
            entries = [entry for text in libraries for entry in bib_entries(text)]
            listed = Cited(
                tuple(each.key for each in entries),
                tuple(each.doi for each in entries if each.doi),
                tuple(each.arxiv for each in entries if each.arxiv),
                entries=tuple(entries),
            )
            documents, mine = self._likely(listed), Bibliography(entries)
            names = sorted(find_cited_documents(listed, documents))
            rows = documents.filter(pl.col("doc_id").is_in(names)).iter_rows(named=True)
            filled = map(fill_row, rows)
            return frozenset(row["doc_id"] for row in filled if mine.find(make_work(row)))

        return self._libraries.get(tuple(libraries), find)

    def find(self, name: str) -> str | None:
        """Return the id of the document with this id, DOI, arXiv id or key."""
        from citebed.drafts import find_cited_documents
        from citebed.text.identifiers import arxiv_of, normalise_doi

        doi, arxiv = normalise_doi(name), arxiv_of(name)
        wanted = Cited((name,), (doi,) if doi else (), (arxiv,) if arxiv else ())
        return min(find_cited_documents(wanted, self._likely(wanted)), default=None)

    def _likely(self, cited: Cited, title: str = "") -> pl.DataFrame:
        """Return the documents that can be cited, and some others."""
        from citebed.drafts.document_matching import candidate_titles, plain_titles
        from citebed.text.identifiers import ARXIV_ADDRESS, doi_of_arxiv, normalise_doi
        from citebed.text.titles import plain_title

        arxiv_ids = [prefix + number for number in cited.arxiv for prefix in _ARXIV_PREFIXES]
        address = pl.col("url").str.extract(ARXIV_ADDRESS).str.to_lowercase()
        stated = pl.col("doi").str.to_lowercase().str.strip_prefix("https://doi.org/")
        titles = [*candidate_titles(list(cited.entries)), *plain_titles([title] if title else [])]
        wanted: tuple[tuple[str, tuple[pl.Expr, ...], Sequence[str | None]], ...] = (
            ("name", tuple(map(pl.col, ("doc_id", "cite_key", "aliases", "keys"))),
             [*cited.keys, *cited.dois, *arxiv_ids]),
            ("doi", (stated,), [*map(normalise_doi, cited.dois), *map(doi_of_arxiv, cited.arxiv)]),
            ("arxiv", (pl.coalesce("arxiv", address),), cited.arxiv),
            ("title", (plain_title(pl.col("title")),), titles),
        )  # fmt: skip
        parts = [np.zeros(0, np.int64)]
        for kind, expressions, names in wanted:
            if not names:
                continue
            if kind not in self._indexes:
                table = self._records.table.with_row_index("row")
                columns = (table.select("row", name=each) for each in expressions)
                self._indexes[kind] = HashIndex(columns)
            parts.append(self._indexes[kind].find(names))
        return self._records.table[np.unique(np.concatenate(parts))]
