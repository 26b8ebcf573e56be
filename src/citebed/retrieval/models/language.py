"""The base of language models: a document's model is smoothed with the collection's.

All four methods have one form. A document counts as if it had, besides its own (discounted)
tokens, ``x_d`` tokens drawn from the collection:

    P(t|d) = α_d · (max(tf − δ, 0)/x_d + p(t|C)) = α_d · p(t|C) · (1 + s)

with s = max(tf − δ, 0)/(x_d · p(t|C)), which is 0 for a term that the document lacks. So
log P(t|d) = log α_d + log p(t|C) + log(1 + s), and only the last part needs the term's count.

    method            α_d                          x_d
    Dirichlet         μ/(|d| + μ)                  μ
    Jelinek-Mercer    λ                            λ|d|/(1 − λ)
    absolute          δ|d|ᵤ/|d|                    δ|d|ᵤ
    two-stage         (μ + λ|d|)/(|d| + μ)         (μ + λ|d|)/(1 − λ)

λ is the weight of the collection, |d|ᵤ the number of distinct terms (Zhai & Lafferty 2001, A
Study of Smoothing Methods for Language Models; 2002, Two-Stage Language Models)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import SpecError, number
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
"""Ranges of the parameters. At the open ends the formulas would take the logarithm of 0."""

_TINY = 1e-9  # For documents without text: they have no postings, so any positive number works.


def background(cf: NumberOrArray, stats: Corpus) -> Floats:
    """p(t|C) = cf/|C|; a term that never occurs counts as half an occurrence, as in Indri."""
    cf = floats(cf)
    return np.where(cf > 0, cf, 0.5) / (stats.tokens if stats.tokens > 0 else 1.0)


class LanguageModel(Model):
    """A model whose scores are logarithms of smoothed probabilities P(t|d).

    The smoothing is Dirichlet (``mu``), Jelinek-Mercer (``lam``), two-stage (both), or absolute
    discounting (``delta``). α_d is the weight of the collection in a document's model.
    """

    log_scores = True
    mu: float | None = None
    lam: float | None = None
    delta: float | None = None

    def per_document(self, stats: Corpus, postings: Postings) -> Floats:
        """x_d: the number of tokens that the collection's model counts for in each document."""
        if self.delta is not None:
            return np.maximum(self.delta * floats(stats.unique), _TINY)
        lam, mu = self.lam or 0.0, self.mu or 0.0
        return np.maximum((mu + lam * floats(stats.lengths)) / (1 - lam), _TINY)

    def impacts(self, term: Occurrences, stats: Corpus) -> Floats:
        """log(1 + s), which is ln(P(t|d)/(α_d·p(t|C))): what the presence of the term adds.

        With Dirichlet smoothing it is ln(1 + tf/(μ·p(t|C))).
        """
        counted = np.maximum(floats(term.tf) - (self.delta or 0.0), 0.0)
        gain: Floats = np.log1p(counted / (floats(term.x) * background(term.cf, stats)))
        return gain

    def document_scores(self, stats: Corpus) -> Floats:
        """ln α_d; with Dirichlet smoothing ln(μ/(|d| + μ)).

        The model of a document without text is the collection's model, with α = 1.
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


@dataclass(frozen=True)
class Ql(LanguageModel):
    """Query likelihood: the mean log probability of the query's terms in the document."""

    name = "ql"
    summary = "Indri's query likelihood, #combine of the query's terms with Dirichlet smoothing."
    formula = "1/|Q| · Σ qtf · ln((tf + μ·p(t|C))/(|d| + μ))"
    citation = (
        "Ponte & Croft (1998), A Language Modeling Approach to Information Retrieval; Metzler & "
        "Croft (2004), Combining the Language Model and Inference Network Approaches to Retrieval"
    )
    edge_cases = (
        "The ranking equals kl's with the same mu; each score is kl's minus the entropy of the "
        "query. citebed drops query terms that are not in the index and ranks only documents with "
        "a query term, while Indri can rank others."
    )
    example = "ql(mu=2500)"

    mu: float = number(2500, *MU, "tokens that the collection counts for")

    def constant(self, weights: Floats, df: Numbers, cf: Numbers, stats: Corpus) -> float:
        """Σ w·ln p(t|C)."""
        return float(weights @ np.log(background(cf, stats)))


@dataclass(frozen=True)
class Kl(LanguageModel):
    """KL divergence: rank documents by how little their language model differs from the query's.

    The parameters choose the smoothing: ``mu`` Dirichlet, ``lambda`` Jelinek-Mercer, both
    two-stage, ``delta`` absolute discounting. The default is ``mu=1000``.
    """

    name = "kl"
    summary = "KL-divergence of the document's language model from the query's, four smoothings."
    formula = (
        "−Σ p(t|Q) · ln(p(t|Q)/P(t|d)), p(t|Q) = qtf/|Q|\n"
        "P(t|d): (tf + μ·p(t|C))/(|d| + μ)                      mu: Dirichlet\n"
        "        (1 − λ)·tf/|d| + λ·p(t|C)                      lambda: Jelinek-Mercer\n"
        "        (1 − λ)·(tf + μ·p(t|C))/(|d| + μ) + λ·p(t|C)   mu and lambda: two-stage\n"
        "        max(tf − δ, 0)/|d| + δ·|d|ᵤ/|d|·p(t|C)         delta: absolute discounting"
    )
    citation = (
        "Lafferty & Zhai (2001), Document Language Models, Query Models, and Risk Minimization; "
        "Zhai & Lafferty (2001), A Study of Smoothing Methods; Zhai & Lafferty (2002), Two-Stage "
        "Language Models"
    )
    edge_cases = (
        "The score is the complete negative divergence, at most 0. It equals the negative cross "
        "entropy plus the entropy of the query, which is the same for every document. The query's "
        "distribution covers only terms in the index. lambda is the weight of the collection. With "
        "weighted fields, a tf below delta becomes 0, and the probabilities of such a document sum "
        "to slightly more than 1."
    )
    example = "kl(mu=1000)"

    mu: float | None = number(
        None, *MU, "tokens that the collection counts for; 1000 if nothing is given"
    )
    lam: float | None = number(None, *LAMBDA, "weight of the collection", name="lambda")
    delta: float | None = number(None, *DELTA, "subtracted from each term's count")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is not None and (self.mu is not None or self.lam is not None):
            raise SpecError(
                "kl: delta (absolute discounting) goes with neither mu nor lambda. Choose one of "
                "kl(mu=…), kl(lambda=…), kl(mu=…,lambda=…), kl(delta=…)."
            )
        if self.mu is None and self.lam is None and self.delta is None:
            object.__setattr__(self, "mu", 1000.0)

    @property
    def uses_unique(self) -> bool:
        """True for absolute discounting."""
        return self.delta is not None

    def constant(self, weights: Floats, df: Numbers, cf: Numbers, stats: Corpus) -> float:
        """Σ p(t|Q)·ln p(t|C), plus the entropy of the query."""
        used = weights > 0
        weights = floats(weights)[used]
        logs = np.log(background(floats(cf)[used], stats)) - np.log(weights)
        return float(weights @ logs)
