"""Correlations: by hand, as published, against the slow twins, and at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import statistics as slow

from citebed.errors import CitebedError
from citebed.evaluation.statistics.correlations import (
    greater_before,
    kendall_tau,
    pearson,
    spearman,
    tau_ap,
)

ALL = (kendall_tau, pearson, spearman, tau_ap)
GRADES = st.integers(0, 4).map(float)
FEW = st.lists(st.tuples(GRADES, GRADES), min_size=2, max_size=6)
MANY = st.lists(st.tuples(GRADES, st.integers(0, 40).map(float)), max_size=40)
Correlation = Callable[[list[float], list[float]], float]

# Ten systems: true scores, estimates, and the estimates rounded so that some tie. The values
# of τ_ap and τ_AP,a are those of Urbano's R package ircor 1.0, to four digits.
TRUE = [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992]
ESTIMATES = [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988]
TIED = [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1]


def test_tau_ap_as_published() -> None:
    assert tau_ap(TRUE, ESTIMATES) == pytest.approx(0.8519, abs=5e-5)
    assert tau_ap(TRUE, TIED) == pytest.approx(0.7454, abs=5e-5)


def test_tau_ap_by_hand() -> None:
    # The estimate ranks b, a, c: over a one of one is wrong, over c two of two are right.
    assert tau_ap([3, 2, 1], [2, 3, 1]) == pytest.approx(2 / 2 * (0 / 1 + 2 / 2) - 1)
    # At the bottom the same mistake costs less: 1/1 and 1/2.
    assert tau_ap([3, 2, 1], [3, 1, 2]) == pytest.approx(1 / 1 + 1 / 2 - 1)


def test_kendall_by_hand() -> None:
    # Pairs: 4 in order, 1 against, 1 tied in x; 5 · 6 pairs untied.
    assert kendall_tau([1, 1, 2, 3], [1, 2, 4, 3]) == pytest.approx((4 - 1) / math.sqrt(5 * 6))


def test_pearson_and_spearman_by_hand() -> None:
    # Deviations (-1, 0, 1) and (-1, -1, 2): 3 / √(2·6). The ranks of y are 1½, 1½, 3.
    assert pearson([1, 2, 3], [0, 0, 3]) == pytest.approx(3 / math.sqrt(12))
    assert spearman([1, 2, 3], [0, 0, 9]) == pytest.approx(1.5 / math.sqrt(2 * 1.5))


@given(FEW)
def test_tau_ap_is_the_mean_over_all_orders_of_ties(pairs: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    found = tau_ap(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(slow.tau_ap(x, y), abs=1e-12)


@given(st.lists(st.integers(0, 20), max_size=50))
def test_greater_numbers_before(numbers: list[int]) -> None:
    found = greater_before(np.array(numbers, dtype=np.int64))
    assert found.tolist() == [
        sum(other > number for other in numbers[:i]) for i, number in enumerate(numbers)
    ]


@pytest.mark.parametrize("correlation", ALL)
def test_same_opposite_and_nothing(correlation: Correlation) -> None:
    x = [0.1, 0.7, 0.3, 0.2]
    assert correlation(x, x) == pytest.approx(1)
    assert correlation(x, [-v for v in x]) == pytest.approx(-1)
    for few in ([], [0.5], [0.5, 0.5, 0.5]):
        assert math.isnan(correlation(few, few))
    assert math.isnan(correlation([0.1, 0.2], [0.3, 0.3]))


@pytest.mark.parametrize("correlation", ALL)
def test_bad_input_is_explained(correlation: Correlation) -> None:
    with pytest.raises(CitebedError, match="lists of 2 and 3 values"):
        correlation([1, 2], [1, 2, 3])
    with pytest.raises(CitebedError, match="not finite"):
        correlation([1, math.inf], [1, 2])
