"""The tables of a collection: their columns, and the conversion of records to rows.

Tables are flat. Each row names its source file, so that an import can replace a changed source
without reading the others again.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import polars as pl

from citebed.collection.names import KEY_COLUMNS, entry_key, make_cite_keys
from citebed.records import (
    CitingPaper,
    Document,
    Judgement,
    Link,
    Problem,
    Query,
    Record,
    Reference,
    ReferenceList,
    Section,
    Sentence,
)

Schema = Mapping[str, pl.DataType]

_TEXT, _LIST, _INT = pl.String(), pl.List(pl.String()), pl.Int32()
_KINDS: dict[Any, pl.DataType] = {
    **dict.fromkeys((str, str | None), _TEXT),
    **dict.fromkeys((int, int | None), _INT),
    tuple[str, ...]: _LIST,
}
_PLACE: Schema = {"source": _TEXT, "line": _INT}


def _texts(*names: str) -> Schema:
    return dict.fromkeys(names, _TEXT)


def _fields(record: type[NamedTuple], *left_out: str) -> Schema:
    """Return columns for the fields of a record, except for fields with tables of their own."""
    kinds = get_type_hints(record).items()
    return {name: _KINDS[kind] for name, kind in kinds if name not in (*left_out, "line")}


RECORD: Schema = {**_fields(Document, "sections", "links"), **_PLACE}
"""A record from a source; the records that are kept become documents."""

DOCUMENTS: Schema = {
    **RECORD,
    "cite_key": _TEXT,
    "aliases": _LIST,
    "records": _INT,
    "read_as": _TEXT,
    "doubtful": _LIST,
}
SET_ASIDE: Schema = {**RECORD, **_texts("reason", "kept_as")}
LINKS: Schema = {
    **_texts("doc_id", "record", "target", "target_id", "kind"),
    "weight": pl.Float32(),
    "source": _TEXT,
}
SECTIONS: Schema = {
    **_texts("doc_id", "record"),
    "position": _INT,
    **_texts("heading", "text", "source"),
}
PAPERS: Schema = {
    **_fields(CitingPaper, "contexts", "references"),
    "doc_id": _TEXT,
    "references": _INT,
    "found": _INT,
    **_PLACE,
}
REFERENCES: Schema = _texts(
    *("paper_id", "ref_id", "doi", "arxiv", "url", "title", "author", "target", "raw"),
    *("doc_id", "resolved_by", "source"),
)
CONTEXTS: Schema = {
    **_texts("paper_id", "context_id", "section"),
    "paragraph": _INT,
    "sentence": _INT,
    **_texts("sentence_id", "text"),
    "cites": _LIST,
    "cited": _LIST,
    "anonymised": pl.Boolean(),
    "source": _TEXT,
}
TOPICS: Schema = {**_fields(Query), **_PLACE}
JUDGEMENTS: Schema = {**_fields(Judgement), **_PLACE}
QUERIES: dict[str, pl.DataType] = {
    **_texts("query_id", "text", "title", "paper_id", "section"),
    "exclude": _LIST,
    "before": _TEXT,
}
QRELS: dict[str, pl.DataType] = {**_fields(Judgement)}
PROBLEMS: Schema = {**_PLACE, **_texts("kind", "what")}
KEYS: Schema = {
    **_texts("source", "reason"),
    **dict.fromkeys(("owner", "size"), pl.UInt32()),
    "doubtful": pl.Boolean(),
    "latex": _INT,
    **dict.fromkeys(("doi", "work", "number", "id", "dated", "key", "parent"), pl.UInt64()),
}
SOURCES: Schema = {
    **_texts("source", "sha256"),
    "bytes": pl.Int64(),
    "format": _TEXT,
    "records": _INT,
}

DERIVED = frozenset(("cite_key", "doubtful"))
"""Columns that every import derives from the others; citation keys stay the same."""
_ADDED = DERIVED | {
    "arxiv", "author", "keys", "read_as", "resolved_by", "place", "edition", "isbn",
    "groups",
}  # fmt: skip
"""Columns that collections of earlier versions may lack."""

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
"""The tables that reading sources fills."""

IMPORT = "import"
"""The folder of the tables with the origin of the records."""

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
    f"{IMPORT}/keys": KEYS,
}
"""The tables of a collection by file name without ``.parquet``."""

_NEVER_NULL: dict[str, tuple[str, ...]] = {
    "documents": ("doc_id", "title", "records"),
    "papers": ("paper_id", "references", "found"),
    "references": ("paper_id", "ref_id"),
    "contexts": ("paper_id", "text", "cites", "cited"),
    "links": ("record", "target", "kind", "weight"),
    "sections": ("record", "text"),
    f"{IMPORT}/set_aside": ("doc_id",),
    f"{IMPORT}/lists": ("ref_id",),
    f"{IMPORT}/topics": ("query_id", "text"),
    f"{IMPORT}/judgements": tuple(JUDGEMENTS),
    f"{IMPORT}/problems": tuple(PROBLEMS),
    f"{IMPORT}/sources": tuple(SOURCES),
}
"""Columns that need a value in every row. Links and sections of excluded documents have no
``doc_id``."""


def check_types(columns: Mapping[str, pl.DataType], schema: Schema) -> None:
    """Raise a ``ValueError`` if a table lacks a column or has one of another type."""
    for name, kind in schema.items():
        if name not in columns and name not in _ADDED:
            raise ValueError(f"it has no column '{name}'")
        if columns.get(name, kind) != kind:
            raise ValueError(f"its column '{name}' holds {columns[name]}, not {kind}")


def check_values(table: pl.DataFrame, name: str) -> None:
    """Raise a ``ValueError`` if a column that needs a value in every row lacks values."""
    for column in _NEVER_NULL.get(name, ()):
        if column in table.columns and table[column].null_count():
            raise ValueError(f"its column '{column}' lacks values")


def add_missing_columns(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return the table with the columns of a later version, in the order of the schema."""
    lacking = missing_columns(table.columns, schema)
    return table.with_columns(lacking).select(list(schema)) if lacking else table


def missing_columns(columns: Iterable[str], schema: Schema) -> list[pl.Expr]:
    """Return expressions for the columns that a table of an earlier version lacks.

    ``keys`` come from the BibTeX entries, because keys of other formats were not stored. Citation
    keys are the keys that the next import will assign.
    """
    lacking = schema.keys() - set(columns)
    key, none = entry_key(), pl.lit([], dtype=_LIST)
    keys = pl.when(key.is_not_null()).then(pl.concat_list(key)).otherwise(none)
    keys = keys.alias("keys") if "keys" in lacking else pl.col("keys")
    record = pl.struct(keys, *(name for name in KEY_COLUMNS if name != "keys"))
    made = record.map_batches(lambda rows: make_cite_keys(rows.struct.unnest()), pl.String)
    derived = {"keys": keys, "cite_key": made}
    empty = {name: none for name in lacking if schema[name] == _LIST and name != "doubtful"}
    derived = empty | derived
    return [derived.get(name, pl.lit(None, dtype=schema[name])).alias(name) for name in lacking]


_SEPARATOR = "\x1f"
Frames = dict[str, pl.DataFrame]


def empty_table(schema: Schema) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(schema))


def sort_counts(counts: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Return counts by value, the largest first."""
    return dict(sorted(counts, key=lambda item: (-item[1], item[0])))


def count_values(values: pl.Series) -> dict[Any, int]:
    """Return the values of a column with their counts, the most frequent first."""
    return sort_counts(values.drop_nulls().value_counts().iter_rows())


def make_frame(schema: Schema, columns: Mapping[str, Sequence[Any]], height: int) -> pl.DataFrame:
    """Return a table from columns; missing columns are null."""
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
    # Splitting joined text is thirty times as fast as building lists from Python objects.
    joined = pl.Series(name, [_SEPARATOR.join(items) for items in values], dtype=pl.String)
    lists = joined.str.split(_SEPARATOR)
    blank = pl.Series([[]], dtype=_LIST)
    return pl.select(pl.when(joined == "").then(blank).otherwise(lists).alias(name)).to_series()


def write_ipc(path: Path, records: pl.DataFrame) -> None:
    """Write rows to a temporary file of this import."""
    with path.open("wb") as handle:  # polars takes no name that is not UTF-8
        records.write_ipc(handle)


def read_ipc(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the rows of a temporary file."""
    with path.open("rb") as handle:
        return pl.read_ipc(handle, columns=list(columns) if columns else None)


def copy_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Copy a few rows, so that polars does not keep the texts of the whole table in memory."""
    with io.BytesIO() as file:
        rows.write_ipc(file)
        file.seek(0)
        return pl.read_ipc(file)


def records_to_frames(batches: Iterable[tuple[str, list[Record]]]) -> Frames:
    """Return the non-empty tables of the records of some sources."""
    by_kind: dict[type, tuple[list[Any], list[str]]] = {}
    for source, batch in batches:
        for record in batch:
            records, sources = by_kind.setdefault(type(record), ([], []))
            records.append(record)
            sources.append(source)
    parts: dict[str, list[pl.DataFrame]] = {}
    for kind, (records, sources) in by_kind.items():
        for name, columns, height in _COLUMNS[kind](records, sources):
            if height:
                parts.setdefault(name, []).append(make_frame(READ[name], columns, height))
    return {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}


def normalise_records(records: pl.DataFrame) -> pl.DataFrame:
    """Replace spaces in ids and empty ids; derive years from dates and dates from years."""
    doc_id = pl.col("doc_id").str.replace_all(r"\s+", "_")
    place = pl.concat_str([pl.lit("line-"), pl.col("line").cast(pl.String)])
    return records.with_columns(
        doc_id=pl.when(doc_id == "").then(place).otherwise(doc_id),
        year=pl.coalesce("year", pl.col("date").str.slice(0, 4).cast(pl.Int32, strict=False)),
        date=pl.coalesce("date", pl.when(pl.col("year") > 0).then(pl.col("year").cast(pl.String))),
        title=pl.col("title").fill_null(""),
    )


def row_to_document(row: Mapping[str, Any]) -> Document:
    """Return the document in a row; unknown lists are empty."""
    values = {name: row[name] for name in Document._fields if row.get(name) is not None}
    lists = {name: tuple(values[name]) for name in _LISTS & values.keys()}
    return Document(**{**values, **lists})


_LISTS = frozenset(name for name, kind in RECORD.items() if kind == _LIST)
LARGEST = 2**31 - 1
"""The largest value of ``_INT``."""
_NUMBERS = {
    kind: tuple({"year", "relevance", "line"} & set(kind._fields)) for kind in get_args(Record)
}


def check_range(record: Record) -> Record:
    """Return the record, or a problem if one of its numbers is too large for a table."""
    for name in _NUMBERS[type(record)]:
        number = getattr(record, name)
        if number is not None and not -LARGEST <= number <= LARGEST:
            what = f"{name} {number:,} is out of range; expected up to {LARGEST:,} either way"
            return Problem(min(record.line, LARGEST), what)
    return record


Columns = tuple[str, dict[str, Sequence[Any]], int]


def _table(name: str, fields: Iterable[str], rows: Sequence[Sequence[Any]]) -> Columns:
    return name, dict(zip(fields, zip(*rows, strict=True), strict=False)), len(rows)


def _with_sources(table: str, records: list[Any], sources: list[str]) -> Columns:
    name, columns, height = _table(table, records[0]._fields, records)
    return name, {**columns, "source": sources}, height


def _document_columns(documents: list[Document], sources: list[str]) -> Iterable[Columns]:
    yield _with_sources("records", documents, sources)
    for table, fields in (("links", Link._fields), ("sections", Section._fields)):
        rows = [
            (document.doc_id, source, position, *item)
            for document, source in zip(documents, sources, strict=True)
            for position, item in enumerate(getattr(document, table))
        ]
        yield _table(table, ("record", "source", "position", *fields), rows)


def _paper_columns(papers: list[CitingPaper], sources: list[str]) -> Iterable[Columns]:
    bare = [paper._replace(references=None) for paper in papers]  # type: ignore[arg-type]
    yield _with_sources("papers", bare, sources)
    named = [paper.paper_id for paper in papers]
    yield _reference_columns("references", named, papers, sources)
    rows = [
        (paper.paper_id, source, context.context_id, context.section, order, number, *sentence)
        for paper, source in zip(papers, sources, strict=True)
        for order, context in enumerate(paper.contexts, start=1)
        for number, sentence in enumerate(context.sentences, start=1)
    ]
    place = ("paper_id", "source", "context_id", "section", "paragraph", "sentence")
    yield _table("contexts", (*place, *Sentence._fields), rows)


_REFERENCE = (
    *("paper_id", "source"),
    *("target" if name == "doc_id" else name for name in Reference._fields),
)


def _reference_columns(
    table: str,
    papers: Sequence[str | None],
    lists: Sequence[CitingPaper | ReferenceList],
    sources: list[str],
) -> Columns:
    rows = [
        (paper, source, *reference)
        for paper, listed, source in zip(papers, lists, sources, strict=True)
        for reference in listed.references
    ]
    return _table(table, _REFERENCE, rows)


_COLUMNS: dict[type, Callable[[list[Any], list[str]], Iterable[Columns]]] = {
    Document: _document_columns,
    CitingPaper: _paper_columns,
    ReferenceList: lambda lists, sources: [
        _reference_columns("lists", [None] * len(lists), lists, sources)
    ],
    Query: lambda queries, sources: [_with_sources("topics", queries, sources)],
    Judgement: lambda judged, sources: [_with_sources("judgements", judged, sources)],
    Problem: lambda problems, sources: [_with_sources("problems", problems, sources)],
}
