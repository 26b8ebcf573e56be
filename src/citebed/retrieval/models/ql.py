"""Query likelihood as Indri's ``#combine`` computes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import number
from citebed.retrieval.models.base import Corpus, Floats, Numbers
from citebed.retrieval.models.language import MU, LanguageModel, background


@dataclass(frozen=True)
class Ql(LanguageModel):
    """The mean over the query's terms of the logarithm of their probability in the document."""

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
