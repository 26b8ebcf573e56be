"""How well vectors find what unseen papers cite: R@10 and nDCG@10."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DEPTH = 10
_AT_ONCE = 512

Figures = dict[str, float]


def figures_of(
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    relevant: Sequence[Sequence[int]],
    depth: int = DEPTH,
) -> Figures:
    """Mean R and nDCG of the first documents, by the products of vectors; equal scores in order.

    ``relevant`` are the rows of the documents that each query should find, at least one.
    """
    gains = 1 / np.log2(np.arange(2, depth + 2))
    recall, ndcg = [], []
    for start in range(0, len(queries), _AT_ONCE):
        scores = queries[start : start + _AT_ONCE] @ documents.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        for row, wanted in zip(best, relevant[start : start + _AT_ONCE], strict=True):
            hits = np.isin(row, wanted)
            recall.append(hits.sum() / len(wanted))
            ideal = gains[: min(depth, len(wanted))].sum()
            ndcg.append((hits * gains[: len(hits)]).sum() / ideal)
    if not recall:
        return {}
    return {f"R@{depth}": float(np.mean(recall)), f"nDCG@{depth}": float(np.mean(ndcg))}
