"""BM25 in three variants: as in Lucene, over fields, and Okapi."""

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
    """Round lengths to what Lucene (7 and later) stores in one byte.

    ``SmallFloat.intToByte4`` stores lengths up to 24 exactly. Of the excess over 24 it keeps the
    four leading bits and drops the others. Fractional lengths are rounded first.
    """
    above = np.rint(floats(lengths)) - 24
    _, bits = np.frexp(np.maximum(above, 0))  # the bits that a whole number needs
    step = np.ldexp(1.0, np.maximum(bits - 4, 0))
    return np.where(above > 0, np.floor(above / step) * step, above) + 24


@dataclass(frozen=True)
class Bm25f(Model):
    """BM25 over fields: normalise each field by its own length, weight, add, then saturate.

    The engine weights and adds the fields; ``field_tf`` returns the numbers to add.
    """

    name = "bm25f"
    summary = "BM25 over weighted fields, each normalised by its own length."
    formula = (
        "Σ qtf · ln(1 + (N − df + ½)/(df + ½)) · s/(s + k1)\n"
        "s = Σ over fields of weight · tf/(1 − b_field + b_field·length/average)"
    )
    citation = (
        "Zaragoza et al. (2004), Microsoft Cambridge at TREC-13; Robertson, Zaragoza & Taylor "
        "(2004), Simple BM25 Extension to Multiple Weighted Fields"
    )
    edge_cases = (
        "b applies to every field without its own b. With one field of weight 1, documents have "
        "the same order as with bm25 and the same k1 and b. The idf is Lucene's and never "
        "negative; df counts documents with the term in any field."
    )
    example = "bm25f(k1=0.9,b=0.4,b_title=0.1)"

    k1: float = number(0.9, 0, 1000, "higher values count repeated terms more")
    b: float = number(0.4, 0, 1, "how much to normalise for field length")
    b_title: float | None = number(None, 0, 1, "b of the title; b if not given")
    b_abstract: float | None = number(None, 0, 1, "b of the abstract; b if not given")
    b_keywords: float | None = number(None, 0, 1, "b of the keywords; b if not given")
    b_fulltext: float | None = number(None, 0, 1, "b of the full text; b if not given")
    b_citing: float | None = number(None, 0, 1, "b of the citing text; b if not given")

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """Return k1 for every document: ``field_tf`` has normalised the lengths."""
        return np.full(len(stats.lengths), self.k1)

    def field_tf(self, field: str, tf: Numbers, length: Numbers, average_length: float) -> Floats:
        """tf/(1 − b + b·length/average) with the field's own b."""
        own = getattr(self, f"b_{field}", None)
        b = self.b if own is None else own
        ratio = floats(length) / (average_length if average_length > 0 else 1.0)
        return quotient(tf, 1 - b + b * ratio)

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """idf · s/(s + k1), where s is the tf of the added fields."""
        return lucene_idf(term.df, stats.documents) * quotient(term.tf, term.tf + term.x)


@dataclass(frozen=True)
class Okapi(Model):
    """BM25 with the relevance weight of Robertson and Spärck Jones.

    The relevance weight is part of the query weights, not of the impacts, so that feedback can
    replace it. It is negative for a term that most documents contain.
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
