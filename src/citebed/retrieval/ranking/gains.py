"""Gains: nDCG@10 of one question with several weights, and the weight that many questions want."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.query import Features

Reals = NDArray[np.float64]
DEPTH = 10


def ndcg(features: Features, weights: Reals, relevant: Mapping[int, int]) -> Reals:
    """nDCG@10 with each row of weights; ``relevant`` are the grades of documents by number. Of
    equal documents the later id is first."""
    grades = np.array([float(relevant.get(each, 0)) for each in features.docs.tolist()])
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    best = np.sort(np.array(list(relevant.values()), np.float64))[::-1][:DEPTH]
    found = np.zeros(len(weights))
    for row, scores in enumerate(weights @ features.values.T):
        first = grades[np.lexsort((-features.docs, -scores))[:DEPTH]]
        found[row] = first @ discounts[: len(first)]
    return found / (best @ discounts[: len(best)])


def nearest_good(gains: Reals, prior: int) -> int:
    """The place of the weight (a row of gains) that is chosen: the prior's if it is no more than a
    standard error behind the best, else of the nearest to it that is."""
    behind = gains[gains.mean(axis=1).argmax()] - gains
    errors = behind.std(axis=1) / np.sqrt(gains.shape[1])
    good = np.flatnonzero(behind.mean(axis=1) <= errors)
    return int(good[np.abs(good - prior).argmin()])
