"""Gains of grades, for measures that accumulate gains."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings, running
from citebed.runs.tables import Floats, Ints

_PAIR = re.compile(r"\s*([0-9]{1,9})=([^,]+)")


def parse_gains(owner: str, text: str) -> dict[int, float]:
    """Parse gains such as ``1=3.5,2=9``; of a grade named twice, the last gain counts."""
    gains = {}
    for part in text.split(",") if text else ():
        pair = _PAIR.fullmatch(part)
        try:
            gain = float(pair[2]) if pair else math.nan
        except ValueError:
            gain = math.nan
        if pair is None or not math.isfinite(gain):
            raise CitebedError(
                f"{owner}: cannot read the gain '{part}'. Write grade=gain, as in gains='1=3,2=9'; "
                "a grade is a whole number from 0, a gain a number."
            )
        gains[int(pair[1])] = gain
    return gains


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of the retrieved documents and of the ideal rankings.

    ``retrieved`` has one gain per row of the rankings. ``ideal`` has the gains of all judgements,
    each query's best first; negative gains are 0, since an ideal ranking omits these documents.
    """

    rankings: Rankings
    retrieved: Floats
    ideal: Floats

    @cached_property
    def positive(self) -> Floats:
        """The number of documents with a gain above 0, per query."""
        return self.by_query((self.ideal > 0).astype(np.float64))

    def by_query(self, amounts: Floats) -> Floats:
        """Sum amounts, one per row of the ideal rankings, within each query."""
        rankings = self.rankings
        return np.bincount(rankings.judged_query, amounts, rankings.queries).astype(np.float64)

    def ideal_at(self, amounts: Floats, query: Ints, rank: Ints) -> Floats:
        """Return the running sums of amounts along ideal rankings, at given queries and ranks."""
        rankings = self.rankings
        sums = running(rankings.judged_query, rankings.ideal_place, amounts, rankings.queries)
        starts = np.searchsorted(rankings.judged_query, np.arange(rankings.queries + 1))
        last = np.minimum(starts[query] + rank, starts[query + 1]) - 1
        return np.asarray(np.where(rank > 0, sums[last], 0.0))


def compute_gains(rankings: Rankings, rel: int, own: Mapping[int, float]) -> Gains:
    """Compute gains: ``own`` gains if given, otherwise the grade, or 0 below ``rel``."""
    retrieved = _gain(rankings.relevance, rel, own)
    ideal = np.maximum(_gain(rankings.judged_relevance, rel, own), 0.0)
    if own:
        ideal = ideal[np.lexsort((-ideal, rankings.judged_query))]
    return Gains(rankings, retrieved, ideal)


def _gain(grades: Ints, rel: int, own: Mapping[int, float]) -> Floats:
    gains = np.where(grades >= max(rel, 1), grades, 0).astype(np.float64)
    for grade, gain in own.items():
        gains[grades == grade] = gain
    return gains


@dataclass(frozen=True, kw_only=True)
class GainMeasure(Measure):
    """Base class of measures of gains; ``gains`` overrides the gains of grades."""

    gains: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_gains(self.NAME, self.gains)

    def gained(self, rankings: Rankings) -> Gains:
        """Return the gains of rankings and of the ideal rankings."""
        return compute_gains(rankings, self.rel, parse_gains(self.NAME, self.gains))
