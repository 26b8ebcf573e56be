"""Okapi BM25 as Robertson and the Lemur toolkit have it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import number
from citebed.retrieval.models.base import (
    Corpus,
    Floats,
    Model,
    Numbers,
    Occurrences,
    Postings,
    floats,
    quotient,
)


@dataclass(frozen=True)
class Okapi(Model):
    """BM25 with the relevance weight of Robertson and Spärck Jones.

    That weight stands in the query's weights and not in the impacts, so that feedback can put
    another in its place. It is negative for a term that most documents have.
    """

    name = "okapi"
    summary = "Okapi BM25 of Robertson and Lemur, with k3 for repeated query terms."
    formula = (
        "Σ ln((N − df + ½)/(df + ½))\n"
        "  · (k1 + 1)·tf/(tf + k1·(1 − b + b·|d|/avg)) · (k3 + 1)·qtf/(k3 + qtf)\n"
        "avg: the average of |d|"
    )
    citation = (
        "Robertson et al. (1995), Okapi at TREC-3; Robertson & Spärck Jones (1976), Relevance "
        "Weighting of Search Terms"
    )
    edge_cases = (
        "A term in more than half of the documents lowers the score, and one in exactly half of "
        "them has no effect: negative weights stay negative. k3=0 counts every query term once."
    )
    example = "okapi(k1=1.2,b=0.75,k3=7)"
    non_negative = False

    k1: float = number(1.2, 0, 1000, "higher values count repeated terms more")
    b: float = number(0.75, 0, 1, "how much to normalise for document length")
    k3: float = number(7, 0, 1e6, "higher values count terms repeated in the query more")

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """k1·(1 − b + b·|d|/avg)."""
        return self.k1 * (1 - self.b + self.b * (floats(stats.lengths) / stats.average_length))

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """(k1 + 1)·tf/(tf + x)."""
        return (self.k1 + 1) * quotient(term.tf, term.tf + term.x)

    def query_weights(self, qtf: Numbers, df: Numbers, cf: Numbers, stats: Corpus) -> Floats:
        """ln((N − df + ½)/(df + ½)) · (k3 + 1)·qtf/(k3 + qtf)."""
        df = floats(df)
        others = np.maximum(stats.documents - df, 0)
        return np.log((others + 0.5) / (df + 0.5)) * self.saturated(qtf)

    def saturated(self, qtf: Numbers) -> Floats:
        """(k3 + 1)·qtf/(k3 + qtf)."""
        qtf = floats(qtf)
        return quotient((self.k3 + 1) * qtf, self.k3 + qtf)
