"""What feedback is: a query, some documents, and from them a better query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from citebed.grammar import SpecError, Specified, integer, path
from citebed.retrieval.models.base import Corpus, Floats, Model, Numbers, floats

DOCS = 10
"""How many documents from the top are taken for relevant where nothing else is said."""


@dataclass(frozen=True, eq=False)
class TermWeights:
    """The terms of a query with their weights, df and cf; ids ascending, each once.

    While ``final`` is false, weights are counts (qtf) or stand for counts, and the model's
    ``query_weights`` are yet to be applied; once it is true, they are the w_t of the score.
    Where these are only those of a query's terms that a shard has, ``extra`` is what the whole
    query adds beside its terms: its document weight, and its constant.
    """

    ids: NDArray[np.int64]
    weights: Floats
    df: Numbers
    cf: Numbers
    final: bool = False
    extra: tuple[float, float] | None = None

    def finished(self, model: Model, stats: Corpus) -> TermWeights:
        """The same with final weights."""
        if self.final:
            return self
        weights = model.query_weights(self.weights, self.df, self.cf, stats)
        return TermWeights(self.ids, weights, self.df, self.cf, final=True)

    def reweighted(self, weights: Floats, *, final: bool) -> TermWeights:
        """The same terms with other weights."""
        return TermWeights(self.ids, weights, self.df, self.cf, final)

    def chosen(self, which: Numbers) -> TermWeights:
        """Some of the terms, given by a mask or by positions; ids ascending again."""
        ids = self.ids[which]
        order = np.argsort(ids, kind="stable")
        return TermWeights(
            ids[order],
            self.weights[which][order],
            self.df[which][order],
            self.cf[which][order],
            self.final,
        )


@dataclass(frozen=True, eq=False)
class FeedbackDocuments:
    """Documents with their terms, one after another.

    Document i has the terms ``ids[starts[i]:starts[i + 1]]``, each once, and of the same length
    ``tf``, ``df`` and ``cf``. For each document there is its length, its score in the first search
    (any number where it was judged and not searched) and the model's number x_d.
    ``nonrelevant`` are documents judged not relevant, where there are any.
    """

    starts: NDArray[np.int64]
    ids: NDArray[np.int64]
    tf: Numbers
    df: Numbers
    cf: Numbers
    lengths: Numbers
    scores: Floats
    x: Floats
    nonrelevant: FeedbackDocuments | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The document of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def vocabulary(self) -> TermWeights:
        """The distinct terms, with weight 0."""
        ids, first = np.unique(self.ids, return_index=True)
        return TermWeights(ids, np.zeros(len(ids)), self.df[first], self.cf[first])

    def totals(self, values: Numbers) -> Floats:
        """Values of the entries added up for each term of the vocabulary."""
        place = np.searchsorted(self.vocabulary.ids, self.ids)
        return summed(place, values, len(self.vocabulary.ids))


@dataclass(frozen=True)
class Feedback(Specified, ABC):
    """A way to a better query: a frozen dataclass of its parameters that prints as written.

    Documents are the first ``docs`` of a first search, taken for relevant, or those judged
    relevant in the file ``from``; which of the two, and where the file lies, is for the caller
    to see to.
    """

    kind = "feedback"

    docs: int | None = integer(
        None, 1, 100_000, f"number of top documents to use as relevant; {DOCS}"
    )
    terms: int = integer(20, 1, 1_000_000, "number of terms to add")
    source: str | None = path("a qrels file; use its relevant documents instead", name="from")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.source is not None and self.docs is not None:
            raise SpecError(
                f"{self.name}: docs={self.docs} and from={self.source} exclude each other: either "
                "documents from the top or judged ones. Leave one out."
            )
        if self.source is None and self.docs is None:
            object.__setattr__(self, "docs", DOCS)

    @property
    def judged(self) -> bool:
        """Whether documents come from judgements."""
        return self.source is not None

    def check(self, model: Model) -> None:
        """Refuse a model that this feedback cannot serve; most serve all."""

    def expand(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """The better query, its weights final.

        A query without feedback documents (or with documents without text) stays as it is.
        """
        self.check(model)
        if len(relevant.ids) == 0:
            return query.finished(model, stats)
        return self.expanded(model, query, relevant, stats).finished(model, stats)

    @abstractmethod
    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """The better query, given at least one document with text."""


def summed(place: Numbers, values: Numbers, size: int) -> Floats:
    """Values added up by place."""
    return floats(np.bincount(place, weights=floats(values), minlength=size))


def best(candidates: TermWeights, count: int) -> TermWeights:
    """The terms of the highest positive weights, the smaller id first where weights are equal."""
    order = np.lexsort((candidates.ids, -candidates.weights))
    order = order[candidates.weights[order] > 0]
    return candidates.chosen(order[:count])


def added(left: TermWeights, right: TermWeights) -> TermWeights:
    """The terms of both, with weights added; both final or both not."""
    ids = np.concatenate([left.ids, right.ids])
    unique, first, place = np.unique(ids, return_index=True, return_inverse=True)
    weights = np.concatenate([left.weights, right.weights])
    return TermWeights(
        unique.astype(np.int64),
        summed(place, weights, len(unique)),
        np.concatenate([left.df, right.df])[first],
        np.concatenate([left.cf, right.cf])[first],
        left.final,
    )
