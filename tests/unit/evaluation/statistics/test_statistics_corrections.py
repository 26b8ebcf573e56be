"""Corrections for many comparisons: by hand, and against the procedures as published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import statistics as slow

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.corrections import CORRECTIONS, adjust

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("none", [0.03, 0.01, 0.04, 0.5]),
        ("bonferroni", [0.12, 0.04, 0.16, 1.0]),
        # 0.01·4, then 0.03·3, then 0.04·2 which may not be less than before
        ("holm", [0.09, 0.04, 0.09, 0.5]),
        # from the largest: 0.5, then 0.04·4/3, 0.03·4/2 which may not be more, 0.01·4
        ("bh", [0.16 / 3, 0.04, 0.16 / 3, 0.5]),
    ],
)
def test_by_hand(method: str, expected: list[float]) -> None:
    assert adjust([0.03, 0.01, 0.04, 0.5], method) == pytest.approx(expected)


@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.3]))
def test_bh_rejects_what_the_step_up_procedure_does(p: list[float], level: float) -> None:
    # Keep clear of levels that are met to the last bit.
    found = {i for i, q in enumerate(adjust(p, "bh")) if q <= level}
    assert slow.benjamini_hochberg(p, level * (1 - 1e-9)) <= found
    assert found <= slow.benjamini_hochberg(p, level * (1 + 1e-9))


@pytest.mark.parametrize("method", CORRECTIONS)
@given(p=P_VALUES)
def test_order_is_kept_and_nothing_gets_smaller(method: str, p: list[float]) -> None:
    found = adjust(p, method)
    assert np.all((found >= np.array(p) - 1e-15) & (found <= 1))
    ordered = found[np.argsort(p, kind="stable")]
    assert np.all(np.diff(ordered) >= 0)


@pytest.mark.parametrize("method", CORRECTIONS)
def test_what_is_not_known_is_not_counted(method: str) -> None:
    p = [0.04, math.nan, 0.01]
    found = adjust(p, method)
    assert math.isnan(found[1])
    assert found[[0, 2]] == pytest.approx(adjust([0.04, 0.01], method))
    assert math.isnan(p[1])
    assert len(adjust([], method)) == 0


def test_bad_input_is_explained() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'bonferroni'"):
        adjust([0.1], "bonferoni")
    with pytest.raises(CitebedError, match="each from 0 to 1"):
        adjust([1.1], "holm")
