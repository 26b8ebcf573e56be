"""AP, P@k, R@k and nDCG@k as trec_eval has them, plainly: for the tables of the docs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Relevances = Mapping[str, int]


def average_precision(ranking: Sequence[str], relevance: Relevances) -> float:
    """The mean of the precisions at the relevant documents; 0 for those not found."""
    found, total = 0, 0.0
    for rank, doc in enumerate(ranking, 1):
        if relevance.get(doc, 0) > 0:
            found += 1
            total += found / rank
    return total / _relevant(relevance)


def precision(ranking: Sequence[str], relevance: Relevances, k: int) -> float:
    """The share of relevant documents among the first ``k``."""
    return sum(relevance.get(doc, 0) > 0 for doc in ranking[:k]) / k


def recall(ranking: Sequence[str], relevance: Relevances, k: int) -> float:
    """The share of the relevant documents that are among the first ``k``."""
    return sum(relevance.get(doc, 0) > 0 for doc in ranking[:k]) / _relevant(relevance)


def ndcg(ranking: Sequence[str], relevance: Relevances, k: int) -> float:
    """Discounted cumulated gain, as a share of the best possible; gains are the grades."""
    best = sorted((grade for grade in relevance.values() if grade > 0), reverse=True)
    gains = [max(relevance.get(doc, 0), 0) for doc in ranking[:k]]
    return _discounted(gains) / _discounted(best[:k])


def _relevant(relevance: Relevances) -> int:
    return sum(grade > 0 for grade in relevance.values())


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
