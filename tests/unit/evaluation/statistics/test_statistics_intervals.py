"""Intervals of means: by hand, against all resamples, and what must hold of them."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv
from tests.reference import statistics as slow
from tests.sampling import examples

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.intervals import (
    INTERVALS,
    Interval,
    bounded_interval,
    least_share,
    mean_interval,
    mean_intervals,
)
from citebed.evaluation.statistics.resampling import resampled_sums
from citebed.evaluation.statistics.units import make_units

EIGHTHS = st.integers(0, 8).map(lambda i: i / 8)
VALUES = st.lists(EIGHTHS, min_size=2, max_size=12)


# --- by hand --------------------------------------------------------------------------------


def test_student_by_hand() -> None:
    # The 97.5% point of Student's t with two degrees of freedom is 4.30265.
    low, high, method = mean_interval([1, 2, 3], method="t")
    assert (low, high) == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), abs=1e-5)
    assert method == "t"


def test_student_by_hand_with_clusters() -> None:
    # Variance 16/9 as in the test; 12.7062 with one degree of freedom.
    low, high, _ = mean_interval([1, 1, 4], clusters="aab", method="t")
    assert (low, high) == pytest.approx((2 - 12.7062 * 4 / 3, 2 + 12.7062 * 4 / 3), abs=1e-3)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_two_values_by_hand(method: str) -> None:
    # Means of two draws from 0 and 1 are 0, 1/2 and 1 with chances 1/4, 1/2 and 1/4.
    assert mean_interval([0, 1], method=method) == Interval(0, 1, method)
    assert mean_interval([0, 1], method=method, level=0.4) == Interval(0.5, 0.5, method)


def test_without_spread_in_resamples_the_limits_are_those_of_bca() -> None:
    # Every second resample of two values has no spread, and no studentised limit.
    assert mean_interval([0, 1]) == Interval(0, 1, "bca")


# --- against all resamples ------------------------------------------------------------------


@pytest.mark.parametrize("clusters", ["abcde", "aabcddde"])
@pytest.mark.parametrize("level", [0.5, 0.7, 0.8])
def test_studentised_limits_lie_among_those_of_all_resamples(clusters: str, level: float) -> None:
    values = [0.5, 0.125, 0.0625, 0.75, 0.25, 0.625, 0.1875, 1.0][: len(clusters)]
    mean, error = np.mean(values), math.sqrt(slow.robust_variance(values, clusters))
    ratios = sorted(
        (other - mean) / math.sqrt(variance) if variance > 1e-18 else math.inf * (other - mean)
        for other, variance in slow.all_resamples(values, clusters)
    )
    low, high, method = mean_interval(values, clusters=clusters, level=level, samples=20_000)
    assert method == "studentised"
    tail, slack = (1 - level) / 2, 4 * math.sqrt(0.25 / 20_000)
    for limit, share in ((low, 1 - tail), (high, tail)):
        ratio = (mean - limit) / error
        below = sum(r < ratio - 1e-9 for r in ratios) / len(ratios)
        up_to = sum(r <= ratio + 1e-9 for r in ratios) / len(ratios)
        assert below - slack <= share <= up_to + slack


def test_many_units_are_weighted_as_if_drawn() -> None:
    # The number of times that any of n units is drawn has mean n; with weights also variance n.
    sums = resampled_sums(np.ones((600, 1)), 20_000, seed=1)[:, 0]
    assert sums.mean() == pytest.approx(600, abs=4 * math.sqrt(600 / 20_000))
    assert sums.var() == pytest.approx(600, rel=4 * math.sqrt(2 / 20_000))
    few = resampled_sums(np.ones((500, 1)), 100, seed=1)[:, 0]
    assert set(few) == {500.0}


@pytest.mark.parametrize("method", ["studentised", "bca", "percentile"])
def test_many_queries_give_students_interval(method: str) -> None:
    values = np.random.default_rng(5).normal(0.3, 0.2, 3000)
    low, high, _ = mean_interval(values, method="t")
    found = mean_interval(values, method=method)
    assert found[:2] == pytest.approx((low, high), abs=0.05 * (high - low))


# --- what must hold -------------------------------------------------------------------------


@pytest.mark.parametrize("method", INTERVALS)
@given(values=VALUES, labels=st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_limits_are_ordered_and_move_with_the_values(
    method: str, values: list[float], labels: list[int]
) -> None:
    clusters = labels[: len(values)]
    low, high, name = mean_interval(values, clusters=clusters, method=method, samples=200)
    if math.isnan(low):  # one cluster, or clusters that all have the same mean
        groups = [[v for v, c in zip(values, clusters, strict=True) if c == k] for k in range(4)]
        means = [sum(group) / len(group) for group in groups if group]
        assert math.isnan(high)
        assert max(means) - min(means) <= 1e-9
        return
    assert len(set(clusters)) > 1
    assert low <= high
    moved = mean_interval(
        [3 - 2 * v for v in reversed(values)],
        clusters=clusters[::-1],
        method="t",
    )
    still = mean_interval(values, clusters=clusters, method="t")
    assert moved[:2] == pytest.approx((3 - 2 * still.high, 3 - 2 * still.low), abs=1e-9)
    larger = mean_interval(
        [2 * v + 1 for v in values], clusters=clusters, method=method, samples=200
    )
    assert larger[:2] == pytest.approx((2 * low + 1, 2 * high + 1), abs=1e-6)
    assert larger.method == name


@pytest.mark.parametrize("method", INTERVALS)
@pytest.mark.parametrize("clusters", [None, np.arange(40) % 7])
def test_columns_are_resampled_together(method: str, clusters: np.ndarray | None) -> None:
    table = np.random.default_rng(6).beta(0.5, 1.2, (40, 21))
    together = mean_intervals(table, clusters=clusters, method=method, samples=500)
    for column, interval in zip(table.T, together, strict=True):
        alone = mean_interval(column, clusters=clusters, method=method, samples=500)
        assert interval[:2] == pytest.approx(alone[:2])


@pytest.mark.parametrize("method", INTERVALS)
def test_repeating_every_query_of_a_paper_brings_nothing(method: str) -> None:
    values = np.random.default_rng(8).beta(0.5, 1.2, 30)
    once = mean_interval(values, method=method)
    often = mean_interval(np.repeat(values, 9), clusters=np.repeat(np.arange(30), 9), method=method)
    assert often[:2] == pytest.approx(once[:2])


def test_a_higher_level_is_wider_and_the_seed_decides() -> None:
    values = np.random.default_rng(9).beta(0.5, 1.2, 50)
    narrow, wide = mean_interval(values, level=0.8), mean_interval(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1)
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)


def test_a_geometric_mean_is_a_mean_of_logarithms() -> None:
    interval = mean_interval(np.log([0.1, 0.4, 0.2, 0.4, 0.1]), method="t")
    centre = (0.1 * 0.4 * 0.2 * 0.4 * 0.1) ** (1 / 5)
    low, high, method = interval.through(math.exp)
    assert math.sqrt(low * high) == pytest.approx(centre)
    assert method == "t"


def test_within_bounds() -> None:
    assert Interval(-0.1, 1.2, "t").within(0, 1) == Interval(0, 1, "t")
    assert Interval(0.1, 0.2, "t").within(0, 1) == Interval(0.1, 0.2, "t")
    low, high, _ = Interval(math.nan, math.nan, "t").within(0, 1)
    assert math.isnan(low)
    assert math.isnan(high)


# --- edges ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", INTERVALS)
def test_too_little_to_say(method: str) -> None:
    for values, clusters in (([], None), ([0.5], None), ([0.5, 0.7], "aa"), ([], [])):
        low, high, name = mean_interval(values, clusters=clusters, method=method)
        assert math.isnan(low)
        assert math.isnan(high)
        assert name == method
    assert mean_intervals(np.empty((4, 0)), method=method) == []


@pytest.mark.parametrize("method", INTERVALS)
def test_no_spread_is_not_certainty(method: str) -> None:
    """With a chance of 2.5 % fifteen draws miss all others that are a share 1 - 0.025^(1/15)."""
    value = 0.1 + 0.2
    assert math.isnan(mean_interval([0.3, value, 0.3], method=method).low)
    unseen = 1 - 0.025 ** (1 / 15)
    found = mean_interval([0.3, value, 0.3] * 5, method=method, bounds=(0, 1))
    assert found[:2] == pytest.approx((0.3 - 0.3 * unseen, 0.3 + 0.7 * unseen))
    assert found.method == "bounded"
    found = mean_interval([1.0] * 15, method=method, bounds=(0, 1))
    assert found[:2] == (pytest.approx(0.025 ** (1 / 15)), 1)
    found = mean_interval([0.0] * 15, method=method, bounds=(-1, 1))
    assert found[:2] == pytest.approx((-unseen, unseen))


def test_a_bound_by_hand() -> None:
    """Weights (u, v, w) that add up to 1 for 0, 0.5 and 1: P(v/2 + w <= t) = 2t² up to 0.5."""
    low, high, _ = bounded_interval(
        make_units(np.array([[0.5], [1.0]]), None), (0, 1), 0.025, 10**6
    )
    assert low == pytest.approx(math.sqrt(0.0125), abs=0.001)
    # From above 0.5 alone is below the bound: 1 - 0.5·x with P(X <= x) = 1 - (1 - x)² of two.
    assert high == pytest.approx(1 - 0.5 * (1 - math.sqrt(0.975)))


@settings(max_examples=examples(300), deadline=None)
@given(n=st.integers(1, 5000), share=st.floats(0, 1), tail=st.floats(1e-6, 0.5))
def test_the_share_of_successes_is_that_of_the_beta_distribution(
    n: int, share: float, tail: float
) -> None:
    successes = max(1, round(n * share))
    expected = float(betaincinv(successes, n - successes + 1, tail))
    assert least_share(successes, n, tail) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_intervals_do_not_wait_for_scipy() -> None:
    code = (
        "import sys; "
        "from citebed.evaluation.statistics.intervals import mean_interval as interval; "
        "interval([0, 1, 1], bounds=(0, 1)); interval([0.1, 0.5, 0.2]); "
        "print('scipy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_clusters_of_the_same_score_count_once() -> None:
    sizes = [1, 2, 5] * 5
    papers = np.repeat(np.arange(15), sizes)
    few = mean_interval(np.ones(15), bounds=(0, 1))
    many = mean_interval(np.ones(len(papers)), clusters=papers, bounds=(0, 1))
    assert many.low == pytest.approx(few.low, abs=0.03)
    assert mean_interval(np.ones(len(papers)), bounds=(0, 1)).low > 0.9


@pytest.mark.parametrize("method", INTERVALS)
@pytest.mark.parametrize("n", [50, 600])
def test_one_query_that_differs(method: str, n: int) -> None:
    values = np.zeros(n)
    values[3] = 1
    low, high, _ = mean_interval(values, method=method)
    assert -math.inf < low <= 1 / n < high < 1


def test_bad_input_is_explained() -> None:
    with pytest.raises(UnknownName, match="unknown interval 'normal'"):
        mean_interval([1, 2], method="normal")
    with pytest.raises(CitebedError, match="level=95"):
        mean_interval([1, 2], level=95)
    with pytest.raises(CitebedError, match="samples=0"):
        mean_interval([1, 2], samples=0)
    with pytest.raises(CitebedError, match="1 dimensions; expected a table"):
        mean_intervals([1, 2])
