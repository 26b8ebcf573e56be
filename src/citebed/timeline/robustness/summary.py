"""How far a measure moves with the size of a slice at the same disorder."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from citebed.evaluation.statistics import pearson
from citebed.runs.tables import Floats
from citebed.timeline.robustness.simulating import Simulation
from citebed.timeline.robustness.studied import Studied

Verdict = Literal[
    "comparable", "roughly comparable", "not comparable", "does not fall", "one level"
]
LITTLE, MUCH = 0.1, 1 / 3
"""Up to which parts of its fall a measure may move to be called comparable, and roughly so."""


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """A measure's means over all settings and levels in a few numbers.

    At one level a measure's *move* is the difference between its highest and lowest mean over
    the settings. ``largest_move`` is the largest over the levels, at the level ``theta``;
    ``mean_move`` the mean over them. ``move_with_D`` is the largest move among settings with
    the same R as written (D/10, say), ``move_with_R`` among those with the same D; nan where
    there is but one. ``fall`` is how far the mean over settings goes from the lowest level to
    the highest (nan where they are the same), ``share`` the mean move as a part of it: unlike
    the moves themselves it is the same for a measure rescaled. ``correlation`` is Pearson's with
    θ over all settings and levels together, ``distance`` the mean distance from 1 − θ, and
    ``rescaled_distance`` that of the measure rescaled to [-1, 1]; nan where it has no bounds, or
    is rescaled already.
    """

    measure: str
    correlation: float
    distance: float
    rescaled_distance: float
    largest_move: float
    theta: float
    mean_move: float
    move_with_D: float
    move_with_R: float
    fall: float
    share: float

    @property
    def verdict(self) -> Verdict:
        """In words, by the ``share``: up to a tenth, up to a third, or more."""
        if math.isnan(self.fall):
            return "one level"
        if math.isnan(self.share):
            return "does not fall"
        if self.share <= LITTLE:
            return "comparable"
        return "roughly comparable" if self.share <= MUCH else "not comparable"

    def row(self) -> dict[str, Any]:
        """As a flat row; what is not known is empty."""
        numbers = {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }
        return {**numbers, "verdict": self.verdict}


def robustness(simulation: Simulation) -> list[Robustness]:
    """The study summed up, one for each measure."""
    return [
        _of(simulation, measure, simulation.mean[at])
        for at, measure in enumerate(simulation.measures)
    ]


def _of(simulation: Simulation, measure: Studied, means: Floats) -> Robustness:
    levels = np.array(simulation.options.levels)
    settings = simulation.options.settings
    moves = np.ptp(means, axis=0)
    middle = means.mean(axis=0)
    fall = float(middle[0] - middle[-1]) if len(levels) > 1 else math.nan
    return Robustness(
        measure=str(measure),
        correlation=pearson(np.tile(levels, len(settings)), means.ravel()),
        distance=_distance(means, levels),
        rescaled_distance=(
            _distance(measure.rescale(means), levels) if measure.can_be_rescaled else math.nan
        ),
        largest_move=float(moves.max()),
        theta=float(levels[moves.argmax()]),
        mean_move=float(moves.mean()),
        move_with_D=_largest(means, [setting.written for setting in settings]),
        move_with_R=_largest(means, [setting.D for setting in settings]),
        fall=fall,
        share=float(moves.mean()) / fall if fall > 1e-12 else math.nan,
    )


def _distance(means: Floats, levels: Floats) -> float:
    return float(np.abs(means - (1.0 - levels)).mean())


def _largest(means: Floats, groups: Sequence[Hashable]) -> float:
    """The largest move within a group of settings; nan where no group has two."""
    found = [
        np.ptp(means[[at for at, each in enumerate(groups) if each == group]], axis=0).max()
        for group in dict.fromkeys(groups)
        if groups.count(group) > 1
    ]
    return float(max(found, default=math.nan))
