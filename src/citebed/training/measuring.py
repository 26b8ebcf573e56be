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
    found = []
    for start in range(0, len(queries), _AT_ONCE):
        scores = queries[start : start + _AT_ONCE] @ documents.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        for row, wanted in zip(best, relevant[start : start + _AT_ONCE], strict=True):
            found.append(recall_and_gain(np.isin(row, wanted), len(wanted), depth))
    if not found:
        return {}
    recall, gain = np.mean(found, axis=0).tolist()
    return {f"R@{depth}": recall, f"nDCG@{depth}": gain}


def recall_and_gain(
    right: NDArray[np.bool_], wanted: int, depth: int = DEPTH
) -> tuple[float, float]:
    """R and nDCG of one question's first documents, of which it is known which are right, and how
    many are wanted in all."""
    first = right[:depth]
    gains = 1 / np.log2(np.arange(2, depth + 2))
    ideal = gains[: min(depth, wanted)].sum()
    return float(first.sum() / wanted), float((first * gains[: len(first)]).sum() / ideal)
