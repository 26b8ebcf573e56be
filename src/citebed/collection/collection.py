"""An open collection: typed, lazy access to everything in the folder."""

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
from citebed.collection.names import name_of
from citebed.collection.rules import Rules
from citebed.collection.storing import store, table_files
from citebed.collection.tables import QRELS, QUERIES, Schema
from citebed.errors import CollectionError, UnknownName
from citebed.files.input_files import read_small, reusable_path
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
    """A table of a collection, read when it is first asked for."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(lambda collection: collection.table(name, tables.TABLES[name]))
        self.__doc__ = doc


class Collection:
    """A collection folder that was opened; nothing is read before it is asked for.

    Tables are polars frames (``documents``, ``papers`` …); records come one at a time
    (``iter_documents``, ``document`` …). The folder is never changed through this class.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        for _ in range(_TRIES):
            if self.folder.is_dir():
                store.recover(self.folder)
            self._state = store.state_of(self.folder)
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
        """What the collection keeps."""
        return self._manifest.rules

    @property
    def sources(self) -> tuple[dict[str, Any], ...]:
        """The paths that were imported, each with its number of files and a content hash."""
        return self._manifest.sources

    def _is_as_opened(self) -> bool:
        return self._state is not None and store.state_of(self.folder) == self._state

    def check_unchanged(self) -> None:
        """Raise if the collection was changed since it was opened.

        Whoever reads its files asks after reading: what was read is then of the state that was
        opened.
        """
        if not self._is_as_opened():
            raise CollectionError(
                f"'{printable(self.folder)}' was changed by another citebed since it was opened. "
                "Open it again."
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Around reading a file: what was changed meanwhile may look like damage, and is told."""
        try:
            yield
        finally:
            self.check_unchanged()

    # --- tables ---

    def table(self, name: str, schema: Schema) -> pl.DataFrame:
        """Columns of a table by its file's name; one that is not there is empty."""
        with self._reading():
            return table_files.read_table(self.folder, name, schema)

    @property
    def shards(self) -> tuple[Path, ...]:
        """The folders of a large collection's shards, each a collection of some of its documents;
        none where one table has them all."""
        return tuple(self.folder / store.SHARDS / name for name in self._manifest.shards)

    def files_of(self, name: str) -> list[Path]:
        """The Parquet files that have the rows of a table, in their order."""
        return table_files.table_paths(self.folder, name)

    def scan_documents(self) -> pl.LazyFrame:
        """The documents as a lazy frame: columns and rows are read as they are used."""
        with self._reading():
            table_files.check_there(self._first_of_documents())
            schemas = [table_files.read_schema(path) for path in self.files_of("documents")]
        # A collection of an earlier version has fewer columns: the rest is added as it is used.
        whole = all(schema.keys() >= tables.DOCUMENTS.keys() for schema in schemas)
        stated = schemas[0] if whole else dict(tables.DOCUMENTS)
        return register_io_source(self._read_documents, schema=stated)

    def _first_of_documents(self) -> Path:
        return next(iter(self.files_of("documents")), self.folder / "documents.parquet")

    def _read_documents(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        """What polars asks for of the documents; after reading, whether they are still those."""
        left = rows
        for path in self.files_of("documents"):
            with self._reading(), table_files.translate_damage(path), reusable_path(path) as file:
                frame = pl.scan_parquet(file, glob=False)
                if lacking := tables.added(frame.collect_schema(), tables.DOCUMENTS):
                    frame = frame.with_columns(lacking).select(list(tables.DOCUMENTS))
                frame = frame if predicate is None else frame.filter(predicate)
                frame = frame if columns is None else frame.select(columns)
                read = (frame if left is None else frame.head(left)).collect()
                tables.check_values(read, "documents")
            yield read
            left = None if left is None else left - read.height

    @property
    def document_count(self) -> int:
        """How many documents there are; none is read."""
        with self._reading():
            table_files.check_there(self._first_of_documents())
            return sum(map(table_files.rows_of, self.files_of("documents")))

    def document_pieces(self, columns: Sequence[str], size: int = 0) -> Iterator[pl.DataFrame]:
        """Columns of the documents piece by piece (of a ``size``, if it matters), in their order,
        first none: the texts of millions are more than memory should hold."""
        schema = {name: tables.DOCUMENTS[name] for name in columns}
        with self._reading():
            table_files.check_there(self._first_of_documents())
            for path in self.files_of("documents"):
                table_files.read_schema(path)
        pieces = table_files.read_slices(self.folder, "documents", schema, size)
        piece: pl.DataFrame | None = tables.empty(schema)
        while piece is not None:
            yield piece
            with self._reading():
                piece = next(pieces, None)

    def some_documents(self, rows: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        """Columns of the documents at hundreds of rows of their table, which rise."""
        wanted, start, found = pl.Series(rows, dtype=pl.Int64), 0, list[pl.DataFrame]()
        for piece in self.document_pieces(columns, table_files.ROW_GROUP):
            here = wanted.filter(wanted.is_between(start, start + piece.height - 1))
            found.append(tables.on_their_own(piece[here - start]))
            start += piece.height
        return pl.concat(found, rechunk=True)

    def documents_at(self, rows: Iterable[int], columns: Sequence[str]) -> pl.DataFrame:
        """Columns of the documents at some rows of their table, in this order: no others are
        unpacked."""
        wanted, paths = list(rows), self.files_of("documents")
        sizes = [table_files.rows_of(path) for path in paths] if len(paths) > 1 else []
        starts = [0, *itertools.accumulate(sizes)][: len(paths)]
        owner = [bisect_right(starts, row) - 1 for row in wanted]
        found = dict[int, pl.DataFrame]()
        with self._reading():
            for at in set(owner):
                mine = [row for row, of in zip(wanted, owner, strict=True) if of == at]
                read = table_files.read_rows(paths[at], (row - starts[at] for row in mine), columns)
                found |= dict(zip(mine, read, strict=True))
        schema = {name: tables.DOCUMENTS[name] for name in columns}
        parts = [found[row] for row in wanted]
        return tables.with_added(pl.concat(parts), schema) if parts else tables.empty(schema)

    documents = _Table("documents", "The documents, one a row; columns as in the data model.")
    papers = _Table("papers", "The citing papers.")
    references = _Table(
        "references",
        "The citing papers' reference lists, each entry with the document it was found as.",
    )
    contexts = _Table("contexts", "The citing paragraphs, one sentence a row.")
    links = _Table("links", "Ties between documents: citations, couplings, co-citations.")
    sections = _Table("sections", "The documents' full texts, by section.")
    set_aside = _Table(
        "import/set_aside", "The records that are no documents of their own, and why."
    )
    problems = _Table(
        "import/problems", "What was skipped or mended while reading, with file and line."
    )
    files = _Table(
        "import/sources", "Every source file with its hash, size, format and number of records."
    )

    # --- queries and judgements ---

    @property
    def query_sets(self) -> tuple[str, ...]:
        """The names of the query sets."""
        return self._manifest.query_sets

    def queries(self, name: str) -> pl.DataFrame:
        """The queries of a set: ``query_id``, ``text``, whose paper, what to leave out."""
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
        """The judgements of a set, whose table has ``query_id``, ``doc_id``, ``relevance``."""
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
        """The documents as records; with ``full_text``, their sections and links too."""
        sections = self.sections.rows_by_key("doc_id", named=True) if full_text else {}
        links = self.links.rows_by_key("doc_id", named=True) if full_text else {}
        for part in self.documents.iter_slices(10_000):
            for row in part.iter_rows(named=True):
                yield _document(row, sections, links)

    def document(self, doc_id: str) -> Document:
        """A document by its id, or any other name it goes by (DOI, arXiv id, key, id elsewhere)."""
        lower = doc_id.lower()
        for test in (
            pl.col("doc_id") == doc_id,
            pl.col("doc_id").str.to_lowercase() == lower,
            pl.col("doi") == lower,
            pl.col("aliases").list.contains(doc_id),
            pl.col("arxiv") == (arxiv_of(name_of(doc_id)) or ""),
        ):
            for row in self.documents.filter(test).head(1).iter_rows(named=True):
                parts = (t.filter(doc_id=row["doc_id"]) for t in (self.sections, self.links))
                return _document(row, *(part.rows_by_key("doc_id", named=True) for part in parts))
        raise CollectionError(f"no document '{doc_id}' in {self.folder}")

    def iter_papers(self) -> Iterator[CitingPaper]:
        """The citing papers as records, with their contexts and references."""
        references = self.references.rows_by_key("paper_id", named=True)
        contexts = self.contexts.rows_by_key("paper_id", named=True)
        for row in self.papers.iter_rows(named=True):
            name = row["paper_id"]
            yield CitingPaper(
                **{
                    field: row[field]
                    for field in CitingPaper._fields
                    if field in row and field != "references"
                },
                references=tuple(_reference(ref) for ref in references.get(name, ())),
                contexts=_contexts(contexts.get(name, [])),
            )

    def iter_queries(self, name: str) -> Iterator[Query]:
        """The queries of a set as records."""
        for row in self.queries(name).iter_rows(named=True):
            yield Query(row["query_id"], row["text"], row["title"])

    def iter_judgements(self, name: str) -> Iterator[Judgement]:
        """The judgements of a set as records."""
        for query_id, doc_id, relevance in self.qrels(name).table.iter_rows():
            yield Judgement(query_id, doc_id, relevance)


_Groups = dict[str, list[dict[str, Any]]]


def _document(row: dict[str, Any], sections: _Groups, links: _Groups) -> Document:
    name = row["doc_id"]
    return tables.document_of_row(row)._replace(
        sections=tuple(Section(s["heading"], s["text"]) for s in sections.get(name, ())),
        links=tuple(Link(k["target"], k["kind"], k["weight"]) for k in links.get(name, ())),
    )


def _reference(row: dict[str, Any]) -> Reference:
    return Reference(
        ref_id=row["ref_id"],
        doi=row["doi"],
        url=row["url"],
        doc_id=row["target"],
        title=row["title"],
        raw=row["raw"],
    )


def _contexts(rows: list[dict[str, Any]]) -> tuple[Context, ...]:
    grouped: _Groups = {}
    for row in rows:
        grouped.setdefault(row["context_id"], []).append(row)
    return tuple(
        Context(
            name,
            group[0]["section"],
            tuple(Sentence(r["text"], tuple(r["cites"]), r["anonymised"]) for r in group),
        )
        for name, group in grouped.items()
    )


def open_collection(folder: str | Path | Collection) -> Collection:
    """Open the collection at ``folder``; raises ``CollectionError`` if there is none.

    One that is open already is given back, so that names, paths and collections do alike.
    """
    return folder if isinstance(folder, Collection) else Collection(folder)
