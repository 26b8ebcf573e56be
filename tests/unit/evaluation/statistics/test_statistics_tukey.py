"""Tukey's test of all pairs: against all orders, and at its ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference import statistics as slow

from citebed.evaluation.statistics import tukey

TABLE = [[0.5, 0.25, 0.0], [0.75, 0.5, 0.5], [0.25, 0.25, 0.125], [1.0, 0.5, 0.25], [0.5, 0.5, 0.0]]


@pytest.mark.parametrize("clusters", ["abcde", "aabcc"])
def test_randomised_is_near_all_orders(clusters: str) -> None:
    for pair in tukey(TABLE, clusters=clusters, samples=20_000):
        share = slow.tukey_share(TABLE, clusters, pair.difference)
        slack = 4 * math.sqrt(share * (1 - share) / 20_000)
        assert pair.p_value == pytest.approx(share, abs=slack + 1e-4)


def test_systems_may_come_in_any_order() -> None:
    pairs = {(p.first, p.second): p for p in tukey(TABLE)}
    turned = {(2 - p.second, 2 - p.first): p for p in tukey(np.array(TABLE)[:, ::-1])}
    assert list(pairs) == [(0, 1), (0, 2), (1, 2)]
    for key, pair in pairs.items():
        assert turned[key].difference == pytest.approx(-pair.difference)
        assert turned[key].p_value == pytest.approx(pair.p_value, abs=0.02)


def test_nothing_to_test() -> None:
    assert tukey([[0.5], [0.7]]) == []
    assert [p.p_value for p in tukey([[0.5, 0.5]] * 3)] == [1]
    (pair,) = tukey(np.empty((0, 2)))
    assert math.isnan(pair.p_value)
    (pair,) = tukey([[0.1, 0.2]])
    assert pair.p_value == 1
