"""A small library, and many made-up ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import tables
from citebed.collection.storing import table_files
from citebed.retrieval.library.library import Library
from citebed.retrieval.recommend.recommender import Recommender

DOCUMENTS: tuple[dict[str, Any], ...] = (
    {"doc_id": "oak", "title": "Oak trees in forests", "abstract": "How oaks grow so slowly.",
     "authors": ["Smith, Ann", "Müller, Bo"], "year": 2019, "venue": "J. of Trees",
     "type": "article", "doi": "10.5072/oak", "cite_key": "smith2019oak", "keys": ["mykey"]},
    {"doc_id": "elm", "title": "Elms grow in forests", "abstract": "Smith was wrong in 2019.",
     "authors": ["O'Brien, Cid"], "year": 2005, "venue": "j. of trees", "type": "article",
     "cite_key": "obrien2005elms"},
    {"doc_id": "ash", "title": "The ash and its growth", "abstract": "Ashes in forests.",
     "authors": ["Smith, Dora"], "year": 1998, "venue": "Tree Conf.", "type": "inproceedings",
     "cite_key": "smith1998ash"},
    {"doc_id": "sea", "title": "The salt of the sea", "abstract": "Salt water.",
     "authors": ["Anna, Smithson"], "year": 2010, "venue": "Sea Conf.", "type": "inproceedings",
     "cite_key": "anna2010salt", "arxiv": "1234.5678"},
    {"doc_id": "bare", "cite_key": "unnamed"},
)  # fmt: skip
CONTEXTS: tuple[dict[str, Any], ...] = (
    {"paper_id": "p1", "context_id": "1", "paragraph": 1, "sentence": 1,
     "cited": ["oak", "elm"], "text": "Oaks and elms grow [1, 2]."},
    {"paper_id": "p1", "context_id": "1", "paragraph": 1, "sentence": 2,
     "cited": ["ash"], "text": "So do ashes [3]."},
    {"paper_id": "p1", "context_id": "2", "paragraph": 2, "sentence": 1,
     "cited": ["sea"], "text": "Salt is another matter [4]."},
    {"paper_id": "p2", "context_id": "1", "paragraph": 1, "sentence": 1,
     "cited": ["oak", "ash"], "text": "Oaks [5] and ashes [6] are trees."},
)  # fmt: skip
PAPERS: tuple[dict[str, Any], ...] = (
    {"paper_id": "p1", "title": "On growing", "year": 2020, "references": 0, "found": 0},
    {
        "paper_id": "p2",
        "title": "On trees",
        "year": 2021,
        "doc_id": "elm",
        "references": 2,
        "found": 2,
    },
)
REFERENCES: tuple[dict[str, Any], ...] = (
    {"paper_id": "p2", "ref_id": "1", "doc_id": "oak"},
    {"paper_id": "p2", "ref_id": "2", "doc_id": "sea"},
)


def write_table(folder: Path, name: str, rows: tuple[dict[str, Any], ...]) -> None:
    """A table of a collection, of these rows."""
    schema = tables.TABLES[name]
    full = [
        {column: row.get(column, [] if isinstance(kind, pl.List) else None)
         for column, kind in schema.items()}
        for row in rows
    ]  # fmt: skip
    table_files.write_table(
        folder / f"{name}.parquet", pl.DataFrame(full, schema=dict(schema)), schema
    )


def write_library(folder: Path, documents: Any, **others: tuple[dict[str, Any], ...]) -> Library:
    """A library of these tables."""
    write_collection(folder, documents, contexts=others.pop("contexts", ()))
    for name, rows in others.items():
        write_table(folder, name, rows)
    build(folder)
    return Library(Recommender(folder))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library") / "c"
    return write_library(folder, DOCUMENTS, contexts=CONTEXTS, papers=PAPERS, references=REFERENCES)
