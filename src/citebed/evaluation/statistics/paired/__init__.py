"""Paired tests of two systems over the same queries.

A test is one file and one line in ``TESTS``; ``paired_test`` runs one.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from citebed.errors import UnknownName
from citebed.evaluation.statistics.paired.base import Outcome, PairedTest, Sample, TestResult
from citebed.evaluation.statistics.paired.bootstrap import BOOTSTRAP
from citebed.evaluation.statistics.paired.permutation import PERMUTATION
from citebed.evaluation.statistics.paired.sign import SIGN
from citebed.evaluation.statistics.paired.student import STUDENT
from citebed.evaluation.statistics.paired.wilcoxon import WILCOXON
from citebed.evaluation.statistics.units import (
    Floats,
    Labels,
    as_values,
    codes_of,
    units_of,
)

__all__ = ["TESTS", "PairedTest", "TestResult", "paired_test"]

TESTS: dict[str, PairedTest] = {
    test.name: test for test in (STUDENT, PERMUTATION, WILCOXON, SIGN, BOOTSTRAP)
}
"""All paired tests by name, in the order in which they are explained."""


def paired_test(
    name: str,
    differences: ArrayLike,
    *,
    clusters: Labels | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> TestResult:
    """A two-sided test that two systems do not differ, from their differences query by query.

    ``clusters`` names the cluster of each query (the paper it was taken from); clusters that
    all hold one query are no clusters. No queries, or a single one where a spread is needed, or
    differences all equal give a p-value of nan; differences all zero give 1. The note says why.
    """
    test = TESTS.get(name)
    if test is None:
        raise UnknownName("test", name, TESTS)
    sample = _sample(as_values(differences), clusters, samples, seed)
    outcome = _trivial(sample) or test.run(sample)
    count = len(sample.differences)
    return TestResult(
        name, outcome.statistic, outcome.p_value, count, sample.units.n_units, outcome.note
    )


def _sample(differences: Floats, clusters: Labels | None, samples: int, seed: int) -> Sample:
    codes = None if clusters is None else codes_of(clusters, len(differences))
    if codes is not None and codes.max(initial=0) + 1 >= len(codes):
        codes = None
    return Sample(differences, codes, units_of(differences[:, None], codes), samples, seed)


def _trivial(sample: Sample) -> Outcome | None:
    """The outcome for data that hold nothing to test, whatever the test."""
    if not len(sample.differences):
        return Outcome(math.nan, math.nan, "no queries")
    if not sample.differences.any():
        return Outcome(0.0, 1.0, "all differences are zero")
    return None
