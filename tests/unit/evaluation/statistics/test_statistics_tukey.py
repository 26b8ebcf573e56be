"""Tukey's test of all pairs: against all orders, and at its ends."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from tests.reference import statistics as slow

from citebed.evaluation.statistics.corrections import tukey

TABLE = [[0.5, 0.25, 0.0], [0.75, 0.5, 0.5], [0.25, 0.25, 0.125], [1.0, 0.5, 0.25], [0.5, 0.5, 0.0]]


@pytest.mark.parametrize("clusters", ["abcde", "aabcc"])
def test_randomised_is_near_all_orders(clusters: str) -> None:
    means = np.array(TABLE).mean(axis=0)
    found = tukey(TABLE, clusters=clusters, samples=20_000)
    for p, (first, second) in zip(found, combinations(means, 2), strict=True):
        share = slow.tukey_share(TABLE, clusters, second - first)
        slack = 4 * math.sqrt(share * (1 - share) / 20_000)
        assert p == pytest.approx(share, abs=slack + 1e-4)


def test_systems_may_come_in_any_order() -> None:
    one, two, three = tukey(TABLE)
    turned = tukey(np.array(TABLE)[:, ::-1])
    assert turned.tolist() == pytest.approx([three, two, one], abs=0.02)


def test_nothing_to_test() -> None:
    assert tukey([[0.5], [0.7]]).tolist() == []
    assert tukey([[0.5, 0.5]] * 3).tolist() == [1]
    assert tukey([[0.1, 0.2]]).tolist() == [1]
