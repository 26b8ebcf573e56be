"""Ranks with ties."""

from __future__ import annotations

import numpy as np

from citebed.evaluation.statistics.units import Floats


def average_ranks(values: Floats) -> Floats:
    """Ranks from 1, the smallest first; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places])


def tie_sizes(values: Floats) -> Floats:
    """How often each distinct value is there."""
    return np.unique(values, return_counts=True)[1].astype(np.float64)
