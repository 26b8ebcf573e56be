"""Sizes of effects: by hand, against the slow twin, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference import statistics as slow

from citebed.errors import CitebedError
from citebed.evaluation.statistics import clustering, effect, smallest_effect

EIGHTHS = st.integers(-8, 8).map(lambda i: i / 8)
PAIRS = st.lists(st.tuples(EIGHTHS, st.sampled_from("abcd")), min_size=3, max_size=15)


def test_an_effect_by_hand() -> None:
    # mean 2, deviation 1; two degrees of freedom: Γ(1) / (√1·Γ(1/2)) = 1/√π
    assert effect([1, 2, 3]) == pytest.approx((2, 2 / math.sqrt(math.pi), 3, 0, 0))
    found = effect([0.5, -0.25, 0, 1e-13, -0.5, -0.25])
    assert (found.wins, found.ties, found.losses) == (1, 2, 3)
    found = effect([0.5, -0.25, 0.125], tolerance=0.25)
    assert (found.wins, found.ties, found.losses) == (1, 2, 0)


def test_an_effect_with_clusters_by_hand() -> None:
    # Clusters (0, 2), (4, 6) and (8, 10): mean 5, mean squares 32 between and 2 within, so the
    # components are 15 and 2; three clusters have two degrees of freedom, as above.
    found = effect([0, 2, 4, 6, 8, 10], clusters="aabbcc")
    assert found.mean == 5
    assert found.standardised == pytest.approx(5 / math.sqrt(17) / math.sqrt(math.pi))


def test_clustering_by_hand() -> None:
    found = clustering([0, 2, 4, 6, 8, 10], "aabbcc")
    assert found == pytest.approx((6, 3, 15 / 17, 1 + 15 / 17))
    # Queries of one cluster that differ more than those of two: chance, and no help.
    found = clustering([0, 2, 0, 2], "aabb")
    assert found.correlation == pytest.approx(-1)
    assert found.design_effect == 1


@given(PAIRS)
def test_correlation_is_that_of_the_twin(pairs: list[tuple[float, str]]) -> None:
    values, clusters = [v for v, _ in pairs], [c for _, c in pairs]
    assume(1 < len(set(clusters)) < len(values))
    assume(len(set(values)) > 1)
    found = clustering(values, clusters).correlation
    assert found == pytest.approx(slow.intraclass(values, clusters), abs=1e-9)


def test_clusters_that_are_all_alike_make_one_query_each() -> None:
    found = clustering(np.repeat([0.1, 0.5, 0.3], 4), np.repeat([7, 8, 9], 4))
    assert found == pytest.approx((12, 3, 1, 4))


def test_nothing_to_standardise() -> None:
    for differences, clusters in (([], None), ([0.5], None), ([0.5] * 3, None), ([1, 2], "aa")):
        assert math.isnan(effect(differences, clusters=clusters).standardised)
    assert math.isnan(effect([]).mean)
    assert clustering([], [])[:2] == (0, 0)
    for values, clusters in (([1, 2], "ab"), ([1, 2], "aa"), ([1, 1, 1], "aab"), ([], "")):
        found = clustering(values, clusters)
        assert math.isnan(found.correlation)
        assert found.design_effect == 1


def test_the_smallest_effect_of_a_known_table() -> None:
    # Cohen's tables: with 34 pairs a paired t-test at 0.05 finds d = 0.5 with power 0.81, and
    # with 33 with 0.80 (G*Power gives n = 34 as the first to reach 0.80).
    for n, reached in ((33, False), (34, True)):
        unit = np.tile([1.0, -1.0], n // 2 + 1)[:n]
        differences = (unit - unit.mean()) / unit.std(ddof=1)
        assert (smallest_effect(differences) <= 0.5) is reached


@pytest.mark.parametrize(("n", "alpha", "power"), [(3, 0.01, 0.9), (2, 0.05, 0.8), (5, 0.001, 0.5)])
def test_the_smallest_effect_is_found_so_often(n: int, alpha: float, power: float) -> None:
    unit = np.arange(n) - (n - 1) / 2
    effect_size = smallest_effect(unit / unit.std(ddof=1), alpha=alpha, power=power)
    drawn = np.random.default_rng(n).normal(effect_size, 1, (200_000, n))
    statistics = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * math.sqrt(n)
    # Points of Student's t with 2, 1 and 4 degrees of freedom, from tables.
    bound = {3: 9.925, 2: 12.706, 5: 8.610}[n]
    share = np.mean(np.abs(statistics) > bound)
    assert share == pytest.approx(power, abs=4 * math.sqrt(0.25 / 200_000))


def test_the_smallest_effect_shrinks_with_queries_and_grows_with_clusters() -> None:
    differences = np.random.default_rng(2).normal(0, 1, 60)
    clusters = np.repeat(np.arange(12), 5)
    alike = differences + np.random.default_rng(3).normal(0, 1, 12)[clusters]
    assert smallest_effect(np.tile(differences, 4)) < smallest_effect(differences) * 0.52
    assert smallest_effect(alike, clusters=clusters) > smallest_effect(alike)
    assert smallest_effect(differences, power=0.9) > smallest_effect(differences, power=0.8)
    assert smallest_effect(differences, alpha=0.01) > smallest_effect(differences, alpha=0.05)


def test_the_smallest_effect_at_the_edges() -> None:
    for differences, clusters in (([], None), ([1.0], None), ([1.0, 2.0], "aa")):
        assert math.isnan(smallest_effect(differences, clusters=clusters))
    assert smallest_effect([0.5, 0.5, 0.5]) == 0
    for alpha, power in ((0, 0.8), (0.05, 1), (0.5, 0.4)):
        with pytest.raises(CitebedError, match="expected 0 < alpha < power < 1"):
            smallest_effect([1, 2, 3], alpha=alpha, power=power)
