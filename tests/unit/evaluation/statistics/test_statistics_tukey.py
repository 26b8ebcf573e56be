"""Tukey's test of all pairs: what it must be for two systems, and against all orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference import statistics as slow

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics import TUKEY, paired_test, tukey

TABLE = [[0.5, 0.25, 0.0], [0.75, 0.5, 0.5], [0.25, 0.25, 0.125], [1.0, 0.5, 0.25], [0.5, 0.5, 0.0]]


def test_two_systems_two_way_is_students_test() -> None:
    table = np.random.default_rng(1).beta(0.5, 1.2, (30, 2))
    (pair,) = tukey(table, method="two-way")
    found = paired_test("t", table[:, 1] - table[:, 0])
    assert (pair.first, pair.second) == (0, 1)
    assert pair.difference == pytest.approx(np.mean(table[:, 1] - table[:, 0]))
    assert pair.p_value == pytest.approx(found.p_value, abs=1e-6)


@pytest.mark.parametrize(
    ("systems", "queries", "point"), [(4, 21, 3.737), (3, 21, 3.442), (5, 7, 4.166)]
)
def test_two_way_meets_the_tables_of_the_studentised_range(
    systems: int, queries: int, point: float
) -> None:
    # 5% points of the tables for 60, 40 and 24 degrees of freedom. Residuals are made to have a
    # standard error of 1, so that the difference of two means is the statistic.
    rest = np.random.default_rng(2).normal(size=(queries, systems))
    rest -= rest.mean(axis=0)
    rest -= rest.mean(axis=1, keepdims=True)
    degrees = (queries - 1) * (systems - 1)
    rest /= math.sqrt(np.square(rest).sum() / degrees / queries)
    means = np.zeros(systems)
    means[1] = point
    first, *_ = tukey(rest + means, method="two-way")
    assert first.difference == pytest.approx(point)
    assert first.p_value == pytest.approx(0.05, abs=2e-4)


@pytest.mark.parametrize("clusters", ["abcde", "aabcc"])
def test_randomised_is_near_all_orders(clusters: str) -> None:
    for pair in tukey(TABLE, clusters=clusters, samples=20_000):
        share = slow.tukey_share(TABLE, clusters, pair.difference)
        slack = 4 * math.sqrt(share * (1 - share) / 20_000)
        assert pair.p_value == pytest.approx(share, abs=slack + 1e-4)


@pytest.mark.parametrize("method", TUKEY)
def test_systems_may_come_in_any_order(method: str) -> None:
    pairs = {(p.first, p.second): p for p in tukey(TABLE, method=method)}
    turned = {
        (2 - p.second, 2 - p.first): p for p in tukey(np.array(TABLE)[:, ::-1], method=method)
    }
    assert list(pairs) == [(0, 1), (0, 2), (1, 2)]
    for key, pair in pairs.items():
        assert turned[key].difference == pytest.approx(-pair.difference)
        assert turned[key].p_value == pytest.approx(pair.p_value, abs=0.02)


@pytest.mark.parametrize("method", TUKEY)
def test_nothing_to_test(method: str) -> None:
    assert tukey([[0.5], [0.7]], method=method) == []
    assert [p.p_value for p in tukey([[0.5, 0.5]] * 3, method=method)] == [1]
    (pair,) = tukey(np.empty((0, 2)), method=method)
    assert math.isnan(pair.p_value)


def test_no_spread_and_one_query() -> None:
    (pair,) = tukey([[0.1, 0.2], [0.3, 0.4], [0.7, 0.8]], method="two-way")
    assert math.isnan(pair.p_value)
    (pair,) = tukey([[0.1, 0.2]], method="two-way")
    assert math.isnan(pair.p_value)
    (pair,) = tukey([[0.1, 0.2]], method="randomised")
    assert pair.p_value == 1


def test_bad_input_is_explained() -> None:
    with pytest.raises(UnknownName, match="unknown Tukey test 'one-way'"):
        tukey(TABLE, method="one-way")
    with pytest.raises(CitebedError, match="use the method 'randomised'"):
        tukey(TABLE, method="two-way", clusters="aabcc")
