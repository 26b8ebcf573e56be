"""A tiny collection as arrays, and the engine's sum over all documents, for tests of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from citebed.grammar import Parameter, SpecError, Specified
from citebed.retrieval.feedback import FEEDBACK, Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.models import MODELS, Corpus, Model
from citebed.retrieval.models.base import Occurrences, TermRange

DOCS = [["a", "b", "a"], ["b", "c"], ["a", "c", "c", "d"], ["e"]]
"""N 4, |C| 10, average 2.5; df a 2, b 2, c 2, d 1, e 1; cf a 3, b 2, c 3, d 1, e 1."""


@dataclass(frozen=True)
class Tiny:
    """An index of a list of documents; terms are numbered in alphabetical order."""

    docs: list[list[str]]

    @cached_property
    def words(self) -> list[str]:
        return sorted({word for doc in self.docs for word in doc})

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """tf by document and term."""
        rows = [[doc.count(word) for word in self.words] for doc in self.docs]
        return np.array(rows, dtype=float).reshape(len(self.docs), len(self.words))

    @cached_property
    def df(self) -> NDArray[np.int64]:
        return np.count_nonzero(self.counts, axis=0)

    @cached_property
    def cf(self) -> NDArray[np.float64]:
        return self.counts.sum(axis=0)

    @cached_property
    def stats(self) -> Corpus:
        return Corpus(
            len(self.docs),
            self.counts.sum(axis=1).astype(np.float32),
            np.count_nonzero(self.counts, axis=1).astype(np.int32),
            float(self.counts.sum()),
        )

    def parts(self) -> Iterator[TermRange]:
        """One part a term, so that a model must add parts up."""
        for term in range(len(self.words)):
            docs = np.flatnonzero(self.counts[:, term])
            df, cf = self.df[[term]], self.cf[[term]]
            yield TermRange(docs, self.counts[docs, term], df, df, cf, slice(term, term + 1), {})

    def query(self, words: list[str]) -> TermWeights:
        found = Counter(word for word in words if word in self.words)
        ids = np.array(sorted(self.words.index(word) for word in found), dtype=np.int64)
        weights = np.array([found[self.words[term]] for term in ids], dtype=float)
        return TermWeights(ids, weights, self.df[ids], self.cf[ids])

    def scores(self, model: Model, query: TermWeights) -> NDArray[np.float64]:
        """constant + document_weight · g + Σ w · f, for all documents."""
        x = model.per_document(self.stats, self)
        query = query.finished(model, self.stats)
        base = model.constant(query.weights, query.df, query.cf, self.stats)
        scores = np.full(len(self.docs), base)
        given = model.document_scores(self.stats)
        if given is not None:
            scores += model.document_weight(query.weights) * given
        for term, weight in zip(query.ids, query.weights, strict=True):
            has = self.counts[:, term] > 0
            tf = self.counts[has, term]
            impacts = model.impacts(
                Occurrences(tf, self.df[term], self.cf[term], x[has]), self.stats
            )
            scores[has] += weight * impacts
        return scores

    def feedback_documents(
        self, model: Model, rows: list[int], query: TermWeights, others: list[int] | None = None
    ) -> FeedbackDocuments:
        """Documents as the engine hands them to feedback."""
        terms = [np.flatnonzero(self.counts[row]) for row in rows]
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *terms])
        tf = np.concatenate(
            [np.zeros(0), *(self.counts[r, t] for r, t in zip(rows, terms, strict=True))]
        )
        return FeedbackDocuments(
            starts=np.cumsum([0, *map(len, terms)]),
            ids=ids,
            tf=tf,
            df=self.df[ids],
            cf=self.cf[ids],
            lengths=self.stats.lengths[rows],
            scores=self.scores(model, query)[rows],
            x=model.per_document(self.stats, self)[rows],
            nonrelevant=self.feedback_documents(model, others, query) if others else None,
        )

    def by_word(self, weights: TermWeights) -> dict[str, float]:
        pairs = zip(weights.ids, weights.weights, strict=True)
        return {self.words[term]: float(weight) for term, weight in pairs}


# --- what hypothesis makes up ---------------------------------------------------------------

TEXTS = st.lists(st.sampled_from("abcdefg"), max_size=9)
COLLECTIONS = st.lists(TEXTS, min_size=1, max_size=6).filter(any).map(Tiny)
QUERIES = st.lists(st.sampled_from("abcdefgz"), min_size=1, max_size=6)


SomeSpelled = TypeVar("SomeSpelled", bound=Specified)


def values(parameter: Parameter) -> st.SearchStrategy[object]:
    """Values of a parameter, over its whole range."""
    if parameter.kind == "choice":
        return st.sampled_from(parameter.choices)
    if parameter.kind == "path":
        return st.text(min_size=1, max_size=12)
    if parameter.kind == "integer":
        return st.integers(int(parameter.low), int(parameter.high))
    usual = st.floats(parameter.low, parameter.high)
    return usual | st.sampled_from([parameter.low, parameter.high])


@st.composite
def spelled(draw: st.DrawFn, kind: type[SomeSpelled]) -> SomeSpelled:
    """A value of a class with some of its parameters given."""
    given = {
        parameter.attribute: draw(values(parameter))
        for parameter in kind.parameters()
        if draw(st.booleans())
    }
    try:
        return kind(**given)
    except SpecError:  # parameters that exclude each other
        assume(False)
        raise


def any_model() -> st.SearchStrategy[Model]:
    return st.sampled_from(list(MODELS.values())).flatmap(spelled)


def any_feedback() -> st.SearchStrategy[Feedback]:
    return st.sampled_from(list(FEEDBACK.values())).flatmap(spelled)
