"""What language models share: a document's model is smoothed with the collection's."""

from __future__ import annotations

from abc import abstractmethod

from citebed.retrieval.models.base import (
    Floats,
    Model,
    NumberOrArray,
    Numbers,
    Postings,
    Statistics,
    distribution,
)
from citebed.retrieval.models.smoothing import Smoothing


class LanguageModel(Model):
    """A model whose scores are logarithms of smoothed probabilities P(t|d).

    α_d is the share that the collection has in a document's model.
    """

    log_scores = True

    @property
    @abstractmethod
    def smoothing(self) -> Smoothing:
        """How P(t|d) is smoothed."""

    def per_document(self, stats: Statistics, postings: Postings) -> Floats:
        """The tokens that the collection's model counts for."""
        return self.smoothing.collection_tokens(stats)

    def impacts(
        self, tf: Numbers, df: NumberOrArray, cf: NumberOrArray, x: Numbers, stats: Statistics
    ) -> Floats:
        """ln(P(t|d)/(α_d·p(t|C))); with Dirichlet's smoothing ln(1 + tf/(μ·p(t|C)))."""
        return self.smoothing.log_gain(tf, cf, x, stats)

    def document_scores(self, stats: Statistics) -> Floats:
        """ln α_d; with Dirichlet's smoothing ln(μ/(|d| + μ))."""
        return self.smoothing.log_share(stats)

    def query_weights(self, qtf: Numbers, df: Numbers, cf: Numbers, stats: Statistics) -> Floats:
        """p(t|Q) = qtf/|Q|."""
        return distribution(qtf)
