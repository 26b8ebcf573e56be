"""Statistics of scores query by query: tests, intervals, corrections, effects, correlations.

Pure functions over numpy arrays that know nothing of runs or files. All of them take the
clusters that queries come in, where queries of one cluster are not independent.
"""

from __future__ import annotations

from citebed.evaluation.statistics.corrections import CORRECTIONS, Correction, adjust
from citebed.evaluation.statistics.correlations import kendall_tau, pearson, spearman, tau_ap
from citebed.evaluation.statistics.effects import (
    Clustering,
    Effect,
    clustering,
    effect,
    smallest_effect,
)
from citebed.evaluation.statistics.intervals import (
    INTERVALS,
    Interval,
    mean_interval,
    mean_intervals,
)
from citebed.evaluation.statistics.paired import TESTS, PairedTest, TestResult, paired_test
from citebed.evaluation.statistics.tukey import TUKEY, Pair, tukey

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "TUKEY",
    "Clustering",
    "Correction",
    "Effect",
    "Interval",
    "Pair",
    "PairedTest",
    "TestResult",
    "adjust",
    "clustering",
    "effect",
    "kendall_tau",
    "mean_interval",
    "mean_intervals",
    "paired_test",
    "pearson",
    "smallest_effect",
    "spearman",
    "tau_ap",
    "tukey",
]
