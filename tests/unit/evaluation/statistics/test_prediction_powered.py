"""Prediction-powered means: cases by hand, ppi-python's figures, and unbiasedness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.evaluation.statistics.prediction_powered import Sample, powered_mean

HUMAN = np.array([0.2, 0.9, 0.4, 0.7, 0.5])
KNOWN = np.array([0.3, 0.8, 0.5, 0.6, 0.7, 0.1, 0.9, 0.4, 0.6, 0.5, 0.2, 0.8])
DRAWN = np.arange(5)


def sample(**more: object) -> Sample:
    return Sample(queries=len(KNOWN), drawn=DRAWN, **more)  # type: ignore[arg-type]


def test_a_weight_of_zero_is_the_mean_of_the_human_scores() -> None:
    mean = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(), weight=0.0)
    # By hand: mean 0.54, deviation 0.2701851, standard error 0.2701851/√5·√(1 - 5/12).
    error = math.sqrt(0.073 / 5 * 7 / 12)
    assert mean.value == pytest.approx(0.54)
    assert mean.high - mean.value == pytest.approx(2.7764451 * error, rel=1e-6)


def test_a_weight_of_one_adds_the_mean_difference_to_the_machine() -> None:
    mean = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(), weight=1.0)
    # Differences -0.1, 0.1, -0.1, 0.1, -0.2; the machine's mean is 6.4/12.
    assert mean.value == pytest.approx(6.4 / 12 - 0.04)
    variance = 0.072 / 4 / 5 * 7 / 12
    assert mean.high - mean.value == pytest.approx(2.7764451 * math.sqrt(variance), rel=1e-6)


def test_the_machine_gets_the_weight_of_the_other_queries() -> None:
    mean = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample())
    weights = []
    for left in range(5):
        rest = np.delete(np.arange(5), left)
        b = KNOWN[rest] - KNOWN[rest].mean()
        weights.append(min(1.0, max(0.0, float(b @ HUMAN[rest] / (b @ b)))))
    # Where 5 of 12 queries were drawn, 5/12 of each weight is the mean of the weights.
    mixed = 7 / 12 * np.array(weights) + 5 / 12 * np.mean(weights)
    scores = HUMAN - mixed * (KNOWN[:5] - KNOWN.mean())
    assert mean.value == pytest.approx(scores.mean())
    assert mean.weight == pytest.approx(np.mean(weights))


@pytest.mark.parametrize(
    ("weight", "value", "half"),
    [
        (0.0, 0.54, 0.0906986),
        (0.3, 0.516, 0.07851098),
        (0.5, 0.5, 0.07715893),
        (1.0, 0.46, 0.09748129),
    ],
)
def test_intervals_for_queries_in_general_equal_those_of_ppi_python(
    weight: float, value: float, half: float
) -> None:
    # ppi-python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci with lam=weight, alpha=0.1, and the
    # other seven queries as the unlabelled ones: half widths over 1.959964. It has the normal
    # quantile 1.644854, and deviations without Bessel's correction; our λ is N/(N - n) of its lam.
    mean = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(), weight=weight * 12 / 7, generalise=True)
    ours = (mean.high - mean.value) / 2.7764451 * math.sqrt(4 / 5)
    assert mean.value == pytest.approx(value)
    assert ours == pytest.approx(half * 1.959964 / 1.644854, rel=1e-6)


def test_clusters_of_one_query_change_nothing() -> None:
    alone = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample())
    clustered = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(clusters=np.arange(12)))
    assert clustered == pytest.approx(alone)


def test_equal_queries_of_a_cluster_count_once() -> None:
    # Every query twice, in one cluster: the interval is that of the single queries.
    single = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(), weight=0.7)
    double = Sample(queries=24, drawn=np.arange(10), clusters=np.repeat(np.arange(12), 2))
    twice = powered_mean(
        np.repeat(HUMAN, 2), np.repeat(KNOWN[:5], 2), np.repeat(KNOWN, 2), double, weight=0.7
    )
    assert twice[:3] == pytest.approx(single[:3])
    assert twice.units == 5


def test_strata_are_weighted_by_their_size() -> None:
    # Stratum 0 has queries 0, 1, 5 to 7 (5 of 12), stratum 1 the other 7.
    strata = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1])
    mean = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(strata=strata), weight=0.0)
    assert mean.value == pytest.approx(5 / 12 * 0.55 + 7 / 12 * (1.6 / 3))
    first = (5 / 12) ** 2 * 0.245 / 2 * 3 / 5
    second = (7 / 12) ** 2 * (0.0233333333) / 3 * 4 / 7
    assert mean.high - mean.value == pytest.approx(3.1824463 * math.sqrt(first + second), rel=1e-6)


def test_a_stratum_without_a_judged_query_is_an_error() -> None:
    strata = np.array([0] * 11 + [1])
    with pytest.raises(CitebedError, match="Merge it with another stratum"):
        powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(strata=strata))


def test_scores_of_another_number_of_queries_are_an_error() -> None:
    with pytest.raises(CitebedError, match="4 human and 5 machine scores for 5 drawn queries"):
        powered_mean(HUMAN[:4], KNOWN[:5], KNOWN, sample())


def test_one_judged_query_has_no_interval() -> None:
    one = Sample(queries=12, drawn=np.array([3]))
    mean = powered_mean(np.array([0.7]), KNOWN[3:4], KNOWN, one)
    assert mean.value == pytest.approx(0.7)
    assert math.isnan(mean.low)


@pytest.mark.parametrize(("level", "errors"), [(0.95, 2.5119431), (0.9, 1.9207294)])
def test_a_judge_without_an_error_in_the_sample_keeps_an_interval(
    level: float, errors: float
) -> None:
    mean = powered_mean(
        KNOWN[:5], KNOWN[:5], KNOWN, sample(), weight=1.0, error=0.2**2, level=level
    )
    assert mean.value == pytest.approx(KNOWN.mean())
    # Tables of χ² with one degree of freedom: 5.0238862 at .975, 3.8414588 at .95. Each of half as
    # many errors changes one of five queries by 0.2; the correction is 7/12.
    assert mean.high - mean.value == pytest.approx(errors * 0.2 / 5 * math.sqrt(7 / 12), rel=1e-6)


def test_errors_that_the_sample_shows_count_alone() -> None:
    shown = powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(), weight=1.0)
    assert powered_mean(HUMAN, KNOWN[:5], KNOWN, sample(), weight=1.0, error=0.01) == shown


def test_all_queries_judged_leave_no_doubt() -> None:
    everything = Sample(queries=12, drawn=np.arange(12))
    for weight in (None, 0.5):
        mean = powered_mean(KNOWN**2, KNOWN, KNOWN, everything, weight=weight)
        assert mean[:3] == pytest.approx(((KNOWN**2).mean(),) * 3)


@given(st.integers(0, 10_000))
def test_a_weight_leaves_the_mean_unbiased(seed: int) -> None:
    # All samples of 4 of 7 queries: the mean estimate is the mean score, for any machine.
    from itertools import combinations

    rng = np.random.default_rng(seed)
    human, machine = rng.random(7), rng.random(7)
    values = [
        powered_mean(
            human[list(drawn)], machine[list(drawn)], machine,
            Sample(queries=7, drawn=np.array(drawn)), weight=0.6,
        ).value
        for drawn in combinations(range(7), 4)
    ]  # fmt: skip
    assert np.mean(values) == pytest.approx(human.mean())
