"""The vectors of an index: those of unchanged documents are taken over, the others are made."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.progress import Progress
from citebed.collection.storing.table_files import rows_of
from citebed.errors import CitebedError
from citebed.files.input_files import reusable_path
from citebed.files.system_errors import translate_read_errors
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import array_names
from citebed.retrieval.index.threads import in_threads
from citebed.retrieval.vectors.vectors import (
    DocumentVectors,
    Embedder,
    OnProgress,
    Quantised,
    Vectors,
    quantise,
)

_AT_ONCE = 10_000
"""Texts that a model is given at a time, or up to twice as many."""

_MOST = 1.01
"""No number of a vector of length 1 is larger, but for rounding."""

Numbers = NDArray[np.int64]


class Part(NamedTuple):
    """The vectors of some documents, by number."""

    numbers: Numbers
    vectors: Quantised


class Made:
    """Vectors of documents that were made while their words were counted."""

    def __init__(self, documents: int, width: int) -> None:
        rows = np.zeros((documents, width), np.int8)
        self.vectors = Quantised(rows, np.zeros(documents, np.float32))
        self.has = np.zeros(documents, bool)

    def add(self, part: Part) -> None:
        """Put in those of some documents."""
        self.vectors.rows[part.numbers], self.vectors.scales[part.numbers] = part.vectors
        self.has[part.numbers] = True


class Before(NamedTuple):
    """The old index, and the documents that are as they were: their numbers then and now."""

    old: Index
    then: Numbers
    now: Numbers


def unchanged(old: Index, numbered: pl.DataFrame) -> Before:
    """The documents (``doc_id``, ``hash``, ``number``) that are as they were in the old index."""
    before = pl.DataFrame(
        {
            "doc_id": old.ids.series(),
            "hash": old.hashes,
            "old": np.arange(len(old.ids)),
        }
    )
    same = numbered.join(before, on=["doc_id", "hash"], how="inner")
    return Before(old, same["old"].to_numpy(), same["number"].to_numpy())


@dataclass
class Embedded:
    """The arrays of vectors, and what the index says of them, by kind.

    ``made`` says how many were made anew.
    """

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: int = 0
    seconds: float = 0.0

    def add(self, kind: str, vectors: Quantised, **about: Any) -> None:
        """Add the vectors of a kind."""
        rows, scales = array_names(kind)
        self.arrays |= {rows: vectors.rows, scales: vectors.scales}
        self.about[kind] = about


@dataclass(frozen=True)
class Embedding:
    """How to make the word vectors of a collection's documents.

    ``table_rows`` are the documents' rows in the collection's table, by number; ``made`` are
    vectors that were made while words were counted; with ``anew`` the model makes all others again.
    """

    collection: Collection
    table_rows: Numbers
    model: Embedder
    before: Before | None
    made: Made | None
    anew: bool
    threads: int
    progress: Progress

    def embed(self) -> Embedded:
        """The word vectors of all documents; those of an encoder are kept for what has not changed,
        so that it need not make them all again."""
        start, found, model = time.monotonic(), Embedded(), self.model
        old = None if self.anew else self._old("static")
        taken = old if old is not None and old.is_of(model) else None
        vectors, wanted = self._taken_over(taken, model.width, self.made)
        found.made = len(wanted)
        self._make(wanted if self.made is None else wanted[~self.made.has[wanted]], vectors)
        of_model = {"name": model.name, "fingerprint": model.fingerprint, "width": model.width}
        found.add("static", vectors, **of_model)
        self._keep_others(found)
        found.seconds = time.monotonic() - start
        return found

    def _keep_others(self, found: Embedded) -> None:
        former = {} if self.before is None else self.before.old.description.vectors
        for kind, about in former.items():
            old = None if kind == "static" else self._old(kind)
            if old is not None:
                vectors, missing = self._taken_over(old, old.width)
                if len(missing) < len(vectors.rows):
                    found.add(kind, vectors, **{**about, "missing": len(missing)})

    def _old(self, kind: str) -> DocumentVectors | None:
        return None if self.before is None else self.before.old.vectors(kind, incomplete=True)

    def _taken_over(
        self, old: DocumentVectors | None, width: int, made: Made | None = None
    ) -> tuple[Quantised, Numbers]:
        """All vectors, those that were ``made`` and those that can be used again, with room for the
        rest; and the numbers of what cannot be used again.

        Where some were missing before, those of empty texts are made again too.
        """
        made = made or Made(len(self.table_rows), width)
        wanted = np.ones(len(made.has), bool)
        if old is not None and self.before is not None:
            _, then, now = self.before
            wanted[now] = (old.scales[then] == 0) & (old.missing > 0)
            then, now = then[~made.has[now]], now[~made.has[now]]
            made.vectors.rows[now], made.vectors.scales[now] = old.rows[then], old.scales[then]
        return made.vectors, np.flatnonzero(wanted)

    def _make(self, numbers: Numbers, vectors: Quantised) -> None:
        if not len(numbers):
            return
        self.progress.step("making vectors (static)", len(numbers))
        heard = Heard(self.progress)
        by_row = numbers[np.argsort(self.table_rows[numbers])]
        parts = np.array_split(by_row, max(1, len(by_row) // _AT_ONCE))
        threads = self.threads if len(parts) > 1 else 1
        told = heard if threads == 1 else None
        for part in in_threads(lambda part: self._part(part, told), parts, threads):
            vectors.rows[part.numbers], vectors.scales[part.numbers] = part.vectors
            heard.end_of_part(len(part.numbers))

    def _part(self, numbers: Numbers, told: OnProgress | None) -> Part:
        texts = texts_of(self.collection, self.table_rows[numbers])
        return Part(numbers, checked(self.model, self.model.documents(texts, told), len(numbers)))


def checked(model: Embedder, vectors: Vectors, count: int) -> Quantised:
    """The vectors that a model made, in 8 bits a number, if they are as they should be."""
    small = np.abs(vectors) < _MOST  # which what is no number is not
    if vectors.shape != (count, model.width) or not small.all():
        raise CitebedError(
            f"the model '{model.name}' made vectors of {vectors.shape}, or longer than 1; "
            f"expected {count} of {model.width} numbers and length 1"
        )
    return quantise(vectors)


class Heard:
    """Hands on how many texts are done, in parts that each begin at 0."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._parts, self._told = progress, 0, 0

    def __call__(self, done: int, _all: int) -> None:
        self._progress.add(self._parts + done - self._told)
        self._told = self._parts + done

    def end_of_part(self, texts: int) -> None:
        self(texts, texts)
        self._parts += texts


def texts_of(collection: Collection, rows: Numbers) -> list[str]:
    """The texts of some rows of the table of documents, which rise."""
    paths = collection.files_of("documents")
    starts = np.cumsum([0, *(rows_of(path) for path in paths[:-1])], dtype=np.int64)
    parts = np.split(rows, np.searchsorted(rows, starts[1:]))
    files = zip(paths, starts.tolist(), parts, strict=True)
    return [
        text for path, start, part in files if len(part) for text in _texts_in(path, part - start)
    ]


def _texts_in(path: Path, rows: Numbers) -> list[str]:
    """The texts of some rows of a file, which rise."""
    first = int(rows[0])
    with translate_read_errors(path), reusable_path(path) as file:
        span = pl.scan_parquet(file, glob=False).slice(first, int(rows[-1]) - first + 1)
        return span.select(document_text()).collect()["text"].gather(rows - first).to_list()


def document_text() -> pl.Expr:
    """Title, abstract and keywords of a table of documents as one text, as models read it."""
    keywords = pl.col("keywords").list.join(", ")
    title, abstract, named = (
        column.fill_null("") for column in (pl.col("title"), pl.col("abstract"), keywords)
    )
    whole = pl.concat_str(title, pl.lit(". "), abstract, pl.lit(" "), named)
    return whole.str.strip_chars(" .").alias("text")
