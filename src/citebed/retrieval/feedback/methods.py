"""The feedback methods: Rocchio, RM3, mixture, Robertson, and each model's own method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from citebed.grammar import SpecError, integer, number
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights, added, best
from citebed.retrieval.models.base import (
    Corpus,
    Floats,
    Model,
    Numbers,
    Occurrences,
    distribution,
    floats,
    quotient,
)
from citebed.retrieval.models.bm25 import Bm25, Bm25f, Okapi
from citebed.retrieval.models.cosine import Cosine
from citebed.retrieval.models.language import Kl, Ql, background


@dataclass(frozen=True)
class Rocchio(Feedback):
    """Move the query towards the relevant documents and away from the others.

    A score is the product of the query's weights w and the document's impacts f, so w and f are
    vectors in the same space for any model.
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
        """Return α·w plus the best terms of the documents."""
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
    """Return the mean of the documents' vectors, each normalised to length 1, times a factor."""
    x = documents.x[documents.owners]
    every = Occurrences(documents.tf, documents.df, documents.cf, x)
    impacts = model.impacts(every, stats)
    squares = np.bincount(documents.owners, weights=impacts**2, minlength=len(documents))
    units = quotient(impacts, np.sqrt(squares)[documents.owners])
    mean = documents.totals(units) / max(len(documents), 1)
    return documents.vocabulary.reweighted(factor * mean, final=True)


@dataclass(frozen=True)
class Rm3(Feedback):
    """RM3: mix the query with the documents' language models, weighted by their scores."""

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
        """Return the mixture as query counts that sum to 1."""
        model_of_documents = self.relevance_model(model, relevant, stats)
        if len(model_of_documents.ids) == 0:
            return query
        old = query.reweighted(self.weight * distribution(query.weights), final=False)
        new = (1 - self.weight) * model_of_documents.weights
        return added(old, model_of_documents.reweighted(new, final=False))

    def relevance_model(
        self, model: Model, documents: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """Return R(t): the best terms, with probabilities that sum to 1."""
        priors = np.full(len(documents), 1 / len(documents))  # P(d): the weight of each document
        if not self.judged and model.log_scores:
            priors = distribution(np.exp(documents.scores - documents.scores.max()))
        elif not self.judged and (documents.scores > 0).any():
            priors = distribution(np.maximum(documents.scores, 0.0))
        shares = quotient(documents.tf, documents.lengths[documents.owners])
        vocabulary = documents.vocabulary
        weights = documents.totals(shares * priors[documents.owners])
        rare = vocabulary.df <= self.max_df * stats.documents
        kept = best(vocabulary.reweighted(weights, final=False).chosen(rare), self.terms)
        return kept.reweighted(distribution(kept.weights), final=False)


@dataclass(frozen=True)
class Mixture(Feedback):
    """Model the documents as a mixture of their topic and the collection; add the topic.

    The topic θ is the one that makes the documents most likely. Expectation maximisation finds it.
    """

    name = "mixture"
    summary = "Model-based feedback: the topic of the documents, freed of background noise."
    formula = (
        "p'(t) = (1 − α)·qtf/|Q| + α·θ(t)\n"
        "θ maximises Σ c(t)·ln((1 − λ)·θ(t) + λ·p(t|C)); of its best terms, summing to 1\n"
        "c(t): occurrences in the documents"
    )
    citation = (
        "Zhai & Lafferty (2001), Model-based Feedback in the Language Modeling Approach to "
        "Information Retrieval"
    )
    edge_cases = (
        "EM starts from the documents' own frequencies, so the result is always the same (Lemur "
        "starts from random numbers). Lemur does not rescale the kept terms to sum to 1, so fewer "
        "terms also mean a smaller alpha there."
    )
    example = "kl(mu=1000)+mixture(docs=10,terms=20,alpha=0.5,lambda=0.5)"

    alpha: float = number(0.5, 0, 1, "weight of the documents' topic")
    lam: float = number(0.5, 0, 0.999, "share of noise in the documents", name="lambda")
    iterations: int = integer(50, 1, 100_000, "steps of EM", quiet=True)

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """Return the mixture of query and topic as query counts that sum to 1."""
        kept = self.topic(relevant, stats)
        old = query.reweighted((1 - self.alpha) * distribution(query.weights), final=False)
        return added(old, kept.reweighted(self.alpha * kept.weights, final=False))

    def topic(self, documents: FeedbackDocuments, stats: Corpus) -> TermWeights:
        """Return θ: the best terms, with probabilities that sum to 1."""
        vocabulary = documents.vocabulary
        counts = documents.totals(documents.tf)
        steps = em_steps(counts, background(vocabulary.cf, stats), self.lam)
        topic, _ = next(islice(steps, self.iterations, None))
        kept = best(vocabulary.reweighted(topic, final=False), self.terms)
        return kept.reweighted(distribution(kept.weights), final=False)


def em_steps(counts: Floats, noise: Floats, lam: float) -> Iterator[tuple[Floats, float]]:
    """Yield the topic after 0, 1, 2, … steps of EM, with the log likelihood of the counts.

    The E step computes the share of each term's occurrences that the topic explains. The M step
    normalises those occurrences to a distribution. The likelihood never decreases.
    """
    topic = distribution(counts)
    while True:
        whole = (1 - lam) * topic + lam * noise
        seen = counts > 0
        yield topic, float(counts[seen] @ np.log(whole[seen]))
        shares = np.divide((1 - lam) * topic, whole, out=np.zeros(len(topic)), where=seen)
        topic = distribution(counts * shares)


@dataclass(frozen=True)
class Robertson(Feedback):
    """Add terms by their offer weight, and weight all terms by the relevant documents."""

    name = "robertson"
    summary = "Okapi's feedback: terms chosen by offer weight, all weighed by relevance."
    formula = (
        "W(t) = ln((r + ½)·(N − n − R + r + ½)/((R − r + ½)·(n − r + ½)))\n"
        "in place of okapi's logarithm; r of the R documents have the term, n = df\n"
        "added are the terms with the highest r·W(t), each qtf times"
    )
    citation = (
        "Robertson & Spärck Jones (1976), Relevance Weighting of Search Terms; Robertson (1990), "
        "On Term Selection for Query Expansion"
    )
    edge_cases = (
        "Works only with okapi. It adds a term only if its offer weight is positive; a chosen term "
        "of the query counts that much more. r is counted for every term of the query. Lemur sets "
        "r to 0 for query terms that it does not choose, as if no relevant document had them, so "
        "its results may differ. Weights can be negative."
    )
    example = "okapi+robertson(docs=10,terms=20,qtf=0.5)"

    qtf: float = number(0.5, 0.001, 1000, "how often an added term counts in the query")

    def check(self, model: Model) -> None:
        """Raise for every model except okapi."""
        if not isinstance(model, Okapi):
            raise SpecError(
                f"robertson puts relevance weights in the place of okapi's, and '{model}' has "
                "none. Use okapi, or another feedback: feedback, rocchio, rm3."
            )

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """Return the query and the chosen terms, all with relevance weights."""
        assert isinstance(model, Okapi)
        vocabulary, size = relevant.vocabulary, len(relevant)
        r = relevant.totals(relevant.tf > 0)
        offers = r * relevance_weights(r, size, vocabulary.df, stats.documents)
        chosen = best(vocabulary.reweighted(offers, final=False), self.terms)
        extra = chosen.reweighted(np.full(len(chosen.ids), self.qtf), final=False)
        whole = added(query, extra)
        # r of each term; 0 for terms that the vocabulary does not contain
        place = np.searchsorted(vocabulary.ids, whole.ids).clip(max=len(vocabulary.ids) - 1)
        counted = np.where(vocabulary.ids[place] == whole.ids, r[place], 0.0)
        weights = relevance_weights(counted, size, whole.df, stats.documents)
        return whole.reweighted(weights * model.saturated(whole.weights), final=True)


def relevance_weights(r: Numbers, size: int, df: Numbers, documents: int) -> Floats:
    """ln((r + ½)(N − n − R + r + ½) / ((R − r + ½)(n − r + ½)))."""
    r, df = floats(r), floats(df)
    others = np.maximum(documents - df - size + r, 0)
    above = np.log(r + 0.5) + np.log(others + 0.5)
    below = np.log(size - r + 0.5) + np.log(np.maximum(df - r, 0) + 0.5)
    weights: Floats = above - below
    return weights


NATURAL: dict[type[Model], type[Feedback]] = {
    Bm25: Rocchio,
    Bm25f: Rocchio,
    Okapi: Robertson,
    Cosine: Rocchio,
    Kl: Mixture,
    Ql: Mixture,
}
"""The feedback method of each model."""


@dataclass(frozen=True)
class Natural(Feedback):
    """Use the feedback of the model's own theory, with its defaults."""

    name = "feedback"
    summary = "The feedback that belongs to the model."
    formula = "bm25, bm25f, cosine: rocchio\nokapi: robertson\nkl, ql: mixture"
    citation = "See the named feedback"
    edge_cases = "All other parameters have their defaults; name the feedback to set them."
    example = "kl(mu=1000)+feedback(terms=20,from=j1.qrels)"

    def of(self, model: Model) -> Feedback:
        """Return the model's own feedback with these documents and terms."""
        return NATURAL[type(model)](docs=self.docs, terms=self.terms, source=self.source)

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """Expand the query with the model's own feedback."""
        return self.of(model).expanded(model, query, relevant, stats)
