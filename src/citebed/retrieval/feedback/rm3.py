"""RM3: a relevance model mixed with the query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import number
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights, added, best
from citebed.retrieval.models.base import Corpus, Floats, Model, distribution, quotient


@dataclass(frozen=True)
class Rm3(Feedback):
    """What the documents would say, weighted by how well they answer, mixed with the query."""

    name = "rm3"
    summary = "A relevance model of the documents, mixed with the query."
    formula = (
        "p'(t) = weight·qtf/|Q| + (1 − weight)·R(t)\n"
        "R(t) ∝ Σ over documents of tf/|d| · P(d), of the best terms, summing to 1"
    )
    citation = (
        "Lavrenko & Croft (2001), Relevance-Based Language Models (RM1); Abdul-Jaleel et al. "
        "(2004), UMass at TREC 2004: Novelty and HARD (RM3)"
    )
    edge_cases = (
        "P(d) is exp(score) if scores are logarithms, as in Indri (kl, ql), else the score itself, "
        "as in Anserini. Judged documents have equal weights; so do all documents if none scores "
        "above 0. Like Anserini, RM3 does not add terms in more than a tenth of the collection; "
        "unlike Anserini, it does not first cut documents to their most frequent terms. If no term "
        "remains, the query stays as it is."
    )
    example = "bm25+rm3(docs=10,terms=20,weight=0.5)"

    weight: float = number(0.5, 0, 1, "weight of the original query")
    max_df: float = number(
        0.1, 0, 1, "terms in more than this share of the documents are not added", quiet=True
    )

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """The mixture, as counts of a query that sum to 1."""
        model_of_documents = self.relevance_model(model, relevant, stats)
        if len(model_of_documents.ids) == 0:
            return query
        old = query.reweighted(self.weight * distribution(query.weights), final=False)
        new = (1 - self.weight) * model_of_documents.weights
        return added(old, model_of_documents.reweighted(new, final=False))

    def relevance_model(
        self, model: Model, documents: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """R(t): the best terms, their probabilities summing to 1."""
        priors = _priors(model, documents, judged=self.judged)[documents.owners]
        shares = quotient(documents.tf, documents.lengths[documents.owners])
        vocabulary = documents.vocabulary
        weights = documents.totals(shares * priors)
        rare = vocabulary.df <= self.max_df * stats.documents
        kept = best(vocabulary.reweighted(weights, final=False).chosen(rare), self.terms)
        return kept.reweighted(distribution(kept.weights), final=False)


def _priors(model: Model, documents: FeedbackDocuments, *, judged: bool) -> Floats:
    """P(d): how much each document counts."""
    alike = np.full(len(documents), 1 / len(documents))
    if judged:
        return alike
    if model.log_scores:
        return distribution(np.exp(documents.scores - documents.scores.max()))
    positive = np.maximum(documents.scores, 0.0)
    return distribution(positive) if positive.sum() > 0 else alike
