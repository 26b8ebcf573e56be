"""Statistics as scipy has them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.sampling import examples

from citebed.evaluation.statistics.correlations import kendall_tau, pearson, spearman
from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.paired import paired_test

# Two kinds of differences: nearly no ties, and many ties and zeros.
CONTINUOUS = st.lists(st.integers(-(10**6), 10**6).map(lambda i: i / 10**6 + 1e-9), min_size=2)
GRADED = st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=70)
DIFFERENCES = st.one_of(CONTINUOUS, GRADED).filter(lambda d: len(set(d)) > 1)
PAIRS = st.lists(
    st.tuples(st.integers(0, 9).map(float), st.floats(-1, 1, width=16)), min_size=3, max_size=60
).filter(lambda pairs: all(len(set(column)) > 1 for column in zip(*pairs, strict=True)))


@given(DIFFERENCES)
def test_student(differences: list[float]) -> None:
    found = paired_test("t", differences)
    theirs = stats.ttest_1samp(differences, 0)
    assert found.statistic == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-12)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@settings(max_examples=examples(60))
@given(DIFFERENCES)
def test_wilcoxon(differences: list[float]) -> None:
    found = paired_test("wilcoxon", differences)
    theirs = stats.wilcoxon(differences)
    assert found.statistic == theirs.statistic
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=14, max_size=50))
def test_wilcoxon_is_exact_up_to_fifty(signs: list[float]) -> None:
    differences = [sign * rank for rank, sign in enumerate(signs, start=1)]
    theirs = stats.wilcoxon(differences, method="exact")
    assert paired_test("wilcoxon", differences).p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@given(DIFFERENCES)
def test_sign(differences: list[float]) -> None:
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    found = paired_test("sign", differences)
    assert found.statistic == wins
    theirs = stats.binomtest(wins, wins + losses, 0.5)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [3, 8, 12])
def test_permutation_of_few(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.4, 1, n)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=2**n
    )
    assert paired_test("permutation", differences).p_value == pytest.approx(theirs.pvalue)


def test_permutation_of_many() -> None:
    differences = np.random.default_rng(1).normal(0.25, 1, 50)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=40_000, rng=1
    )
    found = paired_test("permutation", differences, samples=40_000)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.006)


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_bootstrap_intervals(method: str, theirs: str) -> None:
    values = np.random.default_rng(2).beta(0.5, 1.2, 50)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=40_000, method=theirs, rng=3
    ).confidence_interval
    found = mean_interval(values, method=method, samples=40_000)
    width = expected.high - expected.low
    assert found[:2] == pytest.approx((expected.low, expected.high), abs=0.02 * width)


@given(DIFFERENCES, st.sampled_from([0.8, 0.95, 0.99]))
def test_student_intervals(values: list[float], level: float) -> None:
    theirs = stats.ttest_1samp(values, 0).confidence_interval(level)
    found = mean_interval(values, method="t", level=level)
    assert found[:2] == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@given(PAIRS)
def test_correlations(pairs: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_kendall_of_many() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 500, 20_000), rng.random(20_000)
    assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 15, 25, 50, 551])
def test_scores_of_0_and_1_have_the_exact_binomial_interval(n: int) -> None:
    for ones in {0, 1, n // 2, n - 1, n}:
        values = [1.0] * ones + [0.0] * (n - ones)
        for level in (0.9, 0.95):
            theirs = stats.binomtest(ones, n).proportion_ci(level, method="exact")
            found = mean_interval(values, level=level, bounds=(0.0, 1.0))
            assert found[:2] == pytest.approx((theirs.low, theirs.high), abs=1e-12)
            # On another scale, and in clusters of the same size, whose queries are all alike.
            moved = mean_interval(np.array(values) * 4 - 2, level=level, bounds=(-2.0, 2.0))
            assert moved[:2] == pytest.approx((theirs.low * 4 - 2, theirs.high * 4 - 2))
            papers = np.repeat(np.arange(n), 3)
            found = mean_interval(
                np.repeat(values, 3), clusters=papers, level=level, bounds=(0.0, 1.0)
            )
            assert found[:2] == pytest.approx((theirs.low, theirs.high), abs=1e-12)
