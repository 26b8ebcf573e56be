"""Collections written straight to disk, as small as a test wants them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

from citebed.collection import tables
from citebed.collection.storing import table_files
from citebed.collection.storing.store import Manifest
from citebed.collection.tables import QUERIES
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.statistics import IndexReport

Row = Mapping[str, Any]


def write_collection(
    folder: Path,
    documents: Iterable[Row],
    *,
    sections: Sequence[Row] = (),
    contexts: Sequence[Row] = (),
    queries: Mapping[str, Sequence[Row]] | None = None,
    qrels: Mapping[str, str] | None = None,
) -> Path:
    """A collection of these rows; what a row does not name is null, a list or title empty."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "documents.parquet", documents, tables.DOCUMENTS)
    for name, rows, schema in (
        ("sections", sections, tables.SECTIONS),
        ("contexts", contexts, tables.CONTEXTS),
    ):
        path = folder / f"{name}.parquet"
        path.unlink(missing_ok=True)
        if rows:
            _write(path, rows, schema)
    for name, rows in (queries or {}).items():
        (folder / "queries").mkdir(exist_ok=True)
        full = [{**dict.fromkeys(QUERIES), "exclude": [], **row} for row in rows]
        text = "".join(json.dumps(row) + "\n" for row in full)
        (folder / "queries" / f"{name}.jsonl").write_text(text)
    for name, text in (qrels or {}).items():
        (folder / "qrels").mkdir(exist_ok=True)
        (folder / "qrels" / f"{name}.qrels").write_text(text)
    sets = tuple(dict.fromkeys([*(queries or {}), *(qrels or {})]))
    (folder / "citebed.toml").write_text(Manifest("made", query_sets=sets).to_toml())
    return folder


def _write(path: Path, rows: Iterable[Row], schema: tables.Schema) -> None:
    unnamed: Row = {
        name: [] if isinstance(kind, pl.List) else "" if name == "title" else None
        for name, kind in schema.items()
    }
    full = [{name: row.get(name, unnamed[name]) for name in schema} for row in rows]
    table_files.write_table(path, pl.DataFrame(full, schema=dict(schema)), schema)


def section(doc_id: str, text: str, position: int = 1) -> Row:
    """A section of a document's full text."""
    return {"record": doc_id, "doc_id": doc_id, "text": text, "position": position, "heading": ""}


def context(paper_id: str, cited: Sequence[str], text: str) -> Row:
    """A sentence of a citing paper."""
    return {"paper_id": paper_id, "cited": list(cited), "text": text, "context_id": "1"}


def build(folder: Path, **options: Any) -> IndexReport:
    """Index in this process, without waiting for the disk."""
    with mock.patch("os.fsync"):
        return write_index(folder, IndexOptions(**{"workers": 1, **options}))


def arrays_of(folder: Path) -> dict[str, np.ndarray]:
    """Every array of the collection's index."""
    return {name: np.array(array) for name, array in open_index(folder).arrays.items()}


def assert_same_arrays(left: Mapping[str, Any], right: Mapping[str, Any]) -> None:
    assert set(left) == set(right)
    for name in left:
        assert left[name].dtype == right[name].dtype, name
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def columns_of(index: Index) -> dict[str, list[tuple[str, str, int]]]:
    """By field: term, document and frequency, in the index's order, zeros left out."""
    found = {}
    terms = np.repeat(np.arange(len(index.terms)), np.diff(index.offsets))
    for field in index.fields:
        places, times = index.tf[field].nonzero()
        found[field] = [
            (index.terms[int(terms[place])], index.ids[int(index.docs[place])], int(tf))
            for place, tf in zip(places, times, strict=True)
        ]
    return found
