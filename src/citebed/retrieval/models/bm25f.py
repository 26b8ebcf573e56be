"""BM25F: BM25 over fields, each with a length normalisation of its own."""

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
from citebed.retrieval.models.bm25 import lucene_idf


@dataclass(frozen=True)
class Bm25f(Model):
    """Fields are normalised by their own length, weighted, added, and only then saturated.

    The engine weights and adds the fields: ``field_tf`` gives it what to add.
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
        """k1 for every document: lengths were dealt with in each field."""
        return np.full(len(stats.lengths), self.k1)

    def field_tf(self, field: str, tf: Numbers, length: Numbers, average_length: float) -> Floats:
        """tf/(1 − b + b·length/average) with the field's own b."""
        own = getattr(self, f"b_{field}", None)
        b = self.b if own is None else own
        ratio = floats(length) / (average_length if average_length > 0 else 1.0)
        return quotient(tf, 1 - b + b * ratio)

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """idf · s/(s + k1), s being the tf of the added fields."""
        return lucene_idf(term.df, stats.documents) * quotient(term.tf, term.tf + term.x)
