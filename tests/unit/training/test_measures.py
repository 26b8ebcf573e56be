from __future__ import annotations

import math

import numpy as np
import pytest

from citebed.evaluation import evaluate
from citebed.training.texts import measure_vectors


def test_a_case_by_hand() -> None:
    documents = np.eye(4, dtype=np.float32)
    queries = np.array([[4, 3, 2, 1], [1, 2, 3, 4]], np.float32)
    found = measure_vectors(queries, documents, [[1], [3, 0]], depth=2)
    gain = 1 / math.log2(3)
    assert found["R@2"] == pytest.approx((1 + 1 / 2) / 2)
    assert found["nDCG@2"] == pytest.approx((gain + 1 / (1 + gain)) / 2)


def test_nothing_asked_is_nothing_measured() -> None:
    assert measure_vectors(np.empty((0, 3), np.float32), np.eye(3, dtype=np.float32), []) == {}


def test_figures_are_those_of_evaluate() -> None:
    rng = np.random.default_rng(5)
    queries, documents = (rng.standard_normal((size, 6)).astype(np.float32) for size in (30, 80))
    relevant = [rng.choice(80, rng.integers(1, 5), replace=False).tolist() for _ in range(30)]
    scores = queries @ documents.T
    run = {
        f"q{q}": {f"d{d}": float(score) for d, score in enumerate(row)}
        for q, row in enumerate(scores)
    }
    qrels = {f"q{q}": {f"d{d}": 1 for d in wanted} for q, wanted in enumerate(relevant)}
    ours = measure_vectors(queries, documents, relevant)
    expected = {row[1]: row[2] for row in evaluate(qrels, run, [*ours]).summary().rows()}
    assert ours == pytest.approx(expected, abs=1e-6)
