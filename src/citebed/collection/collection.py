"""An open collection: lazy access to the tables, queries and records of a folder."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from citebed.collection import tables
from citebed.collection.names import normalise_name
from citebed.collection.rules import Rules
from citebed.collection.storing import store, table_files
from citebed.collection.tables import QRELS, QUERIES, Schema
from citebed.errors import CollectionError, UnknownName
from citebed.files.input_files import read_small
from citebed.records import (
    CitingPaper,
    Context,
    Document,
    Judgement,
    Link,
    Query,
    Reference,
    Section,
    Sentence,
)
from citebed.runs import trec_files
from citebed.runs.tables import Qrels
from citebed.runs.trec_files import read_own
from citebed.text.identifiers import arxiv_of
from citebed.wording import printable

_TRIES = 20
SET_BYTES = 8 << 30


class _Table(cached_property[pl.DataFrame]):
    """A table that is read at first use."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(lambda collection: collection.table(name, tables.TABLES[name]))
        self.__doc__ = doc


class Collection:
    """An open collection folder, which reads its files at first use and never changes them.

    Tables are polars frames (``documents``, ``papers`` …); methods such as ``document`` return
    records.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        for _ in range(_TRIES):
            if self.folder.is_dir():
                store.recover(self.folder)
            self._state = store.read_state(self.folder)
            self._manifest = store.read_manifest(self.folder)
            if self._is_as_opened():
                return
        raise CollectionError(f"'{printable(self.folder)}' is being changed; try again.")

    def __repr__(self) -> str:
        return f"<Collection {self.name!r} at {self.folder}>"

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._manifest.name

    @property
    def rules(self) -> Rules:
        """The rules of the collection."""
        return self._manifest.rules

    @property
    def sources(self) -> tuple[dict[str, Any], ...]:
        """The imported paths with their numbers of files and content hashes."""
        return self._manifest.sources

    def _is_as_opened(self) -> bool:
        return self._state is not None and store.read_state(self.folder) == self._state

    def check_unchanged(self) -> None:
        """Raise if the collection was changed since it was opened.

        Call this after reading files, to make sure that they belong to the opened state.
        """
        if not self._is_as_opened():
            raise CollectionError(
                f"'{printable(self.folder)}' was changed by another citebed since it was opened. "
                "Open it again."
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Check after reading that the collection is unchanged; a change may look like damage."""
        try:
            yield
        finally:
            self.check_unchanged()

    # --- tables ---

    def table(self, name: str, schema: Schema) -> pl.DataFrame:
        """Return columns of a table, given its file name; a missing table is empty."""
        with self._reading():
            return table_files.read_table(self.folder, name, schema)

    @property
    def shards(self) -> tuple[Path, ...]:
        """The folders of a large collection's shards, each a collection of some of its documents;
        empty if there is one table of documents."""
        return tuple(self.folder / store.SHARDS / name for name in self._manifest.shards)

    def table_paths(self, name: str) -> list[Path]:
        """Return the Parquet files of a table, in the order of its rows."""
        return table_files.table_paths(self.folder, name)

    def scan_documents(self) -> pl.LazyFrame:
        """Return the documents as a lazy frame, which reads only what is used."""
        with self._reading():
            schemas = [table_files.read_schema(path) for path in self._document_paths()]
        # A collection of an earlier version has fewer columns; the others are added when used.
        complete = all(schema.keys() >= tables.DOCUMENTS.keys() for schema in schemas)
        schema = schemas[0] if complete else dict(tables.DOCUMENTS)
        return register_io_source(self._read_documents, schema=schema)

    def _document_paths(self) -> list[Path]:
        return table_files.required_paths(self.folder, "documents")

    def _read_documents(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        left = rows
        for path in self._document_paths():
            with self._reading(), table_files.open_table(path) as stored:
                frame = stored
                if lacking := tables.missing_columns(frame.collect_schema(), tables.DOCUMENTS):
                    frame = frame.with_columns(lacking).select(list(tables.DOCUMENTS))
                frame = frame if predicate is None else frame.filter(predicate)
                frame = frame if columns is None else frame.select(columns)
                read = (frame if left is None else frame.head(left)).collect()
                tables.check_values(read, "documents")
            yield read
            left = None if left is None else left - read.height

    @property
    def document_count(self) -> int:
        """The number of documents, without reading them."""
        with self._reading():
            return sum(map(table_files.count_rows, self._document_paths()))

    def document_pieces(self, columns: Sequence[str], size: int = 0) -> Iterator[pl.DataFrame]:
        """Yield columns of the documents in pieces (of ``size`` rows, if given), to limit memory.
        The first piece is empty."""
        schema = {name: tables.DOCUMENTS[name] for name in columns}
        with self._reading():
            for path in self._document_paths():
                table_files.read_schema(path)
        pieces = table_files.read_slices(self.folder, "documents", schema, size)
        piece: pl.DataFrame | None = tables.empty_table(schema)
        while piece is not None:
            yield piece
            with self._reading():
                piece = next(pieces, None)

    def some_documents(self, rows: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of hundreds of documents, given their rows in ascending order."""
        wanted, start, found = pl.Series(rows, dtype=pl.Int64), 0, list[pl.DataFrame]()
        for piece in self.document_pieces(columns, table_files.ROW_GROUP):
            here = wanted.filter(wanted.is_between(start, start + piece.height - 1))
            found.append(tables.copy_rows(piece[here - start]))
            start += piece.height
        return pl.concat(found, rechunk=True)

    def documents_at(self, rows: Iterable[int], columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of the documents in some rows, in this order, without decompressing
        others."""
        wanted, paths = list(rows), self.table_paths("documents")
        sizes = [table_files.count_rows(path) for path in paths] if len(paths) > 1 else []
        starts = [0, *itertools.accumulate(sizes)][: len(paths)]
        owner = [bisect_right(starts, row) - 1 for row in wanted]
        found = dict[int, pl.DataFrame]()
        with self._reading():
            for at in set(owner):
                mine = [row for row, file in zip(wanted, owner, strict=True) if file == at]
                read = table_files.read_rows(paths[at], (row - starts[at] for row in mine), columns)
                found |= dict(zip(mine, read, strict=True))
        schema = {name: tables.DOCUMENTS[name] for name in columns}
        parts = [found[row] for row in wanted]
        return (
            tables.add_missing_columns(pl.concat(parts), schema)
            if parts
            else tables.empty_table(schema)
        )

    documents = _Table("documents", "The documents, with the columns of the data model.")
    papers = _Table("papers", "The citing papers.")
    references = _Table(
        "references", "The reference lists of the citing papers, with the documents of the entries."
    )
    contexts = _Table("contexts", "The citing paragraphs, with a row per sentence.")
    links = _Table("links", "Links between documents: citations, couplings, co-citations.")
    sections = _Table("sections", "The documents' full texts, by section.")
    set_aside = _Table("import/set_aside", "The records that are excluded or merged, and why.")
    problems = _Table(
        "import/problems", "The data that citebed skipped or repaired, with file and line."
    )
    files = _Table(
        "import/sources", "All source files with hash, size, format and number of records."
    )

    # --- queries and judgements ---

    @property
    def query_sets(self) -> tuple[str, ...]:
        """The names of the query sets."""
        return self._manifest.query_sets

    def queries(self, name: str) -> pl.DataFrame:
        """Return the queries of a set, with their papers and the documents to exclude."""
        path, data = self._set_file(name, "queries", "jsonl")
        if not data:
            return pl.DataFrame(schema=QUERIES)
        with table_files.translate_damage(path):
            table = pl.read_ndjson(b"\n" + data, schema=QUERIES)
            for column in ("query_id", "text"):
                if table[column].null_count():
                    raise ValueError(f"a line has no {column}")
            return table

    def qrels(self, name: str) -> Qrels:
        """Return the judgements of a set: ``query_id``, ``doc_id``, ``relevance``."""
        path, data = self._set_file(name, "qrels", "qrels")
        table = pl.DataFrame(schema=QRELS)
        if data:
            with table_files.translate_damage(path):
                table = read_own(data, trec_files.QRELS).cast(dict(QRELS))  # type: ignore[arg-type]
        return Qrels(table, name, path)

    def _set_file(self, name: str, folder: str, ending: str) -> tuple[Path, bytes]:
        if name not in self.query_sets:
            raise UnknownName("query set", name, self.query_sets)
        path = self.folder / folder / f"{name}.{ending}"
        data = read_small(path, SET_BYTES) if path.exists() else b""
        self.check_unchanged()
        return path, data

    # --- records ---

    def iter_documents(self, *, full_text: bool = False) -> Iterator[Document]:
        """Yield the documents as records; with ``full_text``, also sections and links."""
        sections = self.sections.rows_by_key("doc_id", named=True) if full_text else {}
        links = self.links.rows_by_key("doc_id", named=True) if full_text else {}
        for part in self.documents.iter_slices(10_000):
            for row in part.iter_rows(named=True):
                yield _document(row, sections, links)

    def document(self, doc_id: str) -> Document:
        """Return a document by its id or another name (DOI, arXiv id, key, id elsewhere)."""
        lower = doc_id.lower()
        for test in (
            pl.col("doc_id") == doc_id,
            pl.col("doc_id").str.to_lowercase() == lower,
            pl.col("doi") == lower,
            pl.col("aliases").list.contains(doc_id),
            pl.col("arxiv") == (arxiv_of(normalise_name(doc_id)) or ""),
        ):
            for row in self.documents.filter(test).head(1).iter_rows(named=True):
                parts = (t.filter(doc_id=row["doc_id"]) for t in (self.sections, self.links))
                return _document(row, *(part.rows_by_key("doc_id", named=True) for part in parts))
        raise CollectionError(f"no document '{doc_id}' in {self.folder}")

    def iter_papers(self) -> Iterator[CitingPaper]:
        """Yield the citing papers as records, with contexts and references."""
        references = self.references.rows_by_key("paper_id", named=True)
        contexts = self.contexts.rows_by_key("paper_id", named=True)
        for paper in self.papers.iter_rows(named=True):
            name = paper["paper_id"]
            grouped: _Groups = {}
            for each in contexts.get(name, ()):
                grouped.setdefault(each["context_id"], []).append(each)
            yield CitingPaper(
                **{
                    field: paper[field]
                    for field in CitingPaper._fields
                    if field in paper and field != "references"
                },
                references=tuple(
                    Reference(
                        ref_id=row["ref_id"],
                        doi=row["doi"],
                        url=row["url"],
                        doc_id=row["target"],
                        title=row["title"],
                        raw=row["raw"],
                    )
                    for row in references.get(name, ())
                ),
                contexts=tuple(
                    Context(
                        context_id,
                        group[0]["section"],
                        tuple(
                            Sentence(r["text"], tuple(r["cites"]), r["anonymised"]) for r in group
                        ),
                    )
                    for context_id, group in grouped.items()
                ),
            )

    def iter_queries(self, name: str) -> Iterator[Query]:
        """Yield the queries of a set as records."""
        for row in self.queries(name).iter_rows(named=True):
            yield Query(row["query_id"], row["text"], row["title"])

    def iter_judgements(self, name: str) -> Iterator[Judgement]:
        """Yield the judgements of a set as records."""
        for query_id, doc_id, relevance in self.qrels(name).table.iter_rows():
            yield Judgement(query_id, doc_id, relevance)


_Groups = dict[str, list[dict[str, Any]]]


def _document(row: dict[str, Any], sections: _Groups, links: _Groups) -> Document:
    name = row["doc_id"]
    return tables.row_to_document(row)._replace(
        sections=tuple(Section(s["heading"], s["text"]) for s in sections.get(name, ())),
        links=tuple(Link(k["target"], k["kind"], k["weight"]) for k in links.get(name, ())),
    )


def open_collection(folder: str | Path | Collection) -> Collection:
    """Open the collection at ``folder``; raise ``CollectionError`` if it does not exist.

    An open collection is returned as it is, so that callers accept paths and collections.
    """
    return folder if isinstance(folder, Collection) else Collection(folder)
