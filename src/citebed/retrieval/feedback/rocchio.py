"""Rocchio's feedback in the model's own vector space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import number
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights, added, best
from citebed.retrieval.models.base import Corpus, Model, Occurrences, quotient


@dataclass(frozen=True)
class Rocchio(Feedback):
    """The query moved towards the relevant documents and away from the others.

    A score is the product of the query's weights w and the document's impacts f, so w and f are
    vectors of one space for any model.
    """

    name = "rocchio"
    summary = "The query moves towards the documents, in the vector space of the model."
    formula = (
        "w' = α·w + ‖w‖·(β·mean of f/‖f‖ over relevant − γ·mean of f/‖f‖ over non-relevant)\n"
        "w: the query's weights; f: the model's impacts in a document"
    )
    citation = (
        "Rocchio (1971), Relevance Feedback in Information Retrieval; Salton & Buckley (1990), "
        "Improving Retrieval Performance by Relevance Feedback"
    )
    edge_cases = (
        "Rocchio adds only terms that gain: it leaves out a term whose share is negative or 0 "
        "after γ, and the query's own terms keep at least α·w. gamma needs documents judged not "
        "relevant; without them that part is 0. With beta=0 and alpha=1 the query does not change."
    )
    example = "bm25+rocchio(docs=10,terms=20,alpha=1,beta=0.75)"

    alpha: float = number(1, 0, 1000, "weight of the original query")
    beta: float = number(0.75, 0, 1000, "weight of the relevant documents")
    gamma: float = number(0, 0, 1000, "weight of documents judged not relevant", quiet=True)

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """α·w and the best terms of the documents."""
        start = query.finished(model, stats)
        direction = _centroid(model, relevant, stats, self.beta)
        if self.gamma and relevant.nonrelevant is not None:
            away = _centroid(model, relevant.nonrelevant, stats, -self.gamma)
            direction = added(direction, away)
        gained = best(direction, self.terms)
        size = float(np.linalg.norm(start.weights))
        return added(
            start.reweighted(self.alpha * start.weights, final=True),
            gained.reweighted(size * gained.weights, final=True),
        )


def _centroid(
    model: Model, documents: FeedbackDocuments, stats: Corpus, factor: float
) -> TermWeights:
    """The mean of the documents' vectors, each of length 1, times a factor."""
    x = documents.x[documents.owners]
    every = Occurrences(documents.tf, documents.df, documents.cf, x)
    impacts = model.impacts(every, stats)
    squares = np.bincount(documents.owners, weights=impacts**2, minlength=len(documents))
    units = quotient(impacts, np.sqrt(squares)[documents.owners])
    mean = documents.totals(units) / max(len(documents), 1)
    return documents.vocabulary.reweighted(factor * mean, final=True)
