"""One query in, one result out: what is asked of an index, and the documents that answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged
from citebed.retrieval.search.searcher import Hits
from citebed.text.languages import language_of
from citebed.text.sentences import split_sentences
from citebed.text.words import ENOUGH

if TYPE_CHECKING:
    from citebed.retrieval.vectors.vectors import Vectors

Docs = NDArray[np.int64]
Reals = NDArray[np.float64]
_NONE: Docs = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Query:
    """What is asked: a text and its terms, what must not be found, as of when, and who asks.

    ``raw`` is the text as it came, ``text`` what of it is searched for, ``split`` its sentences
    where they are known already. Documents are ``excluded`` by number; ``cites`` are those that the
    text cites elsewhere. Nothing later than ``before`` is found, and nothing but what is ``among``
    those (a mask over all documents). ``paper`` is the one that asks, in its ``year``; its citing
    text is taken out of the index where it is ``hidden``. ``judged`` is what a person said of
    documents for this text, and ``own_terms`` are those that it had before.
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
    hidden: str | None = None
    among: NDArray[np.bool_] | None = None
    judged: Judged = NOT_JUDGED
    own_terms: TermWeights | None = None

    @cached_property
    def sentences(self) -> Sequence[str]:
        """The sentences of the text."""
        return self.split or split_sentences(self.text)

    @cached_property
    def language(self) -> str | None:
        """The code of the text's language, where it can be told."""
        return language_of(None, None, self.text[:ENOUGH])

    @property
    def unwanted(self) -> Docs:
        """The documents that are never found."""
        if not len(self.judged.nonrelevant):
            return self.excluded
        return np.concatenate([self.excluded, self.judged.nonrelevant])

    def lets_through(self, docs: Docs) -> NDArray[np.bool_]:
        """Which of the documents that may be found for such texts are asked for here: those that
        it asks ``among``, but for what is not right."""
        asked = np.ones(len(docs), bool) if self.among is None else self.among[docs]
        return asked & ~np.isin(docs, self.judged.nonrelevant)

    @property
    def texts(self) -> list[str]:
        """The text, and its sentences where there are several."""
        return [self.text, *(self.sentences if len(self.sentences) > 1 else ())]


class Features(NamedTuple):
    """Candidates, and their signals: a column for each, and ``raw`` similarities and scores, which
    say how good the best is; ``shares`` are what each term of the query adds to
    a document's BM25."""

    docs: Docs
    values: Reals
    raw: Reals
    shares: Reals | None = None

    def only(self, places: Docs) -> Features:
        """Only the documents at some places."""
        shares = None if self.shares is None else self.shares[places]
        return Features(self.docs[places], self.values[places], self.raw[places], shares)


@dataclass(frozen=True, eq=False)
class Result:
    """The best documents for a query, whose terms feedback may have changed.

    A ranking by several signals also has the documents' ``features``, row by row, the ``vectors``
    of the query's text and sentences by kind, and where that was learned with the models at hand
    the ``probabilities`` that documents are right; ``min_probability`` is that of a good match.
    ``of_all`` are features of the best of all documents, where the query asks among some.
    """

    query: Query
    hits: Hits
    features: Features | None = None
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    probabilities: Reals | None = None
    min_probability: float = 0.0
    of_all: Features | None = None

    def probability(self, place: int) -> float | None:
        """How likely the document at a place is right, where that was learned."""
        return None if self.probabilities is None else float(self.probabilities[place])

    def is_unlikely(self, place: int) -> bool:
        """Whether the document at a place is less likely to be right than a good match."""
        probability = self.probability(place)
        return probability is not None and probability < self.min_probability

    def only(self, places: Sequence[int] | NDArray[np.int64]) -> Result:
        """The result with only the documents at some places."""
        those = np.asarray(places, np.int64)
        chosen = self.probabilities
        return replace(
            self,
            hits=Hits(self.hits.docs[those], self.hits.scores[those]),
            features=None if self.features is None else self.features.only(those),
            probabilities=None if chosen is None else chosen[those],
        )

    def without_those_below(self, probability: float) -> Result:
        """The result with only those documents that are as likely to be right."""
        if self.probabilities is None:
            return self
        return self.only(np.flatnonzero(self.probabilities >= probability))

    def at_least(self, probability: float) -> Result:
        """The same for a probability that somebody asked for: then none of the documents is
        unlikely. Where it is not known, any document has that of 0, and there is no other."""
        if not 0 <= probability <= 1:
            raise CitebedError(f"the least chance is {probability}; expected a number from 0 to 1")
        if probability and self.probabilities is None:
            raise CitebedError(
                "how likely an answer is knows only a ranking that learned it with the vectors of "
                "the index: leave out the least chance, or recommend with bm25+learned"
            )
        return replace(self.without_those_below(probability), min_probability=0.0)
