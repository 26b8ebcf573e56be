"""What other papers say when they cite a document: texts to be indexed, and who says what when.

The rows come from the collection's own citing papers and from contexts files: JSON Lines (may
be packed with gzip, bzip2 or xz) whose objects have the citing paper, the text and the document
it cites, as ``{"citing": …, "context": …, "cited": …}``, and perhaps the paper's ``year``. A text
that cites several documents may name them in one list.

An index keeps them as sentences in the order of the documents that they cite. A citing sentence's
vector is that of a text that looks for documents, so that a sentence finds others that ask for the
same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.names import name_in
from citebed.errors import FormatError
from citebed.files.lines import read_numbered_lines
from citebed.retrieval.index.arrays import Strings
from citebed.retrieval.vectors.model_files import Arrays
from citebed.retrieval.vectors.vectors import DocumentVectors, Embedder, quantise
from citebed.text.markers import remove_markers

_CITING = ("citing", "citing_id", "paper_id")
_CITED = ("cited", "cited_id", "doc_id")
_TEXT = ("context", "text", "sentence")
_LATEST_YEAR = 9999
_SCHEMA = {"paper_id": pl.String, "doc_id": pl.String, "text": pl.String, "year": pl.Int32}


def citing_text(
    collection: Collection, files: tuple[Path, ...], names: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, int]:
    """The citing text of a collection's documents; ``names`` are as `document_names` has them, and
    needed where there are files.

    Gives rows of ``paper_id``, ``doc_id``, ``text``, ``year``, and how many contexts cite something
    else.
    """
    years = collection.papers.select("paper_id", "year").unique("paper_id", keep="first")
    own = collection.contexts.select("paper_id", pl.col("cited").alias("doc_id"), "text")
    own = own.join(years, on="paper_id", how="left", maintain_order="left")
    parts = [own.explode("doc_id").drop_nulls("doc_id").select(list(_SCHEMA))]
    elsewhere = 0
    for path in files:
        assert names is not None
        found = _read(path)
        linked = found.join(names, left_on="cited", right_on="name", maintain_order="left")
        elsewhere += found.height - linked.height
        parts.append(linked.select(list(_SCHEMA)))
    rows = pl.concat(parts)
    cleaned = [remove_markers(text) for text in rows["text"]]
    rows = rows.with_columns(pl.Series("text", cleaned, dtype=pl.String))
    return rows.unique(["paper_id", "doc_id", "text"], keep="first", maintain_order=True), elsewhere


def count_contexts(files: Iterable[Path]) -> int:
    """How many contexts there are in files, one for each document that a text cites."""
    return sum(_read(path).height for path in files)


def _read(path: Path) -> pl.DataFrame:
    lines = ((at, line) for at, line in read_numbered_lines(path) if line.strip())
    rows = [row for at, line in lines for row in _contexts(path, at, line)]
    schema = {**dict.fromkeys(("paper_id", "text", "cited"), pl.String), "year": pl.Int32}
    found = pl.DataFrame(rows, schema=schema, orient="row")
    return found.with_columns(cited=name_in(pl.col("cited")))


def _contexts(path: Path, number: int, line: bytes) -> list[tuple[str, str, str, int | None]]:
    """The contexts of a line: one for each document that it cites."""
    expected = 'expected {"citing": …, "context": …, "cited": …}'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise FormatError(path, number, f"is not JSON; {expected}") from None
    paper, text = _first(row, _CITING), _first(row, _TEXT)
    cited = _cited(row)
    if paper is None or text is None or cited is None:
        keys = ", ".join(row) if isinstance(row, dict) else type(row).__name__
        raise FormatError(path, number, f"has {keys or 'nothing'}; {expected}")
    return [(paper, text, each, _year(row)) for each in cited]


def _year(row: dict[str, Any]) -> int | None:
    """The citing paper's year, where the row has one; anything else says nothing."""
    year = row.get("year")
    return year if isinstance(year, int) and 0 < year <= _LATEST_YEAR else None


def _cited(row: Any) -> list[str] | None:
    """What a row cites: one document, or a list of them, which may be empty."""
    lists = (row[name] for name in _CITED if isinstance(row, dict) and name in row)
    for value in lists:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return [_whole(each) for each in value]
    one = _first(row, _CITED)
    return None if one is None else [one]


def _first(row: Any, names: tuple[str, ...]) -> str | None:
    if not isinstance(row, dict):
        return None
    values = (row[name] for name in names if isinstance(row.get(name), str))
    value = next(values, None)
    return None if value is None else _whole(value)


def _whole(text: str) -> str:
    """A text without half characters, which JSON can spell (\\ud800) and no table can hold."""
    return text.encode("utf-8", "replace").decode()


SENTENCES = (
    *("citing.docs", "citing.papers", "citing.years"),
    *("citing.text", "citing.text.offsets", "vectors.citing", "vectors.citing.scales"),
)


def citing_sentences(
    documents: NDArray[np.int64],
    papers: NDArray[np.int64],
    years: Sequence[int | None],
    texts: Sequence[str],
    model: Embedder,
) -> dict[str, NDArray[Any]]:
    """The arrays of citing sentences: the document and the paper of each by number, its text; and
    the year of each paper."""
    order = np.argsort(documents, kind="stable")
    texts = [texts[place] for place in order.tolist()]
    rows, scales = quantise(model.queries(texts))
    blob, offsets = Strings.packed(texts)
    found: tuple[NDArray[Any], ...] = (
        *(documents[order].astype(np.uint32), papers[order].astype(np.uint32)),
        *(np.array([year or 0 for year in years], np.int32), blob, offsets, rows, scales),
    )
    return dict(zip(SENTENCES, found, strict=True))


class CitingSentences:
    """Citing sentences by number; a year that is not known is 0."""

    def __init__(self, arrays: Arrays, fingerprint: str) -> None:
        docs, papers, years, blob, offsets, rows, scales = (arrays[name] for name in SENTENCES)
        self.docs: NDArray[np.uint32] = docs
        self.papers: NDArray[np.uint32] = papers
        self.years: NDArray[np.int32] = years[papers]
        self.texts = Strings(blob, offsets)
        self.vectors = DocumentVectors(rows, scales, fingerprint=fingerprint, name="citing")

    def __len__(self) -> int:
        return len(self.docs)

    def of(self, document: int) -> range:
        """The sentences that cite a document."""
        # Of the same type: else numpy would copy all of them to compare.
        ends = np.array((document, document + 1), self.docs.dtype)
        first, last = np.searchsorted(self.docs, ends)
        return range(int(first), int(last))

    def known_to(self, paper: int, year: int | None) -> NDArray[np.bool_]:
        """Which sentences may help a paper (by number; -1: none of those that cite) of a year: not
        its own, and none of that year or later."""
        known: NDArray[np.bool_] = self.papers != paper
        if year is not None:
            known &= self.years < year
        return known
