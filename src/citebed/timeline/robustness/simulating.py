"""The study: many perturbed rankings of each size, and every measure's mean at every level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats, Ints
from citebed.timeline.robustness.perturbations import PERTURBATIONS, Perturbation
from citebed.timeline.robustness.settings import Setting, checked_levels, settings_of
from citebed.timeline.robustness.studied import MEASURES, Studied, studied
from citebed.wording import count

LEVELS = tuple(step / 10 for step in range(11))
_DRAWN = 2**18
"""About so many documents are drawn at once; and four times as many are scored at once."""


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What is simulated; as in the paper unless told otherwise, which names no levels."""

    settings: tuple[Setting, ...] = field(default_factory=lambda: tuple(settings_of()))
    levels: tuple[float, ...] = LEVELS
    rankings: int = 1000
    seed: int = 0
    perturbation: str = "shuffle"

    def __post_init__(self) -> None:
        checked_levels(self.levels)
        if not self.settings:
            raise CitebedError("no size of a slice is given. Give some, e.g. D=100, R=10.")
        if self.rankings < 2:
            raise CitebedError(
                f"found {count(self.rankings, 'ranking')} of each kind, too few: from 2 on they "
                "have a mean and an error; the paper has 1,000."
            )
        if self.seed < 0:
            raise CitebedError(f"the seed {self.seed} is negative; expected a number from 0.")
        if self.perturbation not in PERTURBATIONS:
            raise UnknownName("perturbation", self.perturbation, PERTURBATIONS)

    @property
    def how(self) -> Perturbation:
        """The perturbation itself."""
        return PERTURBATIONS[self.perturbation]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Means over rankings, in the shape (measures, settings, levels).

    ``low`` and ``high`` are the 95% interval of the mean, and ``deviation`` is how far single
    rankings scatter around it (a standard deviation).
    """

    measures: tuple[Studied, ...]
    options: StudyOptions
    mean: Floats
    low: Floats
    high: Floats
    deviation: Floats

    def rows(self) -> list[dict[str, Any]]:
        """One row a measure, setting and level."""
        return [
            {
                "measure": str(measure),
                "D": setting.D,
                "R": setting.R,
                "theta": level,
                "mean": float(self.mean[at]),
                "low": float(self.low[at]),
                "high": float(self.high[at]),
                "sd": float(self.deviation[at]),
            }
            for i, measure in enumerate(self.measures)
            for j, setting in enumerate(self.options.settings)
            for k, level in enumerate(self.options.levels)
            for at in [(i, j, k)]
        ]


def simulate(
    measures: Iterable[str | Measure | Studied] = MEASURES, options: StudyOptions | None = None
) -> Simulation:
    """Score perturbed ideal rankings of every size at every level with every measure.

    All measures see the same rankings. Those of a setting follow from the seed, D, R and the
    perturbation alone: other settings, levels and measures beside it change nothing, and more
    rankings are added to the same first ones.
    """
    chosen = tuple(studied(measures))
    options = options or StudyOptions()
    found = [_scores(chosen, setting, options) for setting in options.settings]
    parts = [
        [(*measure.mean(values[at]), values[at].std(axis=-1, ddof=1)) for values in found]
        for at, measure in enumerate(chosen)
    ]
    mean, low, high, deviation = np.moveaxis(np.array(parts), 2, 0)
    return Simulation(chosen, options, mean, low, high, deviation)


def _scores(measures: tuple[Studied, ...], setting: Setting, options: StudyOptions) -> Floats:
    """The shape (measures, levels, rankings)."""
    blocks = [
        _block_scores(measures, setting, options, draws) for draws in _draws(setting, options)
    ]
    return np.concatenate(blocks, axis=-1)


def _draws(setting: Setting, options: StudyOptions) -> Iterator[Floats]:
    """Draws for all rankings in blocks, each with a seed of its own, to bound the memory."""
    size = max(1, _DRAWN // setting.D)
    for block, start in enumerate(range(0, options.rankings, size)):
        rng = np.random.default_rng([options.seed, setting.D, setting.R, block])
        wanted = min(size, options.rankings - start)
        # A row a ranking, so that a block cut short begins as the whole one does.
        yield np.moveaxis(rng.random((wanted, 2, setting.D)), 1, 0)


def _block_scores(
    measures: tuple[Studied, ...], setting: Setting, options: StudyOptions, draws: Floats
) -> Floats:
    rankings = draws.shape[1]
    at_once = max(1, 4 * _DRAWN // (rankings * setting.D))
    levels = np.array(options.levels)
    parts = []
    for start in range(0, len(levels), at_once):
        some = levels[start : start + at_once]
        seen = as_rankings(setting, options.how.order(setting, some, draws))
        values = np.stack([measure.values(seen) for measure in measures])
        parts.append(values.reshape(len(measures), len(some), rankings))
    return np.concatenate(parts, axis=1)


def as_rankings(setting: Setting, order: Ints) -> Rankings:
    """Rankings as the measures see them: all documents judged and retrieved, none tied.

    ``order`` has the document at each place along its last axis; the first R are relevant.
    """
    length = setting.D
    queries = order.size // length
    query = np.repeat(np.arange(queries), length)
    rank = np.tile(np.arange(1, length + 1), queries)
    return Rankings(
        query_ids=pl.Series("query_id", np.arange(queries)).cast(pl.String),
        in_run=np.ones(queries, bool),
        retrieved=np.full(queries, length),
        query=query,
        rank=rank,
        relevance=(order.ravel() < setting.R).astype(np.int64),
        tie_first=rank,
        tie_size=np.ones_like(rank),
        judged_query=query,
        judged_relevance=(rank <= setting.R).astype(np.int64),
    )
