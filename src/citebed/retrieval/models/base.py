"""The interface of a retrieval model: a few functions of arrays that make up every score.

A document's score for a query is

    constant + document_weight · g(d) + Σ w_t · f(tf, df, cf, x_d)

summed over the query's terms that the document contains. ``impacts`` computes ``f``,
``per_document`` computes ``x_d``, ``document_scores`` computes ``g``, and ``query_weights`` or
feedback computes ``w_t``. Models differ only in these functions; the search engine treats all
models alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from citebed.grammar import Specified

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""An array of counts: integers, or fractions if fields are weighted."""

NumberOrArray = NDArray[Any] | float
"""One number per posting or query term, or a single number for all."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Statistics of a collection with the chosen weights of the fields.

    ``lengths``: the (weighted) tokens of each document; ``unique``: its distinct terms; ``tokens``:
    the sum of the lengths. For a shard, ``documents``, ``tokens`` and ``with_text`` (the number of
    documents with text) describe the whole collection.
    """

    documents: int
    lengths: NDArray[np.float32]
    unique: NDArray[np.int32]
    tokens: float
    with_text: int | None = None

    @property
    def average_length(self) -> float:
        """Average number of tokens of a document; 1 for an empty collection, to allow division."""
        return self.tokens / self.documents if self.documents and self.tokens > 0 else 1.0

    @cached_property
    def filled(self) -> int:
        """The number of documents with text."""
        found = self.with_text
        return int(np.count_nonzero(self.lengths)) if found is None else found


class Occurrences(NamedTuple):
    """Terms in documents, one item per posting.

    ``tf`` is the frequency; ``df`` and ``cf`` belong to the term, and are single numbers if there
    is only one term. ``x`` is the number x_d of the posting's document.
    """

    tf: Numbers
    df: NumberOrArray
    cf: NumberOrArray
    x: Numbers


class TermRange(NamedTuple):
    """Consecutive terms: the document and tf of each posting, and three numbers per term.

    ``postings`` is the number of postings of each term, followed by its df and cf. In an index of
    all documents, df is the number of postings. ``terms`` are the numbers of the terms, and
    ``by_field`` their occurrences in each field.
    """

    docs: Numbers
    tf: Numbers
    postings: Numbers
    df: Numbers
    cf: Numbers
    terms: slice
    by_field: Mapping[str, Numbers]

    def occurrences(self, x: Numbers) -> Occurrences:
        """Return the postings in the form that models use; ``x`` holds x_d for every document."""
        df, cf = (np.repeat(each, self.postings) for each in (self.df, self.cf))
        return Occurrences(self.tf, df, cf, x[self.docs])


class Postings(Protocol):
    """The whole index, read in parts, for models that must read every posting once."""

    def parts(self) -> Iterator[TermRange]:
        """Yield all terms in consecutive ranges."""


class Model(Specified, ABC):
    """A retrieval model: a frozen dataclass of its parameters. It prints as the text that it
    parses.
    """

    kind = "model"
    non_negative: ClassVar[bool] = True
    """True if impacts and query weights cannot be negative, so that a term never lowers a score."""
    sees_all_terms: ClassVar[bool] = False
    """True if ``per_document`` needs the frequencies of all terms."""
    log_scores: ClassVar[bool] = False
    """True if scores are logarithms of probabilities, so that ``exp`` turns them into weights."""

    @property
    def uses_unique(self) -> bool:
        """True if the model needs ``Corpus.unique``, which takes a pass over the index."""
        return False

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """Return the number x_d of each document; zeros if the model needs none."""
        return np.zeros(len(stats.lengths))

    @abstractmethod
    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """f: return what a term adds to a document's score per unit of query weight."""

    def document_scores(self, stats: Corpus) -> Floats | None:
        """g: return the part of a document's score that depends on no term; ``None`` for none."""
        return None

    def document_weight(self, weights: Floats) -> float:
        """Return the factor of g for a query."""
        return float(weights.sum())

    def query_weights(self, qtf: Numbers, df: Numbers, cf: Numbers, stats: Corpus) -> Floats:
        """Return w_t of the query's terms, given their counts in the query (by default the
        counts).
        """
        return floats(qtf)

    def constant(self, weights: Floats, df: Numbers, cf: Numbers, stats: Corpus) -> float:
        """Return the constant that is added to every document's score."""
        return 0.0

    def field_tf(self, field: str, tf: Numbers, length: Numbers, average_length: float) -> Numbers:
        """Return the tf of a field, before fields are weighted and added. Most models keep it.

        ``length`` is the field's length in the document of each posting.
        """
        return tf


def floats(values: NumberOrArray) -> Floats:
    """Convert to an array of doubles."""
    return np.asarray(values, dtype=np.float64)


def quotient(above: NumberOrArray, below: NumberOrArray) -> Floats:
    """Return ``above / below``, and 0 where ``below`` is 0."""
    top, bottom = np.broadcast_arrays(floats(above), floats(below))
    result: Floats = np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)
    return result


def distribution(counts: Numbers) -> Floats:
    """Convert counts to probabilities; all are 0 if the counts are."""
    return quotient(counts, floats(counts).sum())
