"""The interface of feedback: from a query and some documents it makes a better query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from citebed.grammar import SpecError, Specified, integer, path
from citebed.retrieval.models.base import Corpus, Floats, Model, Numbers, floats

DOCS = 10
"""Number of top documents that count as relevant by default."""


@dataclass(frozen=True, eq=False)
class TermWeights:
    """The distinct terms of a query in the order of their ids, with weights, df and cf.

    If ``final`` is false, the weights are counts (qtf), or play their role, and the model's
    ``query_weights`` must still be applied. If it is true, they are the w_t of the score. If these
    are only the query's terms that a shard contains, ``extra`` holds what the whole query adds
    besides its terms: its document weight and its constant.
    """

    ids: NDArray[np.int64]
    weights: Floats
    df: Numbers
    cf: Numbers
    final: bool = False
    extra: tuple[float, float] | None = None

    def finished(self, model: Model, stats: Corpus) -> TermWeights:
        """Return the same terms with final weights."""
        if self.final:
            return self
        weights = model.query_weights(self.weights, self.df, self.cf, stats)
        return TermWeights(self.ids, weights, self.df, self.cf, final=True)

    def reweighted(self, weights: Floats, *, final: bool) -> TermWeights:
        """Return the same terms with other weights."""
        return TermWeights(self.ids, weights, self.df, self.cf, final)

    def chosen(self, which: Numbers) -> TermWeights:
        """Return the terms selected by a mask or by positions, in the order of their ids."""
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
    """Documents and their terms, concatenated.

    Document i has the distinct terms ``ids[starts[i]:starts[i + 1]]``; ``tf``, ``df`` and ``cf``
    have the same length. Each document has its length, its score in the first search (any number if
    it was judged rather than retrieved) and the model's number x_d. ``nonrelevant`` holds documents
    judged not relevant, if there are any.
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
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def vocabulary(self) -> TermWeights:
        """Return the distinct terms, with weight 0."""
        ids, first = np.unique(self.ids, return_index=True)
        return TermWeights(ids, np.zeros(len(ids)), self.df[first], self.cf[first])

    def totals(self, values: Numbers) -> Floats:
        """Sum the values of the entries for each term of the vocabulary."""
        place = np.searchsorted(self.vocabulary.ids, self.ids)
        return summed(place, values, len(self.vocabulary.ids))


@dataclass(frozen=True)
class Feedback(Specified, ABC):
    """A feedback method: a frozen dataclass of its parameters. It prints as the text that it
    parses.

    Its documents are the first ``docs`` of a first search, assumed to be relevant, or those judged
    relevant in the file ``from``. The caller chooses between them and finds the file.
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
        """True if the documents come from judgements."""
        return self.source is not None

    def check(self, model: Model) -> None:
        """Raise if this method does not support a model. Most methods support all."""

    def expand(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """Return the better query with final weights.

        Without feedback documents, or if they have no text, the query stays the same.
        """
        self.check(model)
        if len(relevant.ids) == 0:
            return query.finished(model, stats)
        return self.expanded(model, query, relevant, stats).finished(model, stats)

    @abstractmethod
    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """Return the better query, given at least one document with text."""


def summed(place: Numbers, values: Numbers, size: int) -> Floats:
    """Sum values by position."""
    return floats(np.bincount(place, weights=floats(values), minlength=size))


def best(candidates: TermWeights, count: int) -> TermWeights:
    """Return the terms with the highest positive weights. The smaller id wins ties."""
    order = np.lexsort((candidates.ids, -candidates.weights))
    order = order[candidates.weights[order] > 0]
    return candidates.chosen(order[:count])


def added(left: TermWeights, right: TermWeights) -> TermWeights:
    """Merge the terms of both, and add their weights; both must be final, or neither."""
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
