"""Feedback at work: fetch the documents, make the better query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.search.hits import Hits
from citebed.retrieval.search.view import View

Docs = NDArray[np.int64]


def feedback_documents(view: View, hits: Hits) -> FeedbackDocuments:
    """Documents as feedback wants them: their terms one after another."""
    vectors = view.documents(hits.docs)
    ids = np.concatenate([np.zeros(0, np.int64), *(terms for terms, _ in vectors)])
    tf = np.concatenate([np.zeros(0), *(times for _, times in vectors)])
    df, cf = view.all_frequencies
    return FeedbackDocuments(
        starts=np.cumsum([0, *(len(terms) for terms, _ in vectors)]),
        ids=ids,
        tf=tf,
        df=df[ids],
        cf=cf[ids],
        lengths=view.stats.lengths[hits.docs],
        scores=hits.scores,
        x=view.per_document[hits.docs],
    )


def better_query(
    view: View, feedback: Feedback, query: TermWeights, relevant: Hits, nonrelevant: Hits
) -> TermWeights:
    """The query that feedback makes of ``query`` and some documents."""
    documents = feedback_documents(view, relevant)
    if len(nonrelevant.docs):
        others = feedback_documents(view, nonrelevant)
        documents = FeedbackDocuments(
            documents.starts, documents.ids, documents.tf, documents.df, documents.cf,
            documents.lengths, documents.scores, documents.x, nonrelevant=others,
        )  # fmt: skip
    return feedback.expand(view.model, query, documents, view.stats)
