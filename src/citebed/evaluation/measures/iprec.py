"""Interpolated precision at recall levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats

LEVELS = tuple(level / 10 for level in range(11))
ROUNDING = {"up": 0.9, "nearest": 0.5}


@dataclass(frozen=True, kw_only=True)
class _Interpolated(Measure):
    """Precision at recall levels; ``round`` sets how a level becomes a number of documents."""

    round: str = "up"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.round not in ROUNDING:
            raise UnknownName(f"rounding of {self.NAME}", self.round, ROUNDING)

    def needed(self, rankings: Rankings, level: float) -> Floats:
        """Return the number of relevant documents that a recall level needs, per query."""
        return np.floor(level * rankings.judged(self.rel) + ROUNDING[self.round])

    def at_level(self, rankings: Rankings, level: float) -> Floats:
        """Return the highest precision at any rank with at least this recall."""
        relevant = self.relevant(rankings)
        place = rankings.so_far(relevant)
        wanted = self.needed(rankings, level)
        rows = np.flatnonzero(relevant & (place >= wanted[rankings.query]))
        best = np.zeros(rankings.queries)
        np.maximum.at(best, rankings.query[rows], place[rows] / rankings.rank[rows])
        return best


@dataclass(frozen=True, kw_only=True)
class IPrec(_Interpolated):
    """Interpolated precision: the highest precision at any rank with at least the given recall.

    The level in documents is ⌊level · R + 0.9⌋, as trec_eval 9 rounds it (``iprec_at_recall``);
    ``round='nearest'`` rounds to the nearest number, halves up, as in trec_eval 10.
    """

    CITATION = "Buckley & Voorhees, Retrieval system evaluation, in TREC, MIT 2005"
    CUTOFF = "recall"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        assert isinstance(self.cutoff, int | float)
        return self.at_level(rankings, float(self.cutoff))


@dataclass(frozen=True, kw_only=True)
class ElevenPoint(_Interpolated):
    """The mean of the interpolated precisions at recall 0, 0.1 … 1, or at ``levels``.

    trec_eval: ``11pt_avg``.
    """

    levels: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at()

    def at(self) -> tuple[float, ...]:
        """The recall levels."""
        try:
            levels = (
                tuple(float(level) for level in self.levels.split(",")) if self.levels else LEVELS
            )
        except ValueError:
            levels = (-1.0,)
        if not all(0 <= level <= 1 for level in levels):
            raise CitebedError(
                f"ElevenPoint: levels='{self.levels}' are not recall levels from 0 to 1. "
                "Write them as levels='0.2,0.5,0.8'."
            )
        return levels

    def score(self, rankings: Rankings) -> Floats:
        levels = [self.at_level(rankings, level) for level in sorted(self.at())]
        return np.asarray(np.cumsum(levels, axis=0)[-1] / len(levels))
