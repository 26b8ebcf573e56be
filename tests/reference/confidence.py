"""Confidence in plain Python: shares of words, leads, log odds and the share of a draft."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence


def idf(frequency: int, documents: int) -> float:
    """BM25's inverse document frequency."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def share(
    sentences: Sequence[Collection[str]],
    own: Collection[str],
    all_documents: Sequence[Collection[str]],
) -> float:
    """Which share of its best sentence's terms a document has, weighted by rarity."""
    best = 0.0
    for terms in sentences:
        weights = {
            term: idf(sum(term in each for each in all_documents), len(all_documents))
            for term in set(terms)
        }
        if weights:
            best = max(best, sum(w for t, w in weights.items() if t in own) / sum(weights.values()))
    return best


def lead(scores: Sequence[float], place: int) -> float:
    """How far one score is ahead of the others together."""
    total = math.exp(-6.0)
    for other, score in enumerate(scores):
        if other != place:
            total += math.exp(3 * (score - scores[place]))
    return min(max(-math.log(total), -6.0), 6.0)


def probability(weights: Mapping[str, float], columns: Mapping[str, float]) -> float:
    """A logistic model of columns and their products."""
    odds = 0.0
    for name, weight in weights.items():
        product = 1.0
        for part in name.split("*") if name != "constant" else ():
            product *= columns[part]
        odds += weight * product
    return 1 / (1 + math.exp(-odds))


def adapted(odds: Sequence[float], prior: float) -> list[float]:
    """The log odds of a draft's passages after 100 rounds of expectation maximisation."""
    usual, share, shift = math.log(prior / (1 - prior)), 0.5, 0.0
    for _ in range(100):
        shift = math.log(share / (1 - share)) - usual
        finite = [each for each in odds if math.isfinite(each)]
        mean = sum(1 / (1 + math.exp(-each - shift)) for each in finite) / len(finite)
        share = min(max(mean, 0.01), 0.99)
    return [each + min(shift, 0.0) for each in odds]
