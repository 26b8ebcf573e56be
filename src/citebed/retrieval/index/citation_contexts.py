"""Citation contexts: what papers write when they cite a document, with the year of the paper.

They come from the collection's citing papers, from drafts and PDFs, and from contexts files: JSON
Lines (plain or packed with gzip, bzip2 or xz) such as ``{"citing": …, "context": …, "cited": …}``.
An object may have the paper's ``year``, and a list of documents in ``cited``. An index stores the
contexts as sentences, sorted by the document that they cite, with the vectors of their texts as
queries: a text resembles the sentences with which others ask for the same document.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.names import normalise_names
from citebed.drafts.reader import is_draft_file, read_draft
from citebed.errors import FormatError
from citebed.files.lines import read_numbered_lines
from citebed.retrieval.index.arrays import Strings
from citebed.retrieval.vectors.model_files import Arrays
from citebed.retrieval.vectors.vectors import DocumentVectors, Embedder, quantise
from citebed.text.markers import remove_markers

CITING_ARRAYS = (
    *("citing.docs", "citing.papers", "citing.years"),
    *("citing.text", "citing.text.offsets", "vectors.citing", "vectors.citing.scales"),
)
_CITING = ("citing", "citing_id", "paper_id")
_CITED = ("cited", "cited_id", "doc_id")
_TEXT = ("context", "text", "sentence")
_LATEST_YEAR = 9999
_SCHEMA = {"paper_id": pl.String, "doc_id": pl.String, "text": pl.String, "year": pl.Int32}


def load_contexts(
    collection: Collection, files: tuple[Path, ...], names: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, int]:
    """Return the contexts that cite documents of a collection, and the number of all others.

    The rows have ``paper_id``, ``doc_id``, ``text`` and ``year``. ``names`` come from
    `document_names`, and are required if there are files.
    """
    years = collection.papers.select("paper_id", "year").unique("paper_id", keep="first")
    own = collection.contexts.select("paper_id", pl.col("cited").alias("doc_id"), "text")
    own = own.join(years, on="paper_id", how="left", maintain_order="left")
    parts = [own.explode("doc_id").drop_nulls("doc_id").select(list(_SCHEMA))]
    elsewhere = 0
    for path in files:
        assert names is not None
        if is_draft_file(path):
            parts.append(_draft_contexts(collection, path))
            continue
        contexts = read_contexts(path)
        linked = contexts.join(names, left_on="cited", right_on="name", maintain_order="left")
        elsewhere += contexts.height - linked.height
        parts.append(linked.select(list(_SCHEMA)))
    rows = pl.concat(parts)
    cleaned = [remove_markers(text) for text in rows["text"]]
    rows = rows.with_columns(pl.Series("text", cleaned, dtype=pl.String))
    return rows.unique(["paper_id", "doc_id", "text"], keep="first", maintain_order=True), elsewhere


def _draft_contexts(collection: Collection, path: Path) -> pl.DataFrame:
    """Return the citing sentences of a draft or PDF, a row for each document that one cites."""
    from citebed.drafts.document_matching import DRAFT_COLUMNS, citing_sentences

    draft = read_draft(path)
    documents = collection.scan_documents().select(DRAFT_COLUMNS).collect()
    cited = citing_sentences(draft, documents)
    name = draft.title or path.name
    rows = [(name, doc_id, text, None) for text, ids in cited for doc_id in sorted(ids)]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def read_contexts(path: Path) -> pl.DataFrame:
    """Return the contexts of a file, with one row for each document that a text cites."""
    lines = ((number, line) for number, line in read_numbered_lines(path) if line.strip())
    rows = [row for number, line in lines for row in _parse_contexts(path, number, line)]
    schema = {**dict.fromkeys(("paper_id", "text", "cited"), pl.String), "year": pl.Int32}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(cited=normalise_names(pl.col("cited")))


def _parse_contexts(path: Path, number: int, line: bytes) -> list[tuple[str, str, str, int | None]]:
    expected = 'expected {"citing": …, "context": …, "cited": …}'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise FormatError(path, number, f"is not JSON; {expected}") from None
    if not isinstance(row, dict):
        raise FormatError(path, number, f"has {type(row).__name__}; {expected}")

    def whole(text: str) -> str:
        # JSON can spell half characters (\ud800), which no table can hold.
        return text.encode("utf-8", "replace").decode()

    def first(names: tuple[str, ...]) -> str | None:
        return next((whole(row[name]) for name in names if isinstance(row.get(name), str)), None)

    paper, text, one = first(_CITING), first(_TEXT), first(_CITED)
    lists = (row[name] for name in _CITED if isinstance(row.get(name), list))
    several = next((each for each in lists if all(isinstance(name, str) for name in each)), None)
    if paper is None or text is None or (one is None and several is None):
        raise FormatError(path, number, f"has {', '.join(row) or 'nothing'}; {expected}")
    cited = [one] if several is None else map(whole, several)
    year = row.get("year")
    year = year if isinstance(year, int) and 0 < year <= _LATEST_YEAR else None
    return [(paper, text, name, year) for name in cited if name is not None]


def make_citing_arrays(
    documents: NDArray[np.int64],
    papers: NDArray[np.int64],
    years: Sequence[int | None],
    texts: Sequence[str],
    model: Embedder,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of citing sentences, given the document, paper and text of each one, and
    the year of each paper."""
    order = np.argsort(documents, kind="stable")
    texts = [texts[place] for place in order.tolist()]
    rows, scales = quantise(model.queries(texts))
    blob, offsets = Strings.arrays(texts)
    arrays: tuple[NDArray[Any], ...] = (
        *(documents[order].astype(np.uint32), papers[order].astype(np.uint32)),
        *(np.array([year or 0 for year in years], np.int32), blob, offsets, rows, scales),
    )
    return dict(zip(CITING_ARRAYS, arrays, strict=True))


class CitingSentences:
    """Citing sentences by number. An unknown year is 0."""

    def __init__(self, arrays: Arrays, fingerprint: str) -> None:
        docs, papers, years, blob, offsets, rows, scales = (arrays[name] for name in CITING_ARRAYS)
        self.docs: NDArray[np.uint32] = docs
        self.papers: NDArray[np.uint32] = papers
        self.years: NDArray[np.int32] = years[papers]
        self.texts = Strings(blob, offsets)
        self.vectors = DocumentVectors(rows, scales, fingerprint=fingerprint, name="citing")

    def __len__(self) -> int:
        return len(self.docs)

    def of(self, document: int) -> range:
        """Return the numbers of the sentences that cite a document."""
        # With the same type on both sides; numpy would copy all of ``docs`` to convert it.
        ends = np.array((document, document + 1), self.docs.dtype)
        first, last = np.searchsorted(self.docs, ends)
        return range(int(first), int(last))
