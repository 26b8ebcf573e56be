"""The tables of a collection: their columns, and how records become rows.

Every table is flat (no nested records) and names the source file its rows came from, so that
a changed source can be replaced without reading the others again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import polars as pl

from citebed.records import (
    CitingPaper,
    Document,
    Judgement,
    Problem,
    Query,
    Record,
    Reference,
    ReferenceList,
)

Schema = Mapping[str, pl.DataType]

_TEXT, _LIST, _INT = pl.String(), pl.List(pl.String()), pl.Int32()

RECORD: Schema = {
    "doc_id": _TEXT,
    "type": _TEXT,
    "title": _TEXT,
    "authors": _LIST,
    "editors": _LIST,
    "year": _INT,
    "date": _TEXT,
    "venue": _TEXT,
    "volume": _TEXT,
    "number": _TEXT,
    "pages": _TEXT,
    "publisher": _TEXT,
    "doi": _TEXT,
    "url": _TEXT,
    "abstract": _TEXT,
    "keywords": _LIST,
    "language": _TEXT,
    "bibtex": _TEXT,
    "crossref": _TEXT,
    "source": _TEXT,
    "line": _INT,
}
"""A record as it was read; a document is a record that was kept."""

DOCUMENTS: Schema = {
    **RECORD,
    "aliases": _LIST,
    "records": _INT,
}
SET_ASIDE: Schema = {**RECORD, "reason": _TEXT, "kept_as": _TEXT}
LINKS: Schema = {
    "doc_id": _TEXT,
    "record": _TEXT,
    "target": _TEXT,
    "target_id": _TEXT,
    "kind": _TEXT,
    "weight": pl.Float32(),
    "source": _TEXT,
}
SECTIONS: Schema = {
    "doc_id": _TEXT,
    "record": _TEXT,
    "position": _INT,
    "heading": _TEXT,
    "text": _TEXT,
    "source": _TEXT,
}
PAPERS: Schema = {
    "paper_id": _TEXT,
    "doi": _TEXT,
    "title": _TEXT,
    "abstract": _TEXT,
    "year": _INT,
    "date": _TEXT,
    "doc_id": _TEXT,
    "references": _INT,
    "found": _INT,
    "source": _TEXT,
    "line": _INT,
}
REFERENCES: Schema = {
    "paper_id": _TEXT,
    "ref_id": _TEXT,
    "doi": _TEXT,
    "url": _TEXT,
    "title": _TEXT,
    "target": _TEXT,
    "raw": _TEXT,
    "doc_id": _TEXT,
    "source": _TEXT,
}
CONTEXTS: Schema = {
    "paper_id": _TEXT,
    "context_id": _TEXT,
    "section": _TEXT,
    "paragraph": _INT,
    "sentence": _INT,
    "sentence_id": _TEXT,
    "text": _TEXT,
    "cites": _LIST,
    "cited": _LIST,
    "anonymised": pl.Boolean(),
    "source": _TEXT,
}
TOPICS: Schema = {
    "query_id": _TEXT,
    "text": _TEXT,
    "title": _TEXT,
    "source": _TEXT,
    "line": _INT,
}
JUDGEMENTS: Schema = {
    "query_id": _TEXT,
    "doc_id": _TEXT,
    "relevance": _INT,
    "source": _TEXT,
    "line": _INT,
}
PROBLEMS: Schema = {"source": _TEXT, "line": _INT, "kind": _TEXT, "what": _TEXT}
SOURCES: Schema = {
    "source": _TEXT,
    "sha256": _TEXT,
    "bytes": pl.Int64(),
    "format": _TEXT,
    "records": _INT,
}

READ = {
    "records": RECORD,
    "links": LINKS,
    "sections": SECTIONS,
    "papers": PAPERS,
    "references": REFERENCES,
    "lists": REFERENCES,
    "contexts": CONTEXTS,
    "topics": TOPICS,
    "judgements": JUDGEMENTS,
    "problems": PROBLEMS,
}
"""The tables that reading fills."""

IMPORT = "import"
"""The folder of the tables that tell where everything came from."""

TABLES: dict[str, Schema] = {
    "documents": DOCUMENTS,
    "papers": PAPERS,
    "references": REFERENCES,
    "contexts": CONTEXTS,
    "links": LINKS,
    "sections": SECTIONS,
    f"{IMPORT}/set_aside": SET_ASIDE,
    f"{IMPORT}/lists": REFERENCES,
    f"{IMPORT}/topics": TOPICS,
    f"{IMPORT}/judgements": JUDGEMENTS,
    f"{IMPORT}/problems": PROBLEMS,
    f"{IMPORT}/sources": SOURCES,
}
"""The tables of a collection by the names of their files, without ``.parquet``."""

_NEVER_NULL: dict[str, tuple[str, ...]] = {
    "documents": ("doc_id", "records"),
    "papers": ("paper_id",),
    "references": ("paper_id", "ref_id"),
    "contexts": ("paper_id", "text", "cites", "cited"),
    "links": ("doc_id", "target", "kind", "weight"),
    "sections": ("doc_id", "text"),
    f"{IMPORT}/set_aside": ("doc_id",),
    f"{IMPORT}/lists": ("ref_id",),
    f"{IMPORT}/topics": ("query_id", "text"),
    f"{IMPORT}/judgements": tuple(JUDGEMENTS),
    f"{IMPORT}/problems": tuple(PROBLEMS),
    f"{IMPORT}/sources": tuple(SOURCES),
}
"""The columns of which every row needs a value."""


def check_types(found: Mapping[str, pl.DataType], schema: Schema) -> None:
    """Raise a ``ValueError`` where a table lacks a column, or has one of another type."""
    for name, kind in schema.items():
        if name not in found:
            raise ValueError(f"it has no column '{name}'")
        if found[name] != kind:
            raise ValueError(f"its column '{name}' holds {found[name]}, not {kind}")


def check_values(table: pl.DataFrame, name: str) -> None:
    """Raise a ``ValueError`` where some columns of a table lack a value that they must have."""
    for column in _NEVER_NULL.get(name, ()):
        if column in table.columns and table[column].null_count():
            raise ValueError(f"its column '{column}' lacks values")


_SEPARATOR = "\x1f"
Frames = dict[str, pl.DataFrame]


def empty(schema: Schema) -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema=dict(schema))


def frame(schema: Schema, columns: Mapping[str, Sequence[Any]], height: int) -> pl.DataFrame:
    """A table from columns; a column that is not given is empty."""
    series = []
    for name, kind in schema.items():
        values = columns.get(name)
        if values is None:
            series.append(pl.Series(name, [None], dtype=kind).new_from_index(0, height))
        elif kind == _LIST:
            series.append(_list_series(name, values))
        else:
            series.append(pl.Series(name, values, dtype=kind))
    return pl.DataFrame(series)


def _list_series(name: str, values: Sequence[Sequence[str]]) -> pl.Series:
    # Splitting joined text is thirty times as quick as building lists from Python objects.
    joined = pl.Series(name, [_SEPARATOR.join(items) for items in values], dtype=pl.String)
    lists = joined.str.split(_SEPARATOR)
    blank = pl.Series([[]], dtype=_LIST)
    return pl.select(pl.when(joined == "").then(blank).otherwise(lists).alias(name)).to_series()


class Batch(NamedTuple):
    """Records that were read from one source."""

    source: str
    records: list[Record]


def frames_of(batches: Iterable[Batch]) -> Frames:
    """The tables of some batches; a table without rows is left out."""
    by_kind: dict[type, tuple[list[Any], list[str]]] = {}
    for batch in batches:
        for record in batch.records:
            records, sources = by_kind.setdefault(type(record), ([], []))
            records.append(record)
            sources.append(batch.source)
    parts: dict[str, list[pl.DataFrame]] = {}
    for kind, (records, sources) in by_kind.items():
        for name, columns, height in _COLUMNS[kind](records, sources):
            if height:
                parts.setdefault(name, []).append(frame(READ[name], columns, height))
    return {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}


LARGEST = 2**31 - 1
"""What ``_INT`` holds, upwards and downwards."""
_NUMBERS = {
    kind: tuple({"year", "relevance", "line"} & set(kind._fields)) for kind in get_args(Record)
}


def fitting(record: Record) -> Record:
    """The record, or a problem in its place where one of its numbers is too large for a table."""
    for name in _NUMBERS[type(record)]:
        number = getattr(record, name)
        if number is not None and not -LARGEST <= number <= LARGEST:
            what = f"{name} {number:,} is out of range; expected up to {LARGEST:,} either way"
            return Problem(min(record.line, LARGEST), what)
    return record


Columns = tuple[str, dict[str, Sequence[Any]], int]


def _document_columns(documents: list[Document], sources: list[str]) -> Iterable[Columns]:
    columns: dict[str, Sequence[Any]] = dict(
        zip(Document._fields, zip(*documents, strict=True), strict=True)
    )
    sections, links = columns.pop("sections"), columns.pop("links")
    yield "records", {**columns, "source": sources}, len(documents)
    owners = list(zip(columns["doc_id"], sources, strict=True))
    if any(links):
        yield _nested_columns("links", owners, links, ("target", "kind", "weight"))
    if any(sections):
        yield _nested_columns("sections", owners, sections, ("heading", "text"))


def _nested_columns(
    table: str,
    owners: Sequence[tuple[str, str]],
    nested: Sequence[Sequence[Any]],
    names: tuple[str, ...],
) -> Columns:
    rows = [
        (*owner, position, *item)
        for owner, items in zip(owners, nested, strict=True)
        for position, item in enumerate(items)
    ]
    fields = ("record", "source", "position", *names)
    return table, dict(zip(fields, zip(*rows, strict=True), strict=True)), len(rows)


def _paper_columns(papers: list[CitingPaper], sources: list[str]) -> Iterable[Columns]:
    names = ("paper_id", "doi", "title", "abstract", "year", "date", "line")
    values = {name: [getattr(paper, name) for paper in papers] for name in names}
    yield "papers", {**values, "source": sources}, len(papers)
    yield _reference_columns(
        "references",
        [
            (paper.paper_id, source, reference)
            for paper, source in zip(papers, sources, strict=True)
            for reference in paper.references
        ],
    )
    rows = [
        (paper.paper_id, source, context.context_id, context.section, order, number, *sentence)
        for paper, source in zip(papers, sources, strict=True)
        for order, context in enumerate(paper.contexts, start=1)
        for number, sentence in enumerate(context.sentences, start=1)
    ]
    fields = [
        "paper_id",
        "source",
        "context_id",
        "section",
        "paragraph",
        "sentence",
        "text",
        "cites",
        "anonymised",
    ]
    if rows:
        yield "contexts", dict(zip(fields, zip(*rows, strict=True), strict=True)), len(rows)


def _reference_columns(table: str, rows: list[tuple[str | None, str, Reference]]) -> Columns:
    return (
        table,
        {
            "paper_id": [paper_id for paper_id, _, _ in rows],
            "source": [source for _, source, _ in rows],
            "ref_id": [reference.ref_id for *_, reference in rows],
            "doi": [reference.doi for *_, reference in rows],
            "url": [reference.url for *_, reference in rows],
            "title": [reference.title for *_, reference in rows],
            "target": [reference.doc_id for *_, reference in rows],
            "raw": [reference.raw for *_, reference in rows],
        },
        len(rows),
    )


def _reference_list_columns(lists: list[ReferenceList], sources: list[str]) -> Iterable[Columns]:
    yield _reference_columns(
        "lists",
        [
            (None, source, reference)
            for given, source in zip(lists, sources, strict=True)
            for reference in given.references
        ],
    )


def _plain_columns(
    table: str, names: tuple[str, ...]
) -> Callable[[list[Any], list[str]], Iterable[Columns]]:
    def columns(records: list[Any], sources: list[str]) -> Iterable[Columns]:
        values = {name: [getattr(record, name) for record in records] for name in names}
        yield table, {**values, "source": sources}, len(records)

    return columns


_COLUMNS: dict[type, Callable[[list[Any], list[str]], Iterable[Columns]]] = {
    Document: _document_columns,
    CitingPaper: _paper_columns,
    ReferenceList: _reference_list_columns,
    Query: _plain_columns("topics", ("query_id", "text", "title", "line")),
    Judgement: _plain_columns("judgements", ("query_id", "doc_id", "relevance", "line")),
    Problem: _plain_columns("problems", ("line", "kind", "what")),
}
