"""Trends: by hand, against scipy, and on series whose truth is known."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.reference import timeline as reference

from citebed.report.timeline_tables import stability_sentence, trend_sentence
from citebed.runs.times import DAY
from citebed.timeline.scoring.trends import (
    mann_kendall,
    serial_correction,
    slope_interval,
    stability,
    student_quantile,
    theil_sen,
    trend,
    unit_of,
)

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]) | st.floats(0, 1), min_size=3)


def test_mann_kendall_by_hand() -> None:
    # 1 2 3 2: pairs up: 12 13 12 23 = 4, down: 32 = 1, tied: 22. S = 3.
    # Var = (4·3·13 - 2·1·9)/18 = (156 - 18)/18; Z = (3 - 1)/√Var.
    found = mann_kendall([1, 2, 3, 2])
    assert found.s == 3
    assert found.variance == pytest.approx(138 / 18)
    assert found.z == pytest.approx(2 / math.sqrt(138 / 18))
    assert found.p == pytest.approx(math.erfc(found.z / math.sqrt(2)))


def test_mann_kendall_of_ten_in_order() -> None:
    # Kendall's table for n = 10: Var S = 10·9·25/18 = 125; Z = 44/√125.
    found = mann_kendall(range(10))
    assert (found.s, found.variance) == (45, 125)
    assert found.z == pytest.approx(44 / math.sqrt(125))
    assert mann_kendall(range(10, 0, -1)).z == pytest.approx(-44 / math.sqrt(125))


def test_nothing_moves() -> None:
    assert mann_kendall([0.5] * 6) == (0, 0, 0, 1)
    assert math.isnan(mann_kendall([1, 2]).p)


@given(VALUES)
def test_s_is_kendalls(values: list[float]) -> None:
    found = mann_kendall(values)
    assert found.s == reference.mann_kendall_s(values)
    tau = stats.kendalltau(range(len(values)), values, method="asymptotic")
    if not math.isnan(tau.statistic) and found.s:
        # scipy's test has the same variance, without the continuity correction.
        z = found.s / math.sqrt(found.variance)
        assert math.erfc(abs(z) / math.sqrt(2)) == pytest.approx(tau.pvalue, abs=1e-9)


@given(VALUES)
def test_theil_sen_is_scipys(values: list[float]) -> None:
    x = np.arange(len(values), dtype=np.float64) ** 1.5
    expected = reference.theil_sen(x.tolist(), values)
    assert theil_sen(x, np.array(values)) == pytest.approx(expected, abs=1e-12)
    assert stats.theilslopes(values, x).slope == pytest.approx(expected, abs=1e-12)


def test_students_quantiles() -> None:
    for df in (2, 3, 5, 20):
        assert student_quantile(0.975, df) == pytest.approx(stats.t.ppf(0.975, df), rel=0.01)


def noise(seed: int, n: int, alike: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.zeros(n + 50)
    for at, shock in enumerate(rng.normal(size=n + 49), 1):
        values[at] = alike * values[at - 1] + shock
    return values[50:]


@pytest.mark.parametrize("n", [13, 40])
def test_intervals_hold_the_true_slope_as_often_as_they_say(n: int) -> None:
    x = np.arange(n, dtype=float)
    held = 0
    for seed in range(200):
        limits = slope_interval(x, 0.3 * x + noise(seed, n), samples=200, seed=seed)
        held += limits.low <= 0.3 <= limits.high
    # 95% of 200 are 190; three standard deviations are 9.
    assert 181 <= held <= 199


def test_neighbours_that_are_alike_are_made_up_for() -> None:
    x = np.arange(60, dtype=float)
    plain = corrected = 0
    for seed in range(200):
        y = noise(seed, 60, alike=0.6)
        plain += mann_kendall(y).p < 0.05
        corrected += mann_kendall(y, serial_correction(x, y)).p < 0.05
    assert plain > 40
    assert corrected < plain / 2
    assert serial_correction(x, noise(3, 60)) == pytest.approx(1, abs=0.5)


def test_a_trend_of_weeks() -> None:
    middles = 1_318_248_000 + 7 * DAY * np.arange(9.0)
    scores = np.array([0.9, 0.8, np.nan, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    found = trend(middles, scores)
    assert (found.slices, found.unit) == (8, "week")
    # Pairs on either side of the gap differ by 0.1 for two weeks or less than 0.1 a week; the
    # median of the 28 slopes equals that of weeks without a gap.
    assert found.slope == pytest.approx(reference.theil_sen(
        [0, 1, 3, 4, 5, 6, 7, 8], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    ))  # fmt: skip
    # The line through the median of y + 0.1x, which is 1: it starts above every score.
    assert (found.first, found.last) == (pytest.approx(1.0), pytest.approx(0.2))
    assert found.drop == pytest.approx((found.first - found.last) / found.first)
    assert found.test.s == -28
    assert found.significant()
    sentence = trend_sentence("lsisRFAI", "AP", found, 0.05)
    assert sentence.startswith("lsisRFAI loses 0.10 AP")
    assert " per week (95% interval −0." in sentence
    assert "), significant (Mann-Kendall p < 0.001)" in sentence
    ends = f"; along that line from {found.first:.3f} to {found.last:.3f}, down {found.drop:.0%}"
    assert sentence.endswith(ends)
    assert found.row("lsisRFAI", "AP", 0.05)["significant"] is True


def test_too_few_slices_for_a_trend() -> None:
    found = trend(np.array([0.0, DAY]), np.array([0.5, 0.25]))
    assert not found.significant()
    assert "No trends: only" in trend_sentence("me", "AP", found, 0.05)
    row = found.row("me", "AP", 0.05)
    assert (row["low"], row["p"], row["slope"]) == (None, None, -0.25)


def test_scores_that_stay_the_same() -> None:
    found = trend(DAY * np.arange(9.0), np.full(9, 0.5))
    sentence = trend_sentence("me", "AP", found, 0.05)
    assert sentence.startswith("me keeps its AP (95% interval 0.00 to 0.00), no significant change")


def test_a_trend_in_a_few_slices_is_reported_though_the_median_slope_is_zero() -> None:
    scores = np.concatenate((np.full(40, 0.5), np.linspace(0.4, 0.1, 10)))
    found = trend(DAY * np.arange(50.0), scores)
    assert (found.slope, found.significant()) == (0, True)
    sentence = trend_sentence("me", "AP", found, 0.05)
    assert "has a median change of 0 AP per day" in sentence
    assert "changes go down, significant" in sentence


# An earlier version printed "loses 0.002 … up 28%". The median of the slopes is not the
# difference of means.
SKEWED = [0.3, 0.3, 0.3, 0.3, 0.29, 0.29, 0.29, 0.28, 0.28, 0.28, 0.9, 0.27, 0.27]
SERIES = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]), min_size=3)


def test_means_may_go_up_where_the_trend_goes_down() -> None:
    found = trend(7 * DAY * np.arange(13.0), np.array(SKEWED))
    assert np.mean(SKEWED[-4:]) > 1.4 * np.mean(SKEWED[:4])
    sentence = trend_sentence("me", "AP", found, 0.05)
    assert sentence.startswith("me loses 0.00")
    assert sentence.endswith(f"from {found.first:.3f} to {found.last:.3f}, down {found.drop:.0%}")


@given(
    SERIES, st.sampled_from([1, 1e-2, 1e-4]), st.sampled_from([1, 7, 30]),
    st.sampled_from([0.01, 0.05, 0.3]), st.integers(0, 9),
)  # fmt: skip
def test_a_sentence_never_contradicts_itself(
    values: list[float], scale: float, days: int, alpha: float, seed: int
) -> None:
    found = trend(days * DAY * np.arange(len(values), dtype=float), scale * np.array(values),
                  samples=100, seed=seed)  # fmt: skip
    sentence = trend_sentence("me", "AP", found, alpha)
    words = set(re.findall(r"\b(?:loses|gains|keeps|as a rule|down|up)\b", sentence))
    assert words in [
        set(), {"keeps"}, {"loses"}, {"gains"}, {"loses", "down"}, {"gains", "up"},
        {"as a rule", "up"}, {"as a rule", "down"},
    ]  # fmt: skip
    way = {"loses": -1, "gains": 1}.get(next(iter(words - {"up", "down"}), ""), 0)
    if way:
        assert way * found.slope > 0
        assert way * found.test.s >= 0
        assert found.low <= found.slope <= found.high
        first, last = _numbers(r"line from (\S+) to (\S+?)(?:,|$)", sentence) or (0.0, way)
        assert way * (last - first) > 0
        low, high = _numbers(r"interval (\S+) to (\S+)\)", sentence) or (0.0, 0.0)
        one_sided = low > 0 or high < 0  # as it is written
        assert ("though the interval" in sentence) == (one_sided != found.significant(alpha))
    if words:
        assert bool(re.search("not? significant", sentence)) != found.significant(alpha)


@pytest.mark.parametrize(
    ("slope", "low", "high", "written"),
    [
        (0.022, 0.0004, 0.039, "gains 0.0220 AP per week (95% interval 0.0004 to 0.0390)"),
        (1.6e-5, 2e-6, 3e-5, "gains 0.000016 AP per week (95% interval 0.000002 to 0.000030)"),
        (-0.1, -0.2, -0.004, "loses 0.100 AP per week (95% interval −0.200 to −0.004)"),
    ],
)
def test_a_limit_that_is_not_0_is_not_written_as_0(
    slope: float, low: float, high: float, written: str
) -> None:
    found = trend(7 * DAY * np.arange(13.0), np.array(SKEWED))
    sentence = trend_sentence("me", "AP", replace(found, slope=slope, low=low, high=high), 0.05)
    assert sentence.startswith(f"me {written}")


def test_a_share_of_next_to_nothing_is_not_reported() -> None:
    found = trend(7 * DAY * np.arange(13.0), np.linspace(0.01, 0.8, 13))
    sentence = trend_sentence("me", "AP", found, 0.05)
    assert sentence.endswith("; along that line from 0.010 to 0.800")


def test_a_line_that_starts_below_0_is_not_cut() -> None:
    """Mostly zeros, then a rise: the median slope of 0.05 through the median point (6, 0.2)."""
    scores = np.array([0.0, 0.0, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
    found = trend(7 * DAY * np.arange(13.0), scores)
    assert found.slope == pytest.approx(0.05, abs=0.005)
    assert found.first < -0.05
    assert math.isnan(found.drop)
    sentence = trend_sentence("me", "AP", found, 0.05)
    assert re.search(r"; along that line from −0\.\d{3} to 0\.\d{3}$", sentence)


def _numbers(pattern: str, text: str) -> tuple[float, ...] | None:
    found = re.search(pattern, text)
    return tuple(float(number.replace("−", "-")) for number in found.groups()) if found else None


def test_many_slices_are_joined_to_see_their_trend() -> None:
    """5,000 slices on a line: 20 neighbours make a point, and the line is the same."""
    scores = 1 - 0.0001 * np.arange(5000.0)
    found = trend(DAY * np.arange(5000.0), scores, samples=100)
    assert (found.slices, found.unit) == (5000, "day")
    assert found.slope == pytest.approx(-0.0001)
    assert found.test.s == -250 * 249 // 2


def test_a_loss_is_a_loss_below_zero_too() -> None:
    scores = np.repeat([-0.2, -0.3, -0.4], 3)
    found = trend(DAY * np.arange(9.0), scores)
    slope = reference.theil_sen(list(range(9)), scores.tolist())
    first = float(np.median(scores - slope * np.arange(9)))
    assert found.drop == pytest.approx(8 * slope / first)
    assert found.drop > 1


def test_the_unit_is_no_longer_than_a_slice() -> None:
    steps = {0.5: "day", 1: "day", 6: "day", 7: "week", 14: "week", 30: "month", 366: "year"}
    for days, unit in steps.items():
        assert unit_of(days * DAY * np.arange(5.0)) == unit


def test_stability_by_hand() -> None:
    # Means: a 2.67, b 2, c 1.33. Slice 1 and 3 rank a b c, slice 2 b a c; 4 ranks nothing.
    by_slice = {
        "a": np.array([3.0, 2.0, 3.0, 1.0, np.nan]),
        "b": np.array([2.0, 3.0, 1.9, 1.0, 5.0]),
        "c": np.array([1.0, 1.0, 1.0, 1.0, 2.0]),
    }
    found = stability(by_slice)
    assert found.slices == 3
    assert found.with_overall == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert found.with_next == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert "τ = 0.78" in stability_sentence("AP", found)


def test_one_system_has_no_ranking() -> None:
    assert math.isnan(stability({"a": np.array([1.0, 2.0])}).with_overall)
    assert "all systems score the same in every slice" in stability_sentence("AP", stability({}))
