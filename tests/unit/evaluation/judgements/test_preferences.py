"""Strengths by hand and as choix computes them, ties, clusters, and disconnected preferences."""

from __future__ import annotations

import math

import polars as pl
import pytest
from scipy.optimize import brentq

from citebed.errors import CitebedError
from citebed.evaluation.judgements.preferences import score_preferences


def table(pairs: list[tuple[str, str]]) -> pl.DataFrame:
    """Preferences of the first item."""
    rows = [(one, other, one) for one, other in pairs]
    return pl.DataFrame(rows, ["first", "second", "preferred"], orient="row")


def strengths(preferences: pl.DataFrame) -> dict[str, float]:
    scored = score_preferences(preferences)
    return dict(zip(scored["item"], scored["strength"], strict=True))


def test_two_items_by_hand() -> None:
    # 3 of 4 preferences: the odds are 3, so the strengths are ±log(3)/2. The standard error of the
    # difference is 1/√(4·3/4·1/4), times √(4/3) for a variance from 4 preferences.
    scored = score_preferences(table([("a", "b")] * 3 + [("b", "a")]))
    assert scored["item"].to_list() == ["a", "b"]
    assert scored["strength"].to_list() == pytest.approx([math.log(3) / 2, -math.log(3) / 2])
    error = math.sqrt(4 / 3 / (4 * 3 / 16)) / 2
    high = scored["high"][0] - scored["strength"][0]
    assert high == pytest.approx(3.1824463 * error, rel=1e-6)
    assert scored["comparisons"].to_list() == [4, 4]


def test_strengths_equal_those_of_choix() -> None:
    # choix 0.4.1, ilsr_pairwise without regularisation
    pairs = (
        [("a", "b")] * 3 + [("b", "a")] + [("b", "c")] * 2 + [("c", "b"), ("a", "c"), ("c", "a")]
    )
    expected = {"a": 0.48051609, "b": -0.16027096, "c": -0.32024514}
    assert strengths(table(pairs)) == pytest.approx(expected, abs=1e-7)


def test_a_tie_counts_half_for_each() -> None:
    tie = pl.DataFrame({"first": ["a"], "second": ["b"], "preferred": [None]},
                       schema_overrides={"preferred": pl.String})  # fmt: skip
    whole = [("a", "b")] * 3 + [("b", "a")]
    tied = pl.concat([table(whole), tie, tie])
    assert strengths(tied) == pytest.approx(strengths(table([*whole, ("a", "b"), ("b", "a")])))


def test_repeated_preferences_of_one_judge_count_once() -> None:
    pairs = [("a", "b"), ("b", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")]
    single = score_preferences(table(pairs))
    judges = [str(number // 3) for number in range(18)]
    tripled = table([pair for pair in pairs for _ in range(3)])
    clustered = score_preferences(tripled.with_columns(cluster=pl.Series(judges)))
    assert clustered["low"].to_list() == pytest.approx(single["low"].to_list())


@pytest.mark.parametrize(
    ("pairs", "what"),
    [
        ([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")], "no preference connects 'a' and 'c'"),
        ([("a", "b"), ("a", "b")], "one group always wins .* 'a' and 'b'"),
        ([("a", "a")], "preference 1: expected two different items"),
        ([], "no rows"),
    ],
)
def test_preferences_without_strengths_are_errors(pairs: list[tuple[str, str]], what: str) -> None:
    with pytest.raises(CitebedError, match=what):
        score_preferences(table(pairs))


def test_a_third_item_cannot_be_preferred() -> None:
    third = pl.DataFrame({"first": ["a"], "second": ["b"], "preferred": ["c"]})
    with pytest.raises(CitebedError, match="'c' is neither 'a' nor 'b'"):
        score_preferences(third)


@pytest.mark.parametrize("judges", [1, 3])
def test_a_prior_by_hand(judges: int) -> None:
    # All judges prefer a, and each item ties with an average item of strength 0. By symmetry the
    # strengths are ±s, and the slope of the log likelihood is n(1 - σ(2s)) + (1/2 - σ(s)). Its
    # curvature along the difference is 2nσ(2s)σ(-2s) + σ(s)σ(-s), which gives the variance of
    # s = (s_a - s_b)/2. Judges who agree completely have no spread that could make it larger.
    def chance(gap: float) -> float:
        return 1 / (1 + math.exp(-gap))

    s = brentq(lambda s: judges * (1 - chance(2 * s)) + (0.5 - chance(s)), 0, 5)
    curvature = 2 * judges * chance(2 * s) * chance(-2 * s) + chance(s) * chance(-s)
    preferences = table([("a", "b")] * judges).with_columns(cluster=pl.Series(range(judges)))
    scored = score_preferences(preferences, prior=1.0)
    assert scored["strength"].to_list() == pytest.approx([s, -s])
    reach = 1.959964 * math.sqrt(1 / (2 * curvature))
    assert scored["high"].to_list() == pytest.approx([s + reach, -s + reach])


def test_a_prior_equals_ties_with_one_more_item() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("c", "d")]  # a always wins
    ties = pl.DataFrame({"first": list("abcd"), "second": ["average"] * 4, "preferred": [None] * 4},
                        schema_overrides={"preferred": pl.String})  # fmt: skip
    expected = strengths(pl.concat([table(pairs), ties]))
    del expected["average"]
    mean = sum(expected.values()) / 4
    scored = score_preferences(table(pairs), prior=1.0)
    found = dict(zip(scored["item"], scored["strength"], strict=True))
    assert found == pytest.approx({name: each - mean for name, each in expected.items()})
