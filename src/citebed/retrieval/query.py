"""A query: the text to search with, the documents that may be found, and those that were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.filters import Filter, resolve_names
from citebed.errors import CitebedError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import LruCache
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged
from citebed.retrieval.search.searcher import Hits
from citebed.text.sentences import split_sentences
from citebed.text.words import text_language

if TYPE_CHECKING:
    from citebed.retrieval.vectors.vectors import Vectors

Docs = NDArray[np.int64]
Mask = NDArray[np.bool_]
Reals = NDArray[np.float64]
_NONE: Docs = np.zeros(0, np.int64)
_CACHED = 16
"""Masks to keep: queries with the same date or filter come together."""
_FEW_NAMES = 1000
_SUGGESTIONS, _COMPARED = 3, 5000


@dataclass(frozen=True, eq=False)
class Query:
    """A text to search with, its terms, and the documents that may be found.

    ``raw`` is the text as given, ``text`` the part to search with, and ``split`` its sentences if
    known. Documents are numbers: those in ``excluded`` are never found; ``cites`` are documents
    that the text cites elsewhere. ``before`` is a date, ``filter_mask`` a mask over all documents.
    ``paper`` is the citing paper, of a ``year``; its citing text is removed from the index if
    ``hidden_paper`` is set. ``judged`` is the user's feedback; ``original_terms`` are the terms
    before feedback changed them. ``named`` are documents whose authors the text names, and how
    telling these names are.
    """

    text: str
    terms: TermWeights
    query_id: str = ""
    raw: str = ""
    split: Sequence[str] = ()
    excluded: Docs = field(default_factory=lambda: _NONE)
    cites: Docs = field(default_factory=lambda: _NONE)
    before: str | None = None
    paper: str | None = None
    year: int | None = None
    hidden_paper: str | None = None
    filter_mask: Mask | None = None
    judged: Judged = NOT_JUDGED
    original_terms: TermWeights | None = None
    named: tuple[Docs, Reals] = field(default_factory=lambda: (_NONE, np.zeros(0)))

    @cached_property
    def sentences(self) -> Sequence[str]:
        return self.split or split_sentences(self.text)

    @property
    def texts(self) -> list[str]:
        """The text, and its sentences if there are several."""
        return [self.text, *(self.sentences if len(self.sentences) > 1 else ())]

    @cached_property
    def language(self) -> str | None:
        """The code of the text's language, or ``None`` if unknown."""
        return text_language(self.text)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents found for a query, as aligned arrays with a row for each document.

    - ``signals``: a column for each of ``ranking.features.SIGNALS``;
    - ``raw``: similarities and scores as they are (``RAW``), which show how good the best are;
    - ``term_scores``: what each term of the query adds to BM25;
    - ``probabilities`` of being right, and the log odds that the text ``asks`` for a citation of
      the collection, if they were assessed.

    Without a ranking by several signals, ``signals`` and ``raw`` have no columns.

    ``vectors`` belong to the query's text and sentences, by kind. ``best`` are the best documents
    without filter and feedback marks.
    """

    query: Query
    docs: Docs
    scores: Reals
    signals: Reals
    raw: Reals
    term_scores: Reals | None = None
    probabilities: Reals | None = None
    asks: float = 0.0
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    best: Candidates | None = None

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def hits(self) -> Hits:
        """The documents and their scores."""
        return Hits(self.docs, self.scores)

    def take(self, rows: Docs | Sequence[int]) -> Candidates:
        rows = np.asarray(rows, np.int64)
        columns = ("docs", "scores", "signals", "raw", "term_scores", "probabilities")
        found = {name: getattr(self, name) for name in columns}
        return replace(self, **{n: v[rows] for n, v in found.items() if v is not None})

    def probability(self, row: int) -> float | None:
        """Return the probability that a document is right, or ``None`` if unknown."""
        return None if self.probabilities is None else float(self.probabilities[row])


# --- Documents that may be found ---


class DocumentMasks:
    """Masks over the documents of an index; ``dates`` are theirs, if they are already known."""

    def __init__(
        self, collection: Collection, index: Index, dates: pl.DataFrame | None = None
    ) -> None:
        self._collection, self._index, self._known_dates = collection, index, dates
        self._cache: LruCache[str | Filter, Mask] = LruCache(_CACHED)

    @cached_property
    def present(self) -> Mask | None:
        """Which documents of the index are still in the collection; ``None`` for all."""
        if self._index.is_current():
            return None
        ids = self._collection.scan_documents().select("doc_id").collect()["doc_id"]
        present = np.asarray(self._index.ids.series().is_in(ids.implode()), bool)
        return None if present.all() else present

    def not_later(self, before: str | None) -> Mask | None:
        """Return which documents are not later than a date; ``None`` without a date.

        A document without a date is not later, nor is one with only the date's year.
        """
        from citebed.runs.times import is_later

        def compute() -> Mask:
            later = self._dates.select(is_later(pl.col("date"), pl.lit(before)).fill_null(False))
            return ~np.array(later.to_series(), bool)

        return None if before is None else self._cache.get(before, compute)

    @cached_property
    def _dates(self) -> pl.DataFrame:
        if self._known_dates is not None:
            return self._known_dates
        date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String))
        known = self._collection.scan_documents().select("doc_id", date.alias("date")).collect()
        ids = pl.DataFrame({"doc_id": self._index.ids.series()})
        return ids.join(known, on="doc_id", how="left", maintain_order="left")

    def matching(self, wanted: Filter | None) -> Mask | None:
        """Return which documents pass a filter; ``None`` without a filter."""
        if not wanted:
            return None

        def compute() -> Mask:
            resolved = resolve_filter(self._collection, wanted)
            rows = self._collection.scan_documents().filter(resolved.expression)
            mask = np.zeros(len(self._index.ids), bool)
            mask[find_numbers(self._index, rows.select("doc_id").collect()["doc_id"])] = True
            return mask

        return self._cache.get(wanted, compute)


def resolve_filter(collection: Collection, wanted: Filter) -> Filter:
    """Return a filter with the full names of its venues and authors.

    Raise an error with similar names if no document has a venue, a type or an author.
    """
    named = (("venue", wanted.venues), ("type", wanted.types), ("author", wanted.authors))
    known = dict.fromkeys((kind for kind, _ in named), pl.Series("name", [], pl.String))
    for kind, names in named:
        if names:
            column = pl.col("authors").explode() if kind == "author" else pl.col(kind)
            rows = collection.scan_documents().select(name=column).drop_nulls()
            known[kind] = rows.collect().to_series()
    resolved = wanted.resolve(known["venue"], known["author"])
    for kind, names in named:
        folded = known[kind].str.strip_chars().str.to_lowercase()
        for name in names:
            meant = [name.lower()] if kind == "type" else resolve_names([name], known[kind])
            if not any(each.strip() in folded for each in meant):
                similar = _similar_names(name, known[kind].value_counts(sort=True)["name"])
                hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
                raise CitebedError(f"no document has the {kind} '{name}'.{hint}")
    return resolved


def _similar_names(name: str, known: pl.Series) -> list[str]:
    """Return some of the known names (most frequent first) that contain or resemble a name."""
    from difflib import get_close_matches  # slow to load

    folded, wanted = known.str.to_lowercase(), name.strip().lower()
    containing = known.filter(folded.str.contains(wanted, literal=True)).head(_SUGGESTIONS)
    if len(containing):
        return containing.to_list()
    likely = known.filter(folded.str.starts_with(wanted[:1])).head(_COMPARED).to_list()
    return get_close_matches(name, likely, _SUGGESTIONS)


def find_numbers(index: Index, ids: pl.Series) -> Docs:
    """Return the numbers of documents by id, without documents that are not in the index."""
    if len(ids) < _FEW_NAMES:
        return index.ids.find_all(ids)
    return np.flatnonzero(index.ids.series().is_in(ids.implode()).to_numpy())


def combine_masks(left: Mask | None, right: Mask | None) -> Mask | None:
    """Return the documents in both masks; ``None`` stands for all."""
    if left is None or right is None:
        return right if left is None else left
    return left & right
