"""What language models share: a document's model is smoothed with the collection's.

All four methods have one form. A document speaks as if it held, beside its own (discounted)
tokens, ``x_d`` tokens drawn from the collection:

    P(t|d) = α_d · (max(tf − δ, 0)/x_d + p(t|C)) = α_d · p(t|C) · (1 + s)

with s = max(tf − δ, 0)/(x_d · p(t|C)), which is 0 for a term that the document has not. So
log P(t|d) = log α_d + log p(t|C) + log(1 + s), and only the last part asks for the term's count.

    method            α_d                          x_d
    Dirichlet         μ/(|d| + μ)                  μ
    Jelinek-Mercer    λ                            λ|d|/(1 − λ)
    absolute          δ|d|ᵤ/|d|                    δ|d|ᵤ
    two-stage         (μ + λ|d|)/(|d| + μ)         (μ + λ|d|)/(1 − λ)

λ is the weight of the collection, |d|ᵤ the number of distinct terms (Zhai & Lafferty 2001, A
Study of Smoothing Methods for Language Models; 2002, Two-Stage Language Models).
"""

from __future__ import annotations

import numpy as np

from citebed.retrieval.models.base import (
    Corpus,
    Floats,
    Model,
    NumberOrArray,
    Numbers,
    Occurrences,
    Postings,
    distribution,
    floats,
)

MU, LAMBDA, DELTA = (0.001, 1e9), (0.001, 0.999), (0.001, 1.0)
"""Ranges; at their open ends the formulas would take the logarithm of 0."""

_TINY = 1e-9  # for documents without text, which have no postings: any positive number does


def background(cf: NumberOrArray, stats: Corpus) -> Floats:
    """p(t|C) = cf/|C|; a term that never occurs counts as half an occurrence, as in Indri."""
    cf = floats(cf)
    return np.where(cf > 0, cf, 0.5) / (stats.tokens if stats.tokens > 0 else 1.0)


class LanguageModel(Model):
    """A model whose scores are logarithms of smoothed probabilities P(t|d).

    The smoothing is Dirichlet's (``mu``), Jelinek-Mercer's (``lam``), both (two-stage), or
    absolute (``delta``). α_d is the share that the collection has in a document's model.
    """

    log_scores = True
    mu: float | None = None
    lam: float | None = None
    delta: float | None = None

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """x_d: how many tokens the collection's model counts for in each document."""
        if self.delta is not None:
            return np.maximum(self.delta * floats(stats.unique), _TINY)
        lam, mu = self.lam or 0.0, self.mu or 0.0
        return np.maximum((mu + lam * floats(stats.lengths)) / (1 - lam), _TINY)

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """log(1 + s), which is ln(P(t|d)/(α_d·p(t|C))): what it adds that a document has the term.

        With Dirichlet's smoothing it is ln(1 + tf/(μ·p(t|C))).
        """
        counted = np.maximum(floats(term.tf) - (self.delta or 0.0), 0.0)
        gain: Floats = np.log1p(counted / (floats(term.x) * background(term.cf, stats)))
        return gain

    def document_scores(self, stats: Corpus) -> Floats:
        """ln α_d; with Dirichlet's smoothing ln(μ/(|d| + μ)).

        A document without text is the collection's model, α = 1.
        """
        lengths = floats(stats.lengths)
        if self.delta is not None:
            above, below = self.delta * floats(stats.unique), lengths
        else:
            lam, mu = self.lam or 0.0, self.mu or 0.0
            above, below = mu + lam * lengths, mu + lengths
        empty = lengths <= 0
        shares: Floats = np.log(np.where(empty, 1.0, above)) - np.log(np.where(empty, 1.0, below))
        return shares

    def query_weights(self, qtf: Numbers, df: Numbers, cf: Numbers, stats: Corpus) -> Floats:
        """p(t|Q) = qtf/|Q|."""
        return distribution(qtf)
