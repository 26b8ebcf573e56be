"""Means over cells that queries and slices cross: against plain loops, and statsmodels."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import statistics as reference

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.crossed import (
    _resampled,
    crossed_cells,
    crossed_interval,
    crossed_ratios,
    crossed_test,
)

# Not every query is in every slice.
CELLS: list[reference.Cell] = [
    (0.9, 2.0, "a", 0), (0.4, 1.0, "a", 1), (0.7, 1.0, "b", 0), (0.1, 3.0, "b", 2),
    (0.5, 1.0, "c", 1), (0.2, 2.0, "c", 2), (0.8, 1.0, "c", 0),
]  # fmt: skip


def of(cells: list[reference.Cell]) -> tuple[list[float], list[float], list[str], list[int]]:
    values, weights, rows, columns = (list(column) for column in zip(*cells, strict=True))
    return values, weights, rows, columns


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 4)),
        st.tuples(st.floats(0, 1), st.integers(1, 9)),
        min_size=4,
    ).filter(lambda cells: all(len(set(of_kind)) > 1 for of_kind in zip(*cells, strict=True)))
)
def test_the_error_of_any_cells(cells: dict[tuple[str, int], tuple[float, int]]) -> None:
    given_: list[reference.Cell] = [
        (value, float(weight), *at) for at, (value, weight) in cells.items()
    ]
    rows, columns = (len(set(of_kind)) for of_kind in zip(*cells, strict=True))
    slow = reference.crossed_variance(given_, rows, columns, len(given_))
    assert crossed_cells(*of(given_)).error ** 2 == pytest.approx(slow, abs=1e-12)


def test_every_resample_by_plain_loops() -> None:
    """All 27 draws of the three queries with all 27 of the three slices."""
    found = crossed_cells(*of(CELLS))
    draws = list(product(product("abc", repeat=3), product(range(3), repeat=3)))
    u = np.array([[Counter(rows)[row] for row in "abc"] for rows, _ in draws], float)
    v = np.array([[Counter(columns)[c] for c in range(3)] for _, columns in draws], float)
    ratios = []
    for rows, columns in draws:
        drawn = reference.crossed_resample(CELLS, rows, columns)
        if drawn:
            size = sum(weight for _, weight, _, _ in drawn)
            shift = sum(value * weight for value, weight, _, _ in drawn) / size - found.mean
            variance = reference.crossed_variance(drawn, 3, 3, len(CELLS))
            flat = variance < 1e-15
            ratios.append(math.copysign(math.inf, shift) if flat else shift / math.sqrt(variance))
    assert _resampled(found, u, v) == pytest.approx(np.array(ratios))


def test_the_error_is_that_of_statsmodels() -> None:
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    sandwich = pytest.importorskip("statsmodels.stats.sandwich_covariance")
    rng = np.random.default_rng(5)
    rows, columns = (axis.ravel() for axis in np.indices((12, 9)))
    values = rng.normal(size=(12, 1)) + rng.normal(size=(1, 9)) + rng.normal(size=(12, 9))
    weights = rng.integers(1, 6, size=len(rows)).astype(float)
    fitted = linear.WLS(values.ravel(), np.ones(len(rows)), weights=weights).fit()
    both, *_ = sandwich.cov_cluster_2groups(fitted, rows, columns, use_correction=True)
    found = crossed_cells(values.ravel(), weights, rows, columns)
    assert found.error == pytest.approx(math.sqrt(both[0, 0]), rel=1e-12)


def test_intervals_and_tests_follow_from_the_seed() -> None:
    rows, columns = (axis.ravel() for axis in np.indices((8, 6)))
    found = crossed_cells(np.sin(np.arange(48.0)), np.ones(48), rows, columns)
    one, again, other = (crossed_interval(found, samples=500, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert one.low < found.mean < one.high
    assert len(crossed_ratios(found, 500, 0)) <= 500


def test_a_test_agrees_with_its_interval() -> None:
    rng = np.random.default_rng(8)
    rows, columns = (axis.ravel() for axis in np.indices((15, 10)))
    base = rng.normal(size=150) + np.repeat(rng.normal(size=15), 10)
    for shift in (0.0, 0.4, 1.5):
        found = crossed_cells(base + shift, np.ones(150), rows, columns)
        limits = crossed_interval(found, samples=2000)
        outside = not limits.low <= 0 <= limits.high
        p = crossed_test("t", found).p_value
        assert (p < 0.05) == outside or 0.02 < p < 0.1
        assert crossed_test("bootstrap", found, samples=2000).p_value == pytest.approx(p, abs=0.05)


def test_where_there_is_nothing_to_draw() -> None:
    alone = crossed_cells([0.1, 0.5], [1, 1], ["a", "b"], [0, 0])
    assert math.isnan(crossed_interval(alone).low)
    assert "fewer than two" in crossed_test("t", alone).note
    same = crossed_cells([0.3] * 4, [1] * 4, list("aabb"), [0, 1, 0, 1])
    assert math.isnan(crossed_interval(same).low)
    # Two units of either kind, all 0.3: as many as 1 - 0.025^(1/2) of the others may be 0 or 1.
    unseen = 1 - 0.025**0.5
    limits = (0.3 - 0.3 * unseen, 0.3 + 0.7 * unseen)
    assert crossed_interval(same, bounds=(0, 1))[:2] == pytest.approx(limits)
    assert math.isnan(crossed_test("t", same).p_value)
    zero = crossed_cells([0.0] * 4, [1] * 4, list("aabb"), [0, 1, 0, 1])
    assert crossed_test("bootstrap", zero).p_value == 1


def test_impossible_values_are_refused() -> None:
    with pytest.raises(CitebedError, match="a value and a weight"):
        crossed_cells([], [], [], [])
    with pytest.raises(UnknownName, match="wilcoxon"):
        crossed_test("wilcoxon", crossed_cells(*of(CELLS)))
    with pytest.raises(CitebedError, match="level"):
        crossed_interval(crossed_cells(*of(CELLS)), level=95)
