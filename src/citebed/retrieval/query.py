"""A query and its candidates: the text to search with, and a table of the documents found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged
from citebed.retrieval.search.searcher import Hits
from citebed.text.languages import language_of
from citebed.text.sentences import split_sentences
from citebed.text.words import ENOUGH

if TYPE_CHECKING:
    from citebed.retrieval.vectors.vectors import Vectors

Docs = NDArray[np.int64]
Mask = NDArray[np.bool_]
Reals = NDArray[np.float64]
_NONE: Docs = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Query:
    """A text to search with, its terms, and the documents that may be found.

    ``raw`` is the text as given, ``text`` the part to search with, and ``split`` its sentences if
    known. Documents are numbers: those in ``excluded`` are never found; ``cites`` are documents
    that the text cites elsewhere. ``before`` is a date, ``filter_mask`` a mask over all documents.
    ``paper`` is the citing paper, of a ``year``; its citing text is removed from the index if
    ``hidden_paper`` is set. ``judged`` is the user's feedback; ``original_terms`` are the terms
    before feedback changed them.
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

    @cached_property
    def sentences(self) -> Sequence[str]:
        """The sentences of the text."""
        return self.split or split_sentences(self.text)

    @property
    def texts(self) -> list[str]:
        """The text, and its sentences if there are several."""
        return [self.text, *(self.sentences if len(self.sentences) > 1 else ())]

    @cached_property
    def language(self) -> str | None:
        """The code of the text's language, or ``None`` if unknown."""
        return language_of(None, None, self.text[:ENOUGH])


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents found for a query, as aligned arrays with a row for each document.

    - ``signals``: a column for each of ``ranking.features.SIGNALS``;
    - ``raw``: similarities and scores as they are (``RAW``), which show how good the best are;
    - ``term_scores``: what each term of the query adds to BM25;
    - ``probabilities`` of being right, if they were learned with these models.

    Without a ranking by several signals, ``signals`` and ``raw`` have no columns.

    ``vectors`` belong to the query's text and sentences, by kind. ``min_probability`` is the lowest
    of a good match. ``best`` are the best documents without filter and feedback marks.
    """

    query: Query
    docs: Docs
    scores: Reals
    signals: Reals
    raw: Reals
    term_scores: Reals | None = None
    probabilities: Reals | None = None
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    min_probability: float = 0.0
    best: Candidates | None = None

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def has_signals(self) -> bool:
        """True after a ranking by several signals."""
        return bool(self.signals.shape[1])

    @property
    def hits(self) -> Hits:
        """The documents and their scores."""
        return Hits(self.docs, self.scores)

    def take(self, rows: Docs | Sequence[int]) -> Candidates:
        """Return the candidates in some rows."""
        rows = np.asarray(rows, np.int64)
        columns = ("docs", "scores", "signals", "raw", "term_scores", "probabilities")
        found = {name: getattr(self, name) for name in columns}
        return replace(self, **{n: v[rows] for n, v in found.items() if v is not None})

    def probability(self, row: int) -> float | None:
        """Return the probability that a document is right, or ``None`` if unknown."""
        return None if self.probabilities is None else float(self.probabilities[row])
