"""Statistics of scores query by query: tests, intervals, corrections, effects, correlations.

Pure functions over numpy arrays that know nothing of runs or files. All of them take the
clusters that queries come in, where queries of one cluster are not independent.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citebed.evaluation.statistics.all_pairs import TUKEY, Pair, tukey
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

_PUBLIC = {
    "CORRECTIONS": "corrections",
    "INTERVALS": "intervals",
    "TESTS": "paired",
    "TUKEY": "all_pairs",
    "Clustering": "effects",
    "Correction": "corrections",
    "Effect": "effects",
    "Interval": "intervals",
    "Pair": "all_pairs",
    "PairedTest": "paired",
    "TestResult": "paired",
    "adjust": "corrections",
    "clustering": "effects",
    "effect": "effects",
    "kendall_tau": "correlations",
    "mean_interval": "intervals",
    "mean_intervals": "intervals",
    "paired_test": "paired",
    "pearson": "correlations",
    "smallest_effect": "effects",
    "spearman": "correlations",
    "tau_ap": "correlations",
    "tukey": "all_pairs",
}

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


def __getattr__(name: str) -> Any:
    """Public names are looked up on first use: an evaluation needs the intervals only."""
    if name in _PUBLIC:
        return getattr(import_module(f"citebed.evaluation.statistics.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'citebed.evaluation.statistics' has no attribute '{name}'")
