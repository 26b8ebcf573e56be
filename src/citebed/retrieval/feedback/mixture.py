"""Model-based feedback: what the documents say beyond the collection's noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from citebed.grammar import integer, number
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights, added, best
from citebed.retrieval.models.base import Corpus, Floats, Model, distribution
from citebed.retrieval.models.language import background


@dataclass(frozen=True)
class Mixture(Feedback):
    """The documents as a mixture of their topic and of the collection; the topic is added.

    The topic θ is what makes the documents most likely, found by expectation maximisation.
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
        """The mixture of query and topic, as counts of a query that sum to 1."""
        kept = self.topic(relevant, stats)
        old = query.reweighted((1 - self.alpha) * distribution(query.weights), final=False)
        return added(old, kept.reweighted(self.alpha * kept.weights, final=False))

    def topic(self, documents: FeedbackDocuments, stats: Corpus) -> TermWeights:
        """θ: the best terms, their probabilities summing to 1."""
        vocabulary = documents.vocabulary
        counts = documents.totals(documents.tf)
        steps = em_steps(counts, background(vocabulary.cf, stats), self.lam)
        topic, _ = next(islice(steps, self.iterations, None))
        kept = best(vocabulary.reweighted(topic, final=False), self.terms)
        return kept.reweighted(distribution(kept.weights), final=False)


def em_steps(counts: Floats, noise: Floats, lam: float) -> Iterator[tuple[Floats, float]]:
    """The topic after 0, 1, 2, … steps of EM, with the log likelihood of the counts.

    E: the share of each term's occurrences that the topic accounts for; M: those occurrences
    made a distribution. The likelihood never falls.
    """
    topic = distribution(counts)
    while True:
        whole = (1 - lam) * topic + lam * noise
        seen = counts > 0
        yield topic, float(counts[seen] @ np.log(whole[seen]))
        shares = np.divide((1 - lam) * topic, whole, out=np.zeros(len(topic)), where=seen)
        topic = distribution(counts * shares)
