"""What a collection gives to the second stage: its documents' texts, and a place for vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from citebed.collection import Collection
from citebed.files.writing import own_folder


def document_texts(collection: Collection, doc_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Title, abstract and keywords of some documents, as one text each."""
    wanted = collection.scan_documents().select("doc_id", "title", "abstract", "keywords")
    chosen = wanted.filter(pl.col("doc_id").is_in(list(doc_ids))).collect()
    for doc_id, title, abstract, keywords in chosen.iter_rows():
        parts = (title, abstract, ", ".join(keywords or ()))
        yield doc_id, ". ".join(part for part in parts if part)


def vectors_folder(collection: Collection) -> Path:
    """Where the collection keeps its documents' vectors."""
    return own_folder(collection.folder / "vectors")
