"""BM25 as Lucene and Anserini compute it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import choice, number
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
class Bm25(Model):
    """BM25 with Lucene's idf, which is never negative, and without the factor k1 + 1."""

    name = "bm25"
    summary = "BM25 as in Lucene 8 and later, with Anserini's parameters."
    formula = (
        "Σ qtf · ln(1 + (N − df + ½)/(df + ½)) · tf/(tf + k1·(1 − b + b·|d|/avg))\n"
        "avg: the average of |d|"
    )
    citation = (
        "Robertson & Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond; "
        "Kamphuis et al. (2020), Which BM25 Do You Mean? (the variant 'Lucene (accurate)' for "
        "exact lengths, 'Lucene (default)' for lengths=lucene)"
    )
    edge_cases = (
        "The formula omits the factor k1 + 1, which does not change the order. Lucene stores a "
        "length in one byte, exactly up to 40 and in steps of an eighth to a sixteenth above; "
        "citebed uses exact lengths. lengths=lucene rounds as Lucene does and leaves documents "
        "without text out of N and of the average, so scores agree with Lucene's to the precision "
        "of its floats."
    )
    example = "bm25(k1=0.9,b=0.4)"

    k1: float = number(0.9, 0, 1000, "higher values count repeated terms more")
    b: float = number(0.4, 0, 1, "how much to normalise for document length")
    lengths: str = choice(
        "exact", "lucene", about="exact lengths, or rounded as in Lucene", quiet=True
    )

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """k1·(1 − b + b·|d|/avg)."""
        lengths, average = floats(stats.lengths), stats.average_length
        if self.lengths == "lucene":
            lengths, average = lucene_lengths(lengths), stats.tokens / max(stats.filled, 1) or 1.0
        return self.k1 * (1 - self.b + self.b * lengths / average)

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """idf · tf/(tf + x)."""
        documents = stats.filled if self.lengths == "lucene" else stats.documents
        return lucene_idf(term.df, documents) * quotient(term.tf, term.tf + term.x)


def lucene_idf(df: NumberOrArray, documents: int) -> Floats:
    """ln(1 + (N − df + ½)/(df + ½)), which is positive even for a term in every document."""
    df = floats(df)
    idf: Floats = np.log1p((np.maximum(documents - df, 0) + 0.5) / (df + 0.5))
    return idf


def lucene_lengths(lengths: Numbers) -> Floats:
    """Lengths after a way through the byte in which Lucene (7 and later) keeps them.

    ``SmallFloat.intToByte4``: 24 values are free, and of what a length has above 24 the four
    leading bits are kept, the others cut off. Fractional lengths are rounded first.
    """
    above = np.rint(floats(lengths)) - 24
    _, bits = np.frexp(np.maximum(above, 0))  # the bits that a whole number needs
    step = np.ldexp(1.0, np.maximum(bits - 4, 0))
    return np.where(above > 0, np.floor(above / step) * step, above) + 24
