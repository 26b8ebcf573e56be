"""Sizes of effects: by hand, against the slow twin, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference import statistics as slow

from citebed.evaluation.statistics.effects import (
    design_effect,
    effect,
    intraclass_correlation,
    smallest_effect,
)

EIGHTHS = st.integers(-8, 8).map(lambda i: i / 8)
PAIRS = st.lists(st.tuples(EIGHTHS, st.sampled_from("abcd")), min_size=3, max_size=15)


def test_an_effect_by_hand() -> None:
    # mean 2, deviation 1; two degrees of freedom: Γ(1) / (√1·Γ(1/2)) = 1/√π
    assert effect([1, 2, 3]) == pytest.approx((2, 2 / math.sqrt(math.pi), 3, 0, 0))
    found = effect([0.5, -0.25, 0, 1e-13, -0.5, -0.25])
    assert (found.wins, found.ties, found.losses) == (1, 2, 3)


def test_an_effect_with_clusters_by_hand() -> None:
    # Clusters (0, 2), (4, 6) and (8, 10): mean 5, mean squares 32 between and 2 within, so the
    # components are 15 and 2; three clusters have two degrees of freedom, as above.
    found = effect([0, 2, 4, 6, 8, 10], clusters="aabbcc")
    assert found.mean == 5
    assert found.standardised == pytest.approx(5 / math.sqrt(17) / math.sqrt(math.pi))


def test_clustering_by_hand() -> None:
    values = [0, 2, 4, 6, 8, 10]
    assert intraclass_correlation(values, "aabbcc") == pytest.approx(15 / 17)
    assert design_effect(values, "aabbcc") == pytest.approx(1 + 15 / 17)
    # Queries of one cluster that differ more than those of two: chance, and no help.
    assert intraclass_correlation([0, 2, 0, 2], "aabb") == pytest.approx(-1)
    assert design_effect([0, 2, 0, 2], "aabb") == 1


@given(PAIRS)
def test_correlation_is_that_of_the_twin(pairs: list[tuple[float, str]]) -> None:
    values, clusters = [v for v, _ in pairs], [c for _, c in pairs]
    assume(1 < len(set(clusters)) < len(values))
    assume(len(set(values)) > 1)
    found = intraclass_correlation(values, clusters)
    assert found == pytest.approx(slow.intraclass(values, clusters), abs=1e-9)


def test_clusters_that_are_all_alike_make_one_query_each() -> None:
    alike = np.repeat([0.1, 0.5, 0.3], 4), np.repeat([7, 8, 9], 4)
    assert (intraclass_correlation(*alike), design_effect(*alike)) == pytest.approx((1, 4))


def test_nothing_to_standardise() -> None:
    for differences, clusters in (([], None), ([0.5], None), ([0.5] * 3, None), ([1, 2], "aa")):
        assert math.isnan(effect(differences, clusters=clusters).standardised)
    assert math.isnan(effect([]).mean)
    for values, clusters in (([1, 2], "ab"), ([1, 2], "aa"), ([1, 1, 1], "aab"), ([], "")):
        assert math.isnan(intraclass_correlation(values, clusters))
        assert design_effect(values, clusters) == 1


def test_the_smallest_effect_of_a_known_table() -> None:
    # Cohen's tables: with 34 pairs a paired t-test at 0.05 finds d = 0.5 with power 0.81, and
    # with 33 with 0.80 (G*Power gives n = 34 as the first to reach 0.80).
    for n, reached in ((33, False), (34, True)):
        unit = np.tile([1.0, -1.0], n // 2 + 1)[:n]
        differences = (unit - unit.mean()) / unit.std(ddof=1)
        assert (smallest_effect(differences) <= 0.5) is reached


def test_the_smallest_effect_is_found_so_often() -> None:
    unit = np.arange(2) - 1 / 2
    effect_size = smallest_effect(unit / unit.std(ddof=1))
    drawn = np.random.default_rng(2).normal(effect_size, 1, (200_000, 2))
    statistics = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * math.sqrt(2)
    # The point of Student's t with one degree of freedom is from a table.
    share = np.mean(np.abs(statistics) > 12.706)
    assert share == pytest.approx(0.8, abs=4 * math.sqrt(0.25 / 200_000))


def test_the_smallest_effect_shrinks_with_queries_and_grows_with_clusters() -> None:
    differences = np.random.default_rng(2).normal(0, 1, 60)
    clusters = np.repeat(np.arange(12), 5)
    alike = differences + np.random.default_rng(3).normal(0, 1, 12)[clusters]
    assert smallest_effect(np.tile(differences, 4)) < smallest_effect(differences) * 0.52
    assert smallest_effect(alike, clusters=clusters) > smallest_effect(alike)


def test_the_smallest_effect_at_the_edges() -> None:
    for differences, clusters in (([], None), ([1.0], None), ([1.0, 2.0], "aa")):
        assert math.isnan(smallest_effect(differences, clusters=clusters))
    assert smallest_effect([0.5, 0.5, 0.5]) == 0
