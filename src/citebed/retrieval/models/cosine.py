"""The cosine of tf-idf vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import SpecError, choice, number
from citebed.retrieval.models.base import (
    Corpus,
    Floats,
    Model,
    NumberOrArray,
    Numbers,
    Occurrences,
    Postings,
    floats,
    quotient,
)


@dataclass(frozen=True)
class Cosine(Model):
    """The cosine of the angle between query and document, each a vector of tf times idf.

    Computing the norms of documents takes one pass over all postings.
    """

    name = "cosine"
    summary = "The cosine of tf-idf vectors, with Lemur's variants of tf."
    formula = (
        "Σ q_t·d_t/(‖q‖·‖d‖), d_t = T(tf)·idf, q_t = T(qtf)·idf\n"
        "T(tf): tf (raw), ln(1 + tf) (log), k1·tf/(tf + k1) (bm25)\n"
        "idf: ln((N + 1)/(df + ½)) (lemur), ln(N/df) (plain), 1 (none)"
    )
    citation = (
        "Salton, Wong & Yang (1975), A Vector Space Model for Automatic Indexing; Zhai (2001), "
        "Notes on the Lemur TFIDF Model"
    )
    edge_cases = (
        "The query's norm covers its terms in the index. A document or query whose terms all have "
        "idf 0 scores 0. tf=bm25 has no b of its own, because the norm already normalises lengths."
    )
    example = "cosine(tf=log,idf=lemur)"
    sees_all_terms = True

    tf: str = choice("raw", "log", "bm25", about="transformation of the number of occurrences")
    idf: str = choice("lemur", "plain", "none", about="weight of rare terms")
    k1: float | None = number(None, 0.001, 1000, "higher values count repeated terms more; tf=bm25")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tf == "bm25" and self.k1 is None:
            object.__setattr__(self, "k1", 1.0)
        if self.tf != "bm25" and self.k1 is not None:
            raise SpecError(f"cosine: k1 belongs to tf=bm25, and tf={self.tf}. Leave one out.")

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """Return the norm of each document's vector."""
        squares = np.zeros(len(stats.lengths))
        for part in postings.parts():
            component = self.component(part.tf, np.repeat(part.df, part.postings), stats)
            # In a fixed order for any batches: a floating-point sum depends on its order.
            np.add.at(squares, part.docs.astype(np.intp), component**2)
        return np.sqrt(squares)

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """Return the document's component, with its vector normalised to length 1."""
        return quotient(self.component(term.tf, term.df, stats), term.x)

    def query_weights(self, qtf: Numbers, df: Numbers, cf: Numbers, stats: Corpus) -> Floats:
        """Return the query's components, with its vector normalised to length 1."""
        components = self.component(qtf, df, stats)
        return quotient(components, np.sqrt((components**2).sum()))

    def component(self, tf: Numbers, df: NumberOrArray, stats: Corpus) -> Floats:
        """T(tf)·idf."""
        tf, df, documents = floats(tf), floats(df), max(stats.documents, 1)
        if self.tf == "log":
            tf = np.log1p(tf)
        elif self.k1 is not None:
            tf = self.k1 * tf / (tf + self.k1)
        if self.idf == "lemur":
            return tf * np.log((documents + 1) / (np.minimum(df, stats.documents) + 0.5))
        if self.idf == "plain":
            return tf * np.log(documents / np.clip(df, 1, documents))
        return tf * np.ones(df.shape)
