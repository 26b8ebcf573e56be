"""Relevance weights of Robertson and Spärck Jones: terms chosen and weighed by judgements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.grammar import SpecError, number
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights, added, best
from citebed.retrieval.models.base import Corpus, Floats, Model, Numbers, floats
from citebed.retrieval.models.okapi import Okapi


@dataclass(frozen=True)
class Robertson(Feedback):
    """Terms are added by their offer weight, and all are weighed by the relevant documents."""

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
        """Refuse all but okapi."""
        if not isinstance(model, Okapi):
            raise SpecError(
                f"robertson puts relevance weights in the place of okapi's, and '{model}' has "
                "none. Use okapi, or another feedback: feedback, rocchio, rm3."
            )

    def expanded(
        self, model: Model, query: TermWeights, relevant: FeedbackDocuments, stats: Corpus
    ) -> TermWeights:
        """The query and the chosen terms, all with relevance weights."""
        assert isinstance(model, Okapi)
        vocabulary, size = relevant.vocabulary, len(relevant)
        r = relevant.totals(relevant.tf > 0)
        offers = r * relevance_weights(r, size, vocabulary.df, stats.documents)
        chosen = best(vocabulary.reweighted(offers, final=False), self.terms)
        extra = chosen.reweighted(np.full(len(chosen.ids), self.qtf), final=False)
        whole = added(query, extra)
        counted = _looked_up(whole, vocabulary, r)
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


def _looked_up(terms: TermWeights, vocabulary: TermWeights, values: Floats) -> Floats:
    """The values of the terms in a vocabulary, 0 for those that are not in it."""
    place = np.minimum(np.searchsorted(vocabulary.ids, terms.ids), len(vocabulary.ids) - 1)
    return np.where(vocabulary.ids[place] == terms.ids, values[place], 0.0)
