"""The vectors of an index: those of unchanged documents are taken over, the others are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.progress import Progress
from citebed.errors import CitebedError
from citebed.files.reading import at_hand
from citebed.retrieval.dense.embedder import Embedder, document_text
from citebed.retrieval.dense.vectors import Quantised, quantised
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import array_names

_AT_ONCE = 10_000
"""Texts that a model is given at a time, or up to twice as many."""


class Taken(NamedTuple):
    """Documents as they were in the old index: their numbers there, and now."""

    old: NDArray[np.int64]
    new: NDArray[np.int64]


class Embedded(NamedTuple):
    """The arrays of vectors, what the index says of them, and how many were made anew."""

    arrays: dict[str, NDArray[Any]]
    about: dict[str, dict[str, Any]]
    made: int


def embed(
    collection: Collection,
    documents: pl.DataFrame,
    models: Mapping[str, Embedder],
    taken: tuple[Index, Taken] | None,
    progress: Progress,
) -> Embedded:
    """The vectors of all documents (``doc_id`` and ``row`` in the table, in the index's order)
    by each model."""
    found, table_rows = Embedded({}, {}, 0), documents["row"].to_numpy()
    for kind, model in models.items():
        rows = np.zeros((documents.height, model.width), np.int8)
        scales = np.zeros(documents.height, np.float32)
        wanted = np.ones(documents.height, bool)
        if taken is not None:
            index, places = taken
            old = index.vectors(kind)
            if old is not None and old.is_of(model):
                rows[places.new], scales[places.new] = old.rows[places.old], old.scales[places.old]
                wanted[places.new] = False
        count = int(wanted.sum())
        progress.step(f"making vectors ({kind})", count)
        for numbers, made in _made(collection, table_rows, wanted, model, progress):
            rows[numbers], scales[numbers] = made
        of_rows, of_scales = array_names(kind)
        found.arrays[of_rows], found.arrays[of_scales] = rows, scales
        about = {"name": model.name, "fingerprint": model.fingerprint, "width": model.width}
        found.about[kind] = about
        found = found._replace(made=found.made + count)
    return found


def _made(
    collection: Collection,
    table_rows: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    model: Embedder,
    progress: Progress,
) -> Iterator[tuple[NDArray[np.int64], Quantised]]:
    """Numbers of documents and their vectors, part by part, in the order of the table."""
    numbers = np.flatnonzero(wanted)
    numbers = numbers[np.argsort(table_rows[numbers])]
    for part in np.array_split(numbers, max(1, len(numbers) // _AT_ONCE)):
        if len(part):
            texts = _texts(collection, table_rows[part])
            vectors = model.documents(texts)
            if vectors.shape != (len(part), model.width) or not np.isfinite(vectors).all():
                raise CitebedError(
                    f"the model '{model.name}' made vectors of {vectors.shape}, or numbers that "
                    f"are none; expected {len(part)} of {model.width} numbers"
                )
            progress.add(len(part))
            yield part, quantised(vectors)


def _texts(collection: Collection, rows: NDArray[np.int64]) -> list[str]:
    """The texts of some rows of the table of documents, which rise."""
    first = int(rows[0])
    with at_hand(collection.folder / "documents.parquet") as file:
        span = pl.scan_parquet(file, glob=False).slice(first, int(rows[-1]) - first + 1)
        return span.select(document_text()).collect()["text"][rows - first].to_list()
