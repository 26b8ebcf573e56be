"""Paired tests: by hand, against all flips and resamples, and with nothing to test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference import statistics as slow

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.paired import TESTS, paired_test

# Multiples of 1/8 are exact, so that ties on paper are ties in the machine.
EIGHTHS = st.integers(-8, 8).map(lambda i: i / 8)
SMALL = st.lists(st.tuples(EIGHTHS, st.sampled_from("abcd")), min_size=1, max_size=10)

# --- by hand --------------------------------------------------------------------------------

BY_HAND = [
    # mean 2, standard error 1/√3; with two degrees of freedom p = 1 - t/√(t² + 2)
    ("t", [1, 2, 3], None, 2 * math.sqrt(3), 1 - math.sqrt(12 / 14)),
    # sums 2 and 4, residuals ∓2: variance 2·8/9; one degree of freedom is Cauchy's distribution
    ("t", [1, 1, 4], "aab", 1.5, 1 - 2 / math.pi * math.atan(1.5)),
    ("permutation", [1, 2, 3], None, 2, 2 / 8),
    ("permutation", [1, 2, 3, 0], None, 1.5, 2 / 8),
    ("permutation", [1, 2, 3], "aab", 2, 2 / 4),
    # 7 of 16 subsets of the ranks 1 to 4 sum to 4 or less
    ("wilcoxon", [1, 2, 3, -4], None, 4, 14 / 16),
    # a zero is left out, and three ties have rank 2 each
    ("wilcoxon", [0, 1, 1, 1], None, 0, 2 / 8),
    ("wilcoxon", [1, 1, -1], None, 2, 1),
    ("wilcoxon", [1, 2, -3], "aab", 3, 1),
    ("wilcoxon", [1, 2, 3], "aab", 0, 2 / 4),
    ("sign", [5, 1, 1, -9, 0], None, 3, 2 * (1 + 4) / 16),
    # clusters of +2, +1 and -1: 6 of the 8 totals ±2 ±1 ±1 are 2 or more from zero
    ("sign", [1, 9, 1, -1], "aabc", 3, 6 / 8),
    ("bootstrap", [-1, 1, 3, -3], None, 0, 1),
]


@pytest.mark.parametrize(("name", "differences", "clusters", "statistic", "p_value"), BY_HAND)
def test_by_hand(
    name: str, differences: list[float], clusters: str | None, statistic: float, p_value: float
) -> None:
    found = paired_test(name, differences, clusters=clusters)
    assert found.name == name
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(p_value)
    assert found.n == len(differences)
    assert found.n_clusters == len(set(clusters or range(len(differences))))


# --- against the twins ----------------------------------------------------------------------


def split(pairs: list[tuple[float, str]]) -> tuple[list[float], list[str]]:
    return [d for d, _ in pairs], [c for _, c in pairs]


@given(SMALL)
def test_permutation_counts_all_flips(pairs: list[tuple[float, str]]) -> None:
    differences, clusters = split(pairs)
    by_query = slow.flipped_share(slow.cluster_sums(differences, range(len(pairs))))
    assert paired_test("permutation", differences).p_value == pytest.approx(float(by_query))
    by_cluster = slow.flipped_share(slow.cluster_sums(differences, clusters))
    found = paired_test("permutation", differences, clusters=clusters)
    assert found.p_value == pytest.approx(float(by_cluster))


@given(SMALL)
def test_clustered_wilcoxon_and_sign_count_all_flips(pairs: list[tuple[float, str]]) -> None:
    differences, clusters = split(pairs)
    assume(len(set(clusters)) < len(pairs))
    ranks = slow.cluster_sums([float(r) for r in slow.signed_ranks(differences)], clusters)
    found = paired_test("wilcoxon", differences, clusters=clusters).p_value
    assert found == pytest.approx(float(slow.flipped_share(ranks)))
    signs = slow.cluster_sums([float(np.sign(d)) for d in differences], clusters)
    found = paired_test("sign", differences, clusters=clusters).p_value
    assert found == pytest.approx(float(slow.flipped_share(signs)))


@pytest.mark.parametrize("clusters", ["abcde", "aabcddde"])
def test_bootstrap_is_near_all_resamples(clusters: str) -> None:
    differences = [0.5, 0.125, -0.25, 0.75, 0.25, 0.625, -0.125, 0.5][: len(clusters)]
    every = slow.bootstrap_share(differences, clusters)
    found = paired_test("bootstrap", differences, clusters=clusters, samples=20_000).p_value
    assert found == pytest.approx(every, abs=4 * math.sqrt(every * (1 - every) / 20_000))


@pytest.mark.parametrize("name", ["permutation", "wilcoxon", "sign"])
def test_random_flips_are_near_all_flips(name: str) -> None:
    # 20 clusters are too many to count here, yet each has 1: all 2^20 totals are binomial.
    differences, clusters = [1.0] * 14 + [-1.0] * 6 + [0.0], [*range(20), 0]
    share = 2 * sum(math.comb(20, k) for k in range(7)) / 2**20
    found = paired_test(name, differences, clusters=clusters, samples=40_000)
    assert found.p_value == pytest.approx(share, abs=4 * math.sqrt(share / 40_000))
    assert "40000 random" in found.note


def test_random_p_values_are_never_zero() -> None:
    found = paired_test("permutation", np.ones(100), samples=99)
    assert found.p_value == 1 / 100
    assert paired_test("bootstrap", np.r_[np.ones(50), 1.1], samples=99).p_value >= 1 / 100


# --- what must hold -------------------------------------------------------------------------


@pytest.mark.parametrize("name", TESTS)
@given(pairs=SMALL)
def test_sides_do_not_matter(name: str, pairs: list[tuple[float, str]]) -> None:
    differences, clusters = split(pairs)
    one = paired_test(name, differences, clusters=clusters, samples=50)
    other = paired_test(name, [-d for d in differences], clusters=clusters, samples=50)
    assert one.p_value == pytest.approx(other.p_value, nan_ok=True)
    assert 0 <= one.p_value <= 1 or (math.isnan(one.p_value) and one.note)


@pytest.mark.parametrize("name", TESTS)
def test_clusters_of_one_query_are_not_clusters(name: str) -> None:
    differences = np.random.default_rng(3).normal(0.2, 1, 30)
    labels = [f"paper {i}" for i in range(30)]
    assert paired_test(name, differences, clusters=labels) == paired_test(name, differences)


@pytest.mark.parametrize("name", TESTS)
def test_the_seed_decides(name: str) -> None:
    differences = np.random.default_rng(4).normal(0.2, 1, 60)
    clusters = np.repeat(np.arange(20), 3)
    one, same = (paired_test(name, differences, clusters=clusters, seed=7) for _ in range(2))
    assert one == same


# --- nothing to test ------------------------------------------------------------------------


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("clusters", [None, "aaa", "aab"])
def test_all_zero_is_not_a_difference(name: str, clusters: str | None) -> None:
    found = paired_test(name, [0, 0, 0], clusters=clusters)
    assert (found.statistic, found.p_value) == (0, 1)
    assert found.note == "all differences are zero"


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("clusters", [None, []])
def test_no_queries(name: str, clusters: list[str] | None) -> None:
    found = paired_test(name, [], clusters=clusters)
    assert math.isnan(found.p_value)
    assert (found.n, found.n_clusters, found.note) == (0, 0, "no queries")


@pytest.mark.parametrize(("name", "p_value"), [("permutation", 1), ("wilcoxon", 1), ("sign", 1)])
def test_one_query_proves_nothing(name: str, p_value: float) -> None:
    assert paired_test(name, [0.3]).p_value == p_value
    assert paired_test(name, [0.3, 0.2], clusters="aa").p_value == p_value


@pytest.mark.parametrize("name", ["t", "bootstrap"])
def test_no_spread_has_no_p_value(name: str) -> None:
    for differences, clusters, note in [
        ([0.3], None, "one query"),
        ([0.3, 0.2], "aa", "one cluster"),
        ([0.1 + 0.2, 0.3, 0.3], None, "all differences are equal"),
        ([0.125, 0.375, 0.25], "aab", "all clusters have the same mean"),
    ]:
        found = paired_test(name, differences, clusters=clusters)
        assert math.isnan(found.p_value)
        assert found.note.startswith(note)


# --- bad input ------------------------------------------------------------------------------


def test_bad_input_is_explained() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wilcoxon'"):
        paired_test("wilcoxn", [1.0])
    with pytest.raises(CitebedError, match="1 of 2 values are not finite"):
        paired_test("t", [1.0, math.nan])
    with pytest.raises(CitebedError, match="3 cluster labels for 2 queries"):
        paired_test("t", [1.0, 2.0], clusters="abc")
    with pytest.raises(CitebedError, match="2 dimensions; expected one value per query"):
        paired_test("t", [[1.0, 2.0]])
    with pytest.raises(CitebedError, match="samples=0"):
        paired_test("permutation", [1.0, 2.0], samples=0)
