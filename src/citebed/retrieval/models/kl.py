"""The KL-divergence language model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import SpecError, number
from citebed.retrieval.models.base import Corpus, Floats, Numbers, floats
from citebed.retrieval.models.language import DELTA, LAMBDA, MU, LanguageModel, background


@dataclass(frozen=True)
class Kl(LanguageModel):
    """Documents by how little their language model diverges from the query's.

    What is given chooses the smoothing: ``mu`` Dirichlet, ``lambda`` Jelinek-Mercer, both of them
    two-stage, ``delta`` absolute discounting; nothing means ``mu=1000``.
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
        """Absolute discounting does."""
        return self.delta is not None

    def constant(self, weights: Floats, df: Numbers, cf: Numbers, stats: Corpus) -> float:
        """Σ p(t|Q)·ln p(t|C), and the entropy of the query."""
        used = weights > 0
        weights = floats(weights)[used]
        logs = np.log(background(floats(cf)[used], stats)) - np.log(weights)
        return float(weights @ logs)
