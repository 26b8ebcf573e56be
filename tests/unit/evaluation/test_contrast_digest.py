"""A contrast in a row a measure."""

from __future__ import annotations

import pytest
from tests.unit.evaluation.test_contrast import ranking

from citebed.evaluation.contrasts.contrast import contrast
from citebed.evaluation.options import ContrastOptions, Design

J1 = {"q1": {"a": 1}, "q2": {"x": 1}}
J12 = {"q1": {"a": 1, "b": 1}, "q2": {"x": 1, "y": 1}}


def test_the_summary_by_hand() -> None:
    """One run rises and one falls; of their three queries one rises from 0, one falls from 1."""
    runs = {"up": {"q1": ranking("a", "b"), "q2": ranking("y")}, "down": {"q1": ranking("a")}}
    (found,) = contrast(J1, J12, runs, ["AP"]).rows("summary")
    # up: 1 and 0, then 1 and 1/2; down: 1, then 1/2, and it lacks q2.
    assert found == {
        "measure": "AP", "runs": 2, "change": pytest.approx((1 / 4 - 1 / 2) / 2),
        "rose": 1, "fell": 1, "queries_rose": pytest.approx(1 / 3),
        "queries_fell": pytest.approx(1 / 3), "from_best": 1, "from_0": 1,
        "systems_kendall": pytest.approx(-1), "queries_kendall": pytest.approx(1),
        "survive": 0, "vanish": 0, "appear": 0, "turn_round": 0,
    }  # fmt: skip
    (none,) = contrast(J1, J12, runs, ["GMAP"]).rows("summary")
    assert none["queries_rose"] is None


def test_a_single_run_has_no_order_and_no_differences() -> None:
    (found,) = contrast(J1, J12, {"q1": ranking("a", "c", "b"), "q2": ranking("y")}, ["AP"]).rows(
        "summary"
    )
    assert found["systems_kendall"] is None
    fates = ("survive", "vanish", "appear", "turn_round")
    assert [found[name] for name in ("runs", *fates)] == [1, 0, 0, 0, 0]


def test_differences_are_counted_by_what_becomes_of_them() -> None:
    queries = [f"q{n}" for n in range(8)]
    before = {query: {"a": 1, "z": 1} for query in queries}
    after = {query: {"b": 1, "z": 1} for query in queries}
    runs = {name: {query: ranking(name, f"n{query}") for query in queries} for name in "abc"}
    options = ContrastOptions(design=Design(test="sign"))
    (found,) = contrast(before, after, runs, ["P@1"], options).rows("summary")
    # a's lead over c vanishes, b's over c appears, and what was a's over b is b's.
    assert (found["survive"], found["vanish"], found["appear"], found["turn_round"]) == (0, 1, 1, 1)
