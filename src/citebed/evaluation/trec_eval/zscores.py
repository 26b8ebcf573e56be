"""trec_eval's ``-Z``: values as deviations from means that a file gives, in standard deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from citebed.errors import FormatError
from citebed.files.reading import read_lines
from citebed.runs.tables import Floats

UNKNOWN = -1_000_000.0
"""What is printed where the file has no mean."""

Means = Mapping[tuple[str, str], tuple[float, float]]


def read_means(path: Path) -> Means:
    """Lines ``query measure mean standard_deviation``, as means by query and measure."""
    means = {}
    for number, line in read_lines(path):
        fields = line.split()
        try:
            if fields:
                query, label, mean, deviation = fields
                means[query, label] = float(mean), float(deviation)
        except ValueError:
            raise FormatError(
                path,
                number,
                "expected a query, a measure's label, a mean and a standard deviation, like "
                "'q1 map 0.25 0.1'.",
            ) from None
    return means


def z_scores(means: Means, label: str, queries: Sequence[str], values: Floats) -> Floats:
    """The values of one label, query by query, as deviations from their means."""
    found = [means.get((query, label), (np.nan, np.nan)) for query in queries]
    mean, deviation = np.array(found, np.float64).reshape(-1, 2).T
    with np.errstate(divide="ignore", invalid="ignore"):  # as C divides by 0
        scores = (values - mean) / deviation
    return np.where(np.isnan(mean), UNKNOWN, scores)
