"""The feedback that belongs to a model."""

from __future__ import annotations

from dataclasses import dataclass

from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.feedback.mixture import Mixture
from citebed.retrieval.feedback.robertson import Robertson
from citebed.retrieval.feedback.rocchio import Rocchio
from citebed.retrieval.models.base import Corpus, Model
from citebed.retrieval.models.bm25 import Bm25
from citebed.retrieval.models.bm25f import Bm25f
from citebed.retrieval.models.cosine import Cosine
from citebed.retrieval.models.kl import Kl
from citebed.retrieval.models.okapi import Okapi
from citebed.retrieval.models.ql import Ql

NATURAL: dict[type[Model], type[Feedback]] = {
    Bm25: Rocchio,
    Bm25f: Rocchio,
    Okapi: Robertson,
    Cosine: Rocchio,
    Kl: Mixture,
    Ql: Mixture,
}
"""The feedback of each model."""


@dataclass(frozen=True)
class Natural(Feedback):
    """Whatever feedback the model's own theory has, with its defaults."""

    name = "feedback"
    summary = "The feedback that belongs to the model."
    formula = "bm25, bm25f, cosine: rocchio\nokapi: robertson\nkl, ql: mixture"
    citation = "See the named feedback"
    edge_cases = "All other parameters have their defaults; name the feedback to set them."
    example = "kl(mu=1000)+feedback(terms=20,from=j1.qrels)"

    def of(self, model: Model) -> Feedback:
        """The model's own feedback with these documents and terms."""
        return NATURAL[type(model)](docs=self.docs, terms=self.terms, source=self.source)

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """As the model's own feedback has it."""
        return self.of(model).expanded(model, query, relevant, stats)
