"""Measure how well vectors find what unseen papers cite: R@10 and nDCG@10, without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_DEPTH = 10
_CHUNK = 512


def measure_vectors(
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    relevant: Sequence[Sequence[int]],
    depth: int = _DEPTH,
) -> dict[str, float]:
    """Return the mean R and nDCG of rankings by the products of vectors; ties stay in order.

    ``relevant`` holds the rows of the documents that each query should find, at least one.
    """
    values = []
    for start in range(0, len(queries), _CHUNK):
        scores = queries[start : start + _CHUNK] @ documents.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        for row, wanted in zip(best, relevant[start : start + _CHUNK], strict=True):
            values.append(recall_and_ndcg(np.isin(row, wanted), len(wanted), depth))
    if not values:
        return {}
    recall, gain = np.mean(values, axis=0).tolist()
    return {f"R@{depth}": recall, f"nDCG@{depth}": gain}


def recall_and_ndcg(
    is_relevant: NDArray[np.bool_], relevant: int, depth: int = _DEPTH
) -> tuple[float, float]:
    """Return R and nDCG of one ranking; ``relevant`` is the number of all relevant documents."""
    first = is_relevant[:depth]
    gains = 1 / np.log2(np.arange(2, depth + 2))
    ideal = gains[: min(depth, relevant)].sum()
    return float(first.sum() / relevant), float((first * gains[: len(first)]).sum() / ideal)
