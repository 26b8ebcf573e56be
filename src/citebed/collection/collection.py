"""An open collection: typed, lazy access to everything in the folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import store, tables
from citebed.collection.citing import QRELS, QUERIES
from citebed.collection.rules import Rules
from citebed.collection.tables import Schema
from citebed.errors import CollectionError, UnknownName
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

_LISTS = frozenset(("authors", "editors", "keywords"))


class Collection:
    """A collection folder that was opened; nothing is read before it is asked for.

    Tables are polars frames (``documents``, ``papers`` …); records come one at a time
    (``iter_documents``, ``document`` …). The folder is never changed through this class.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.is_dir():
            store.recover(self.folder)
        self._manifest = store.read_manifest(self.folder)

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

    # --- tables ---

    def _table(self, name: str, schema: Schema) -> pl.DataFrame:
        return store.read_table(self.folder, name, schema)

    def scan_documents(self) -> pl.LazyFrame:
        """The documents as a lazy frame: columns and rows are read as they are used."""
        path = self.folder / "documents.parquet"
        if not path.exists():
            raise CollectionError(f"{path} is missing. Import the sources again.")
        return pl.scan_parquet(path)

    @cached_property
    def documents(self) -> pl.DataFrame:
        """The documents, one a row; columns as in the data model."""
        return self._table("documents", tables.DOCUMENTS)

    @cached_property
    def papers(self) -> pl.DataFrame:
        """The citing papers."""
        return self._table("papers", tables.PAPERS)

    @cached_property
    def references(self) -> pl.DataFrame:
        """The citing papers' reference lists, each entry with the document it was found as."""
        return self._table("references", tables.REFERENCES)

    @cached_property
    def contexts(self) -> pl.DataFrame:
        """The citing paragraphs, one sentence a row."""
        return self._table("contexts", tables.CONTEXTS)

    @cached_property
    def links(self) -> pl.DataFrame:
        """Ties between documents: citations, couplings, co-citations."""
        return self._table("links", tables.LINKS)

    @cached_property
    def sections(self) -> pl.DataFrame:
        """The documents' full texts, by section."""
        return self._table("sections", tables.SECTIONS)

    @cached_property
    def set_aside(self) -> pl.DataFrame:
        """The records that are no documents of their own, and why."""
        return self._table("import/set_aside", tables.SET_ASIDE)

    @cached_property
    def problems(self) -> pl.DataFrame:
        """What was skipped or mended while reading, with file and line."""
        return self._table("import/problems", tables.PROBLEMS)

    @cached_property
    def files(self) -> pl.DataFrame:
        """Every source file with its hash, size, format and number of records."""
        return self._table("import/sources", tables.SOURCES)

    # --- queries and judgements ---

    @property
    def query_sets(self) -> tuple[str, ...]:
        """The names of the query sets."""
        return self._manifest.query_sets

    def queries(self, name: str) -> pl.DataFrame:
        """The queries of a set: ``query_id``, ``text``, whose paper, what to leave out."""
        path = self._set_file(name, "queries", "jsonl")
        if path is None:
            return pl.DataFrame(schema=QUERIES)
        return pl.read_ndjson(path, schema=QUERIES)

    def qrels(self, name: str) -> pl.DataFrame:
        """The judgements of a set: ``query_id``, ``doc_id``, ``relevance``."""
        path = self._set_file(name, "qrels", "qrels")
        if path is None:
            return pl.DataFrame(schema=QRELS)
        columns = {"query_id": pl.String(), "iteration": pl.String(), **QRELS}
        order = ["query_id", "iteration", "doc_id", "relevance"]
        table = pl.read_csv(
            path,
            has_header=False,
            separator=" ",
            quote_char=None,
            new_columns=order,
            schema_overrides={name: columns[name] for name in order},
        )
        return table.select(list(QRELS))

    def _set_file(self, name: str, folder: str, ending: str) -> Path | None:
        if name not in self.query_sets:
            raise UnknownName("query set", name, self.query_sets)
        path = self.folder / folder / f"{name}.{ending}"
        return path if path.exists() and path.stat().st_size else None

    # --- records ---

    def iter_documents(self, *, full_text: bool = False) -> Iterator[Document]:
        """The documents as records; with ``full_text``, their sections and links too."""
        sections = _grouped(self.sections, "doc_id") if full_text else {}
        links = _grouped(self.links, "doc_id") if full_text else {}
        for part in self.documents.iter_slices(10_000):
            for row in part.iter_rows(named=True):
                yield _document(row, sections, links)

    def document(self, doc_id: str) -> Document:
        """A document by its id, or by any other name it goes by (DOI, id elsewhere)."""
        lower = doc_id.lower()
        documents = self.documents
        for test in (
            pl.col("doc_id") == doc_id,
            pl.col("doc_id").str.to_lowercase() == lower,
            pl.col("doi") == lower,
            pl.col("aliases").list.contains(doc_id),
        ):
            found = documents.filter(test)
            if found.height:
                row = found.row(0, named=True)
                one = {row["doc_id"]}
                return _document(
                    row,
                    _grouped(self.sections.filter(pl.col("doc_id").is_in(one)), "doc_id"),
                    _grouped(self.links.filter(pl.col("doc_id").is_in(one)), "doc_id"),
                )
        raise CollectionError(f"no document '{doc_id}' in {self.folder}")

    def iter_papers(self) -> Iterator[CitingPaper]:
        """The citing papers as records, with their contexts and references."""
        references = _grouped(self.references, "paper_id")
        contexts = _grouped(self.contexts, "paper_id")
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
        for query_id, doc_id, relevance in self.qrels(name).iter_rows():
            yield Judgement(query_id, doc_id, relevance)


def _grouped(table: pl.DataFrame, key: str) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        groups.setdefault(row[key], []).append(row)
    return groups


def _document(
    row: dict[str, Any],
    sections: dict[str, list[dict[str, Any]]],
    links: dict[str, list[dict[str, Any]]],
) -> Document:
    values = {name: row[name] for name in Document._fields if name in row}
    values.update({name: tuple(row[name] or ()) for name in _LISTS})
    name = row["doc_id"]
    return Document(
        **values,
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
    grouped: dict[str, list[dict[str, Any]]] = {}
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


def open_collection(folder: str | Path) -> Collection:
    """Open the collection at ``folder``; raises ``CollectionError`` if there is none."""
    return Collection(folder)
