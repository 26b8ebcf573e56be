"""Statistics of scores per query: tests, intervals, corrections, effects, correlations.

Pure functions over numpy arrays, independent of runs and files. They accept clusters of queries
for queries that are not independent.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.evaluation.statistics.corrections import (
        CORRECTIONS as CORRECTIONS,
        Pair as Pair,
        adjust as adjust,
        tukey as tukey,
    )
    from citebed.evaluation.statistics.correlations import (
        kendall_tau as kendall_tau,
        pearson as pearson,
        spearman as spearman,
        tau_ap as tau_ap,
    )
    from citebed.evaluation.statistics.crossed import (
        CROSSED_TESTS as CROSSED_TESTS,
        Crossed as Crossed,
        crossed_cells as crossed_cells,
        crossed_interval as crossed_interval,
        crossed_test as crossed_test,
    )
    from citebed.evaluation.statistics.effects import (
        Clustering as Clustering,
        Effect as Effect,
        clustering as clustering,
        effect as effect,
        smallest_effect as smallest_effect,
    )
    from citebed.evaluation.statistics.intervals import (
        INTERVALS as INTERVALS,
        Interval as Interval,
        mean_interval as mean_interval,
        mean_intervals as mean_intervals,
    )
    from citebed.evaluation.statistics.paired import (
        TESTS as TESTS,
        TestResult as TestResult,
        paired_test as paired_test,
    )

__getattr__, __dir__ = names_on_first_use(__name__)
