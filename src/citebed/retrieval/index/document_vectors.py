"""The documents' vectors in an index: unchanged documents keep theirs, others get new ones.

Static vectors are made while the index is built. An encoder needs a second for some dozen
documents, so it runs afterwards, starts with the most useful documents, and writes the index every
minute: searches use the vectors that are there, and an interrupted run continues where it stopped.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import lock_collection
from citebed.collection.storing.table_files import count_rows
from citebed.errors import CitebedError, CollectionError
from citebed.retrieval.index import layout
from citebed.retrieval.index.arrays import in_threads
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import vector_arrays
from citebed.retrieval.index.statistics import IndexReport, vector_sizes
from citebed.retrieval.index.term_counts import read_rows
from citebed.retrieval.vectors.vectors import (
    DocumentVectors,
    Embedder,
    OnProgress,
    Quantised,
    Vectors,
    quantise,
)
from citebed.wording import printable

Numbers = NDArray[np.int64]

_ENCODER = "encoder"
_STATIC_BATCH = 10_000
"""Texts that the static model gets at a time, up to twice as many."""
_ENCODER_BATCH = 1024
"""Documents that the encoder gets at a time."""
_SECONDS_BETWEEN_WRITES = 60.0
"""Writing an index of 100,000 documents takes a second."""
_LARGEST = 1.01
"""The largest number in a vector of length 1, with room for rounding errors."""


class Unchanged(NamedTuple):
    """Documents that have not changed since the old index: their numbers there and now."""

    old: Index
    then: Numbers
    now: Numbers


class PartialVectors:
    """Arrays for the vectors of all documents, and a mask of the ``known`` ones."""

    def __init__(self, documents: int, width: int) -> None:
        self.rows = np.zeros((documents, width), np.int8)
        self.scales = np.zeros(documents, np.float32)
        self.known = np.zeros(documents, bool)

    def add(self, numbers: Numbers, vectors: Quantised) -> None:
        self.rows[numbers], self.scales[numbers] = vectors
        self.known[numbers] = True

    def arrays(self, kind: str) -> dict[str, NDArray[Any]]:
        return dict(zip(vector_arrays(kind), (self.rows, self.scales), strict=True))

    def reuse(self, old: DocumentVectors | None, unchanged: Unchanged | None) -> NDArray[np.bool_]:
        """Copy old vectors of unchanged documents, unless they are known already.

        Return a mask of the documents without an old vector. If some old vectors are missing, empty
        texts count as documents without one.
        """
        wanted = np.ones(len(self.known), bool)
        if old is not None and unchanged is not None:
            _, then, now = unchanged
            wanted[now] = (old.scales[then] == 0) & (old.missing > 0)
            then, now = then[~self.known[now]], now[~self.known[now]]
            self.rows[now], self.scales[now] = old.rows[then], old.scales[then]
        return wanted


def check_vectors(model: Embedder, vectors: Vectors, count: int) -> Quantised:
    """Return the vectors that a model made in 8 bits per number. Raise if they are invalid."""
    is_small = np.abs(vectors) < _LARGEST  # False for NaN
    if vectors.shape != (count, model.width) or not is_small.all():
        raise CitebedError(
            f"the model '{model.name}' made vectors of {vectors.shape}, or longer than 1; "
            f"expected {count} of {model.width} numbers and length 1"
        )
    return quantise(vectors)


class BatchProgress:
    """Passes on the progress of a model that counts from 0 in every batch."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._batches, self._reported = progress, 0, 0

    def __call__(self, done: int, _all: int) -> None:
        self._progress.add(self._batches + done - self._reported)
        self._reported = self._batches + done

    def end_batch(self, texts: int) -> None:
        """Report that all texts of a batch are done."""
        self(texts, texts)
        self._batches += texts


def read_texts(collection: Collection, rows: Numbers) -> list[str]:
    """Return the texts of rows of the documents table, which rise."""
    paths = collection.table_paths("documents")
    starts = np.cumsum([0, *(count_rows(path) for path in paths[:-1])], dtype=np.int64)
    parts = np.split(rows, np.searchsorted(rows, starts[1:]))
    texts: list[str] = []
    for path, start, part in zip(paths, starts.tolist(), parts, strict=True):
        if len(part):
            texts += read_rows(path, part - start, [document_text()])["text"].to_list()
    return texts


def document_text() -> pl.Expr:
    """Return title, abstract and keywords of a table of documents as one text, for models."""
    keywords = pl.col("keywords").list.join(", ")
    title, abstract, named = (
        column.fill_null("") for column in (pl.col("title"), pl.col("abstract"), keywords)
    )
    whole = pl.concat_str(title, pl.lit(". "), abstract, pl.lit(" "), named)
    return whole.str.strip_chars(" .").alias("text")


# --- static vectors -----------------------------------------------------------------------------


def make_static_vectors(  # noqa: PLR0913, PLR0917 - what to read, and how
    collection: Collection,
    model: Embedder,
    numbers: Numbers,
    table_rows: Numbers,
    vectors: PartialVectors,
    threads: int,
    progress: Progress,
) -> None:
    """Make the vectors of some documents; ``table_rows`` are the rows of all documents."""
    progress.step("making vectors (static)", len(numbers))
    counted = BatchProgress(progress)
    by_row = numbers[np.argsort(table_rows[numbers])]
    batches = np.array_split(by_row, max(1, len(by_row) // _STATIC_BATCH))
    threads = threads if len(batches) > 1 else 1
    on_progress: OnProgress | None = counted if threads == 1 else None

    def make(batch: Numbers) -> tuple[Numbers, Quantised]:
        made = model.documents(read_texts(collection, table_rows[batch]), on_progress)
        return batch, check_vectors(model, made, len(batch))

    for batch, made in in_threads(make, batches, threads):
        vectors.add(batch, made)
        counted.end_batch(len(batch))


# --- vectors of an encoder ----------------------------------------------------------------------


def encode_index(
    collection: Collection,
    encoder: Embedder,
    report: IndexReport,
    progress: Progress = SILENT,
    *,
    rebuild: bool = False,
) -> IndexReport:
    """Make the missing encoder vectors of an index, or all with ``rebuild``, and write them.

    ``report`` is what `write_index` returned; return it with the new vectors.
    """
    start = time.monotonic()
    with lock_collection(collection.folder):
        index = open_index(collection)
        if not index.is_current():
            name = printable(collection.folder)
            raise CollectionError(f"{name} has changed meanwhile. Run: citebed index {name} again")
        vectors = PartialVectors(len(index.ids), encoder.width)
        old = index.vectors(_ENCODER, incomplete=True)
        is_same = old is not None and old.is_of(encoder)
        if old is not None and is_same and not rebuild:
            vectors.rows[:], vectors.scales[:] = old.rows, old.scales
            vectors.known[:] = True if old.present is None else old.present
        wanted = np.flatnonzero(~vectors.known)
        made = 0
        if len(wanted) or not is_same or index.vectors(_ENCODER) is None:
            made = len(wanted)
            _encode(collection, index, encoder, vectors, wanted, progress)
    return report._replace(
        unchanged=report.unchanged and not made,
        encoded=made,
        not_encoded=0,
        vector_seconds=round(time.monotonic() - start, 3) if made else report.vector_seconds,
        **vector_sizes(layout.read_description(index.folder)),
    )


def _encode(
    collection: Collection,
    index: Index,
    encoder: Embedder,
    vectors: PartialVectors,
    wanted: Numbers,
    progress: Progress,
) -> None:
    def write() -> None:
        """Write the index with the vectors that are known. Its other files stay."""
        collection.check_unchanged()
        description, arrays = layout.read_description(index.folder), vectors.arrays(_ENCODER)
        missing = int(np.count_nonzero(~vectors.known))
        about: dict[str, Any] = {
            **{"name": encoder.name, "fingerprint": encoder.fingerprint, "width": encoder.width},
            **({"missing": missing} if missing else {}),
        }
        changed = replace(
            description,
            vectors={**description.vectors, _ENCODER: about},
            generation=layout.next_generation(index.folder),
        )
        kept = {name: entry for name, entry in description.files.items() if name not in arrays}
        layout.write(index.folder, changed, arrays, kept)

    progress.step(f"making vectors ({_ENCODER})", len(wanted))
    counted = BatchProgress(progress)
    names = collection.scan_documents().select("doc_id").with_row_index("row")
    rows = names.sort("doc_id").collect()["row"].to_numpy().astype(np.int64)
    # The most cited first, then documents with an abstract, of these the latest first.
    cited = np.zeros(len(index.ids), np.int64)
    if index.citing is not None:
        cited += np.bincount(index.citing.docs, minlength=len(cited))
    years = index.records.years.astype(np.int64)
    order = np.lexsort((-years, index.lengths["abstract"] == 0, -cited))
    wanted = order[np.isin(order, wanted)]
    written = time.monotonic()
    try:
        for start in range(0, len(wanted), _ENCODER_BATCH):
            batch = wanted[start : start + _ENCODER_BATCH]
            batch = batch[np.argsort(rows[batch])]
            made = encoder.documents(read_texts(collection, rows[batch]), counted)
            vectors.add(batch, check_vectors(encoder, made, len(batch)))
            counted.end_batch(len(batch))
            if time.monotonic() - written >= _SECONDS_BETWEEN_WRITES:
                write()
                written = time.monotonic()
    except KeyboardInterrupt:
        if vectors.known.any():
            write()
        raise
    write()
