"""What a retrieval model is: a few functions of arrays, from which every score is made.

A document's score for a query is

    constant + document_weight · g(d) + Σ w_t · f(tf, df, cf, x_d)

summed over the query's terms that the document has. ``f`` is ``impacts``, ``x_d`` comes from
``per_document``, ``g`` from ``document_scores``, ``w_t`` from ``query_weights`` or from feedback.
Models differ only in these; the search engine knows no model by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from citebed.grammar import Specified

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""An array of counts, whole or (with weighted fields) fractional."""

NumberOrArray = NDArray[Any] | float
"""Per posting or per query term, or one number for all."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """A collection in numbers, under the chosen weights of the fields.

    ``lengths``: the (weighted) tokens of each document; ``unique``: its distinct terms;
    ``tokens``: the sum of the lengths. Where lengths are those of a shard, ``documents``,
    ``tokens`` and ``with_text`` (the documents that have any) are those of the whole collection.
    """

    documents: int
    lengths: NDArray[np.float32]
    unique: NDArray[np.int32]
    tokens: float
    with_text: int | None = None

    @property
    def average_length(self) -> float:
        """Tokens of a document on average; 1 where there are none, so that one can divide."""
        return self.tokens / self.documents if self.documents and self.tokens > 0 else 1.0

    @cached_property
    def filled(self) -> int:
        """The documents that have any text."""
        found = self.with_text
        return int(np.count_nonzero(self.lengths)) if found is None else found


class Occurrences(NamedTuple):
    """Terms in documents, posting by posting: ``tf``, the terms' ``df`` and ``cf`` (or those of
    one term), and the number x_d of each posting's document."""

    tf: Numbers
    df: NumberOrArray
    cf: NumberOrArray
    x: Numbers


class TermRange(NamedTuple):
    """Some terms one after another: documents and tf of each posting; how many ``postings`` each
    term has, and its df and cf. In an index of all documents df is the number of postings."""

    docs: Numbers
    tf: Numbers
    postings: Numbers
    df: Numbers
    cf: Numbers

    def occurrences(self, x: Numbers) -> Occurrences:
        """The postings as a model takes them; ``x`` are the documents' numbers x_d."""
        df, cf = (np.repeat(each, self.postings) for each in (self.df, self.cf))
        return Occurrences(self.tf, df, cf, x[self.docs])


class Postings(Protocol):
    """The whole index, read in parts; for models that need to see every posting once."""

    def parts(self) -> Iterator[TermRange]:
        """All terms, some at a time."""


class Model(Specified, ABC):
    """A retrieval model: a frozen dataclass of its parameters that prints as it is written."""

    kind = "model"
    non_negative: ClassVar[bool] = True
    """Whether neither impacts nor query weights can be negative, so that a term only adds."""
    sees_all_terms: ClassVar[bool] = False
    """Whether ``per_document`` asks for the frequencies of all terms."""
    log_scores: ClassVar[bool] = False
    """Whether scores are logarithms of probabilities, so that ``exp`` makes weights of them."""

    @property
    def uses_unique(self) -> bool:
        """Whether the model asks for ``Corpus.unique``, which takes a pass over the index."""
        return False

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """The number x_d of each document; zeros for models that need none."""
        return np.zeros(len(stats.lengths))

    @abstractmethod
    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """f: what a term adds to a document's score for each unit of query weight."""

    def document_scores(self, stats: Corpus) -> Floats | None:
        """g: what a document gets whatever its terms; ``None`` for nothing."""
        return None

    def document_weight(self, weights: Floats) -> float:
        """The factor of g for a query."""
        return float(weights.sum())

    def query_weights(self, qtf: Numbers, df: Numbers, cf: Numbers, stats: Corpus) -> Floats:
        """w_t of the query's terms, given how often the query has them: that often, for most."""
        return floats(qtf)

    def constant(self, weights: Floats, df: Numbers, cf: Numbers, stats: Corpus) -> float:
        """What every document's score gets."""
        return 0.0

    def field_tf(self, field: str, tf: Numbers, length: Numbers, average_length: float) -> Numbers:
        """The tf of a field before fields are weighted and added; unchanged for most models.

        ``length`` is the field's length in each posting's document.
        """
        return tf


def floats(values: NumberOrArray) -> Floats:
    """As an array of doubles."""
    return np.asarray(values, dtype=np.float64)


def quotient(above: NumberOrArray, below: NumberOrArray) -> Floats:
    """``above / below``, and 0 where ``below`` is 0: nothing out of nothing."""
    top, bottom = np.broadcast_arrays(floats(above), floats(below))
    result: Floats = np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)
    return result


def distribution(counts: Numbers) -> Floats:
    """Counts as probabilities; no counts give no probability."""
    return quotient(counts, floats(counts).sum())
