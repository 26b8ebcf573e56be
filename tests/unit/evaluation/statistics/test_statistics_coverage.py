"""A small version of bench/clusters.py: intervals contain the truth as often as they say.

The seed is fixed, so the result is always the same. Draws with the nominal share leave the bounds
only once in a thousand times.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from tests.sampling import sized

from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.paired import TESTS, paired_test

REPEATS = sized(200, 400)
SIZES = np.array([1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40] * 2)
PAPERS = np.repeat(np.arange(len(SIZES)), SIZES)


def within_chance(share: float | np.floating, nominal: float) -> bool:
    return abs(share - nominal) <= 3.3 * sqrt(nominal * (1 - nominal) / REPEATS)


def skewed(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Scores as skewed as average precision: squares of uniform numbers, with a mean of 1/3."""
    return rng.random(shape) ** 2


def test_skewed_scores_of_fifty_queries() -> None:
    rng = np.random.default_rng(11)
    intervals = [mean_interval(skewed(rng, 50), samples=999) for _ in range(REPEATS)]
    assert within_chance(np.mean([i.low <= 1 / 3 <= i.high for i in intervals]), 0.95)


def test_scores_alike_within_papers() -> None:
    # Each score is its paper's or one of its own, with equal chances: a correlation of 1/4.
    rng = np.random.default_rng(12)
    by_query, by_paper = [], []
    for _ in range(REPEATS):
        shared = rng.random(len(PAPERS)) < 0.5
        scores = np.where(shared, skewed(rng, len(SIZES))[PAPERS], skewed(rng, len(PAPERS)))
        by_query.append(mean_interval(scores, samples=999))
        by_paper.append(mean_interval(scores, clusters=PAPERS, samples=999))
    assert within_chance(np.mean([i.low <= 1 / 3 <= i.high for i in by_paper]), 0.95)
    assert np.mean([i.low <= 1 / 3 <= i.high for i in by_query]) < 0.75


@pytest.mark.parametrize("name", TESTS)
def test_false_alarms_within_papers(name: str) -> None:
    rng = np.random.default_rng(13)
    found = {"query": 0, "paper": 0}
    for _ in range(REPEATS):
        own, shared = rng.normal(size=len(PAPERS)), rng.normal(size=len(SIZES))[PAPERS]
        differences = own + 0.6 * shared
        for unit, clusters in (("query", None), ("paper", PAPERS)):
            result = paired_test(name, differences, clusters=clusters, samples=499)
            found[unit] += result.p_value <= 0.05
    assert within_chance(found["paper"] / REPEATS, 0.05)
    assert found["query"] / REPEATS > 0.2


@pytest.mark.parametrize("n", [5, 15, 25, 50])
@pytest.mark.parametrize(("common", "value", "mean"), [(0.9, 1.0, 0.95), (0.8, 0.0, 0.1)])
@pytest.mark.parametrize("lowest", [0.0, -1.0])
def test_scores_that_are_nearly_equal(
    n: int, common: float, value: float, mean: float, lowest: float
) -> None:
    """Most scores are 1 (or 0), the others uniform: resampling covers 39 % for n = 5."""
    rng, held = np.random.default_rng(n), 0
    for _ in range(REPEATS):
        values = np.where(rng.random(n) < common, value, rng.random(n))
        found = mean_interval(values, samples=499, bounds=(lowest, 1.0))
        held += found.low <= mean <= found.high
    assert held / REPEATS >= 0.95 or within_chance(held / REPEATS, 0.95)
