"""Which measures are comparable across slices: ideal rankings, perturbed, of several sizes.

The study of Dietz, Dalton & Balog (2013), section 4.4. `simulate` makes it, `robustness` sums it
up measure by measure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measure, split_names
from citebed.evaluation.measures.rankings import Rankings
from citebed.evaluation.statistics.correlations import pearson
from citebed.frames import FlatRow
from citebed.runs.tables import Floats, Ints
from citebed.wording import count

MEASURES = ("AP", "nDCG@R", "nDCG", "Rprec", "AUC", "AUC:rescaled")
RESCALED = "rescaled"
LEVELS = tuple(step / 10 for step in range(11))
_DRAWN = 2**18
"""The number of documents drawn at once; four times as many are scored at once."""
Verdict = Literal["moves little", "moves somewhat", "moves much", "does not fall", "one level"]
LITTLE, MUCH = 0.1, 1 / 3
"""The shares of a measure's fall up to which it moves little, and somewhat, with slice size."""

NEAR = 0.25
"""The mean distance from 1 − θ up to which a measure follows the disorder."""

# --- measures ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyMeasure:
    """A measure; with ``rescaled``, from its own range to [-1, 1].

    It prints as its name: ``AUC``, or ``AUC:rescaled`` for 2·AUC − 1.
    """

    measure: Measure
    rescaled: bool = False

    def __post_init__(self) -> None:
        if self.measure.rel != 1:
            raise CitebedError(
                f"{self.measure}: the rankings of the study have grades 0 and 1, so leave out rel="
                f"{self.measure.rel}."
            )
        if self.rescaled and not self.is_bounded:
            raise CitebedError(
                f"{self.measure} has no bounds, so it cannot be rescaled to [-1, 1]."
            )

    def __str__(self) -> str:
        return f"{self.measure}:{RESCALED}" if self.rescaled else str(self.measure)

    def values(self, rankings: Rankings) -> Floats:
        """Return the score of every ranking."""
        values = self.measure.values(rankings)
        return self.rescale(values) if self.rescaled else values

    def rescale(self, values: Floats) -> Floats:
        """Rescale values from the measure's range to [-1, 1]."""
        low, high = self.measure.RANGE
        return 2.0 * (values - low) / (high - low) - 1.0

    @property
    def is_bounded(self) -> bool:
        """Whether the measure's own range has bounds."""
        return all(map(math.isfinite, self.measure.RANGE))

    @property
    def geometric(self) -> bool:
        """Whether its mean is a geometric one."""
        return self.measure.SUMMARY == "geometric mean" and not self.rescaled

    def mean(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the mean over rankings (the last axis) with its 95 % interval.

        The interval covers the random choice of rankings: 1.96 standard errors on either side.
        """
        scale = np.log(values) if self.geometric else values
        middle = scale.mean(axis=-1)
        error = 1.96 * scale.std(axis=-1, ddof=1) / math.sqrt(values.shape[-1])
        ends = (middle, middle - error, middle + error)
        middle, low, high = (np.exp(end) for end in ends) if self.geometric else ends
        return middle, low, high


def studied(texts: Iterable[str | Measure | StudyMeasure] = MEASURES) -> list[StudyMeasure]:
    """Parse measures, each once; one text may have several, as in ``AP,nDCG@R``.

    The suffix ``:rescaled`` rescales a measure; ``AUC:rescaled`` is ``RescaledAUC``.
    """
    measures: dict[str, StudyMeasure] = {}
    for text in texts:
        for part in split_names(text) if isinstance(text, str) else [text]:
            if isinstance(part, str):
                name, colon, how = part.partition(":")
                if colon and how != RESCALED:
                    raise UnknownName(f"way to change {name}", how, [RESCALED])
                part = StudyMeasure(measure(name), bool(colon))  # noqa: PLW2901
            each = StudyMeasure(part) if isinstance(part, Measure) else part
            measures.setdefault(str(each), each)
    if not measures:
        raise CitebedError("no measure was named. Name one, e.g. nDCG@R.")
    return list(measures.values())


# --- simulating -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Options of a simulation; the defaults are the paper's, except that it names no levels."""

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
        """The perturbation method."""
        return PERTURBATIONS[self.perturbation]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Means over rankings, in the shape (measures, settings, levels).

    ``low`` and ``high`` are the 95 % interval of the mean; ``deviation`` is the standard deviation
    of single rankings.
    """

    measures: tuple[StudyMeasure, ...]
    options: StudyOptions
    mean: Floats
    low: Floats
    high: Floats
    deviation: Floats

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per measure, setting and level."""
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
    measures: Iterable[str | Measure | StudyMeasure] = MEASURES, options: StudyOptions | None = None
) -> Simulation:
    """Score perturbed ideal rankings of every size at every level with every measure.

    All measures score the same rankings. The rankings of a setting depend only on the seed, D, R
    and the perturbation, not on other settings, levels or measures. More rankings extend the same
    first ones.
    """
    chosen = tuple(studied(measures))
    options = options or StudyOptions()
    scores = [_scores(chosen, setting, options) for setting in options.settings]
    parts = [
        [(*measure.mean(values[at]), values[at].std(axis=-1, ddof=1)) for values in scores]
        for at, measure in enumerate(chosen)
    ]
    mean, low, high, deviation = np.moveaxis(np.array(parts), 2, 0)
    return Simulation(chosen, options, mean, low, high, deviation)


def _scores(measures: tuple[StudyMeasure, ...], setting: Setting, options: StudyOptions) -> Floats:
    """Return scores of the shape (measures, levels, rankings)."""
    levels, size, blocks = np.array(options.levels), max(1, _DRAWN // setting.D), []
    # In blocks, each with its own seed, to bound the memory.
    for block, first in enumerate(range(0, options.rankings, size)):
        rng = np.random.default_rng([options.seed, setting.D, setting.R, block])
        rankings = min(size, options.rankings - first)
        # One row per ranking, so that a shortened block begins like the full one.
        draws = np.moveaxis(rng.random((rankings, 2, setting.D)), 1, 0)
        at_once, parts = max(1, 4 * _DRAWN // (rankings * setting.D)), []
        for start in range(0, len(levels), at_once):
            some = levels[start : start + at_once]
            seen = as_rankings(setting, options.how.order(setting, some, draws))
            values = np.stack([measure.values(seen) for measure in measures])
            parts.append(values.reshape(len(measures), len(some), rankings))
        blocks.append(np.concatenate(parts, axis=1))
    return np.concatenate(blocks, axis=-1)


# --- summing up -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Robustness(FlatRow):
    """A measure's means over all settings and levels in a few numbers.

    A measure's *move* at one level is the difference between its highest and lowest mean over the
    settings. ``largest_move`` is the largest over the levels, at the level ``theta``; ``mean_move``
    is the mean over them. ``move_with_D`` is the largest move among settings with the same R as
    written (D/10, say), ``move_with_R`` among settings with the same D; nan if there is only one.
    ``fall`` is the fall of the mean over settings from the lowest level to the highest (nan if
    these are the same). ``share`` is the mean move divided by the fall; unlike the moves, it does
    not change if a measure is rescaled. ``correlation`` is Pearson's with θ over all settings and
    levels together, ``distance`` the mean distance from 1 − θ. ``rescaled_distance`` is the
    distance of the measure rescaled to [-1, 1]; nan without bounds, or if it is rescaled already.
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
    def follows(self) -> bool:
        """Whether the measure equals the disorder itself, in all sizes: the paper's question."""
        return self.distance <= NEAR

    @property
    def verdict(self) -> Verdict:
        """How much the size of a slice moves the measure, by the ``share``: our question."""
        if math.isnan(self.fall):
            return "one level"
        if math.isnan(self.share):
            return "does not fall"
        if self.share <= LITTLE:
            return "moves little"
        return "moves somewhat" if self.share <= MUCH else "moves much"

    def row(self) -> dict[str, Any]:
        """Return a flat row; unknown values are empty."""
        return {**super().row(), "verdict": self.verdict, "follows": self.follows}


def robustness(simulation: Simulation) -> list[Robustness]:
    """Summarise a simulation, one result per measure."""
    levels = np.array(simulation.options.levels)
    settings = simulation.options.settings
    results = []
    for study, means in zip(simulation.measures, simulation.mean, strict=True):
        moves = np.ptp(means, axis=0)
        middle = means.mean(axis=0)
        fall = float(middle[0] - middle[-1]) if len(levels) > 1 else math.nan
        can_rescale = study.is_bounded and not study.rescaled
        rescaled = _distance(study.rescale(means), levels) if can_rescale else math.nan
        result = Robustness(
            measure=str(study),
            correlation=pearson(np.tile(levels, len(settings)), means.ravel()),
            distance=_distance(means, levels),
            rescaled_distance=rescaled,
            largest_move=float(moves.max()),
            theta=float(levels[moves.argmax()]),
            mean_move=float(moves.mean()),
            move_with_D=_largest(means, [setting.written for setting in settings]),
            move_with_R=_largest(means, [setting.D for setting in settings]),
            fall=fall,
            share=float(moves.mean()) / fall if fall > 1e-12 else math.nan,
        )
        results.append(result)
    return results


def _distance(means: Floats, levels: Floats) -> float:
    return float(np.abs(means - (1.0 - levels)).mean())


def _largest(means: Floats, groups: Sequence[Hashable]) -> float:
    """Return the largest move within a group of settings; nan if no group has two settings."""
    sizes = [
        np.ptp(means[[at for at, each in enumerate(groups) if each == group]], axis=0).max()
        for group in dict.fromkeys(groups)
        if groups.count(group) > 1
    ]
    return float(max(sizes, default=math.nan))


DOCUMENTS = "10,100,200"
RELEVANT = "D/2,D/10"
MOST = 1_000_000


@dataclass(frozen=True)
class Setting:
    """A slice of ``D`` documents with ``R`` relevant ones.

    ``written`` is R as the user wrote it; settings with equal texts differ only in length.
    """

    D: int
    R: int
    written: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.D <= MOST:
            raise CitebedError(
                f"D={self.D}: rankings of 1 to {MOST:,} documents can be studied. Larger "
                "slices behave in the same way: divide both D and R by 10."
            )
        if not 1 <= self.R <= self.D:
            raise CitebedError(
                f"D={self.D}, R={self.R}: of {self.D} documents from 1 to {self.D} can be relevant."
            )

    def __str__(self) -> str:
        return f"D={self.D}, R={self.R}"


def settings_of(documents: str = DOCUMENTS, relevant: str = RELEVANT) -> list[Setting]:
    """Combine every number of documents with every number of relevant documents.

    Both are lists separated by commas. A number of relevant documents is an integer or a fraction
    such as ``D/10``. Repeated settings count once.
    """
    settings: dict[tuple[int, int], Setting] = {}
    for text in _pieces(documents, "the numbers of documents"):
        length = _whole(text, "the number of documents")
        for written in _pieces(relevant, "the numbers of relevant documents"):
            setting = Setting(length, _relevant(written, length), written)
            settings.setdefault((setting.D, setting.R), setting)
    return list(settings.values())


def levels_of(text: str) -> tuple[float, ...]:
    """Parse levels of disorder from 0 to 1; return them sorted, each once."""
    levels = set()
    for piece in _pieces(text, "the levels"):
        try:
            levels.add(float(piece))
        except ValueError:
            raise CitebedError(f"the level '{piece}' is not a number from 0 to 1.") from None
    return checked_levels(sorted(levels))


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Raise an error unless all levels are from 0 to 1."""
    if not levels:
        raise CitebedError("no level of disorder is given. Give some from 0 to 1, e.g. 0,0.5,1.")
    for level in levels:
        if not 0 <= level <= 1:
            raise CitebedError(
                f"the level of disorder θ={level:g} is not from 0 (ideal) to 1 (most disorder)."
            )
    return tuple(float(level) + 0.0 for level in levels)  # -0.0 becomes 0.0


def _pieces(text: str, what: str) -> list[str]:
    pieces = [piece.replace(" ", "") for piece in text.split(",")]
    if not all(pieces):
        raise CitebedError(f"cannot read {what}, '{text}': expected a list like {DOCUMENTS}.")
    return pieces


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise CitebedError(f"cannot read {what}, '{text}': expected a whole number.")
    return int(text)


def _relevant(text: str, length: int) -> int:
    if not text.upper().startswith("D"):
        return _whole(text, "the number of relevant documents")
    if not re.fullmatch(r"[Dd](/0*[1-9]\d{0,8})?", text):
        raise CitebedError(f"cannot read '{text}' relevant documents: expected D/10, or a number.")
    parts = int(text[2:] or 1)
    if length % parts:
        raise CitebedError(
            f"'{text}' of {length} documents is not a whole number. Take multiples of {parts} as "
            "numbers of documents, or give R as a number."
        )
    return length // parts


# --- perturbations ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Perturbation:
    """A perturbation method; ``means`` explains the level.

    ``order`` takes a setting, the levels, and draws of the shape (2, rankings, D), uniform in
    [0, 1). It returns the shape (levels, rankings, D): for each rank, the document's position in
    the ideal ranking, from 0.
    """

    means: str
    order: Callable[[Setting, Floats, Floats], Ints]


def _shuffle(_: Setting, levels: Floats, draws: Floats) -> Ints:
    """Remove documents with a draw below θ, and put them back in the order of their second draw."""
    taken = draws[0] < levels[:, None, None]
    documents = np.argsort(np.where(taken, draws[1], 1.0), axis=-1, kind="stable")
    places = np.argsort(~taken, axis=-1, kind="stable")
    order = np.empty_like(documents)
    # Documents that stay come last in both lists, in the same order: each keeps its place.
    np.put_along_axis(order, places, documents, axis=-1)
    return order


def _exchange(setting: Setting, levels: Floats, draws: Floats) -> Ints:
    """Give every relevant document a partner; exchange them if the draw is below θ."""
    relevant = setting.R
    if relevant > setting.D - relevant:
        raise CitebedError(
            f"{setting}: to exchange each relevant document for another, no more than half may be "
            "relevant. Take a smaller R, or the perturbation shuffle."
        )
    partner = relevant + np.argsort(draws[1][:, relevant:], axis=-1)[:, :relevant]
    taken = draws[0][:, :relevant] < levels[:, None, None]
    order = np.tile(np.arange(setting.D), (*taken.shape[:2], 1))
    own = order[..., :relevant]
    partners = np.broadcast_to(partner, taken.shape)
    np.put_along_axis(order, partners, np.where(taken, own, partners), axis=-1)
    order[..., :relevant] = np.where(taken, partners, own)
    return order


def _noise(setting: Setting, levels: Floats, draws: Floats) -> Ints:
    """Sort by (1 − θ)·ideal score + θ·noise; ideal scores fall evenly from 1 to 0."""
    ideal = 1.0 - np.arange(setting.D) / max(setting.D - 1, 1)
    theta = levels[:, None, None]
    return np.argsort(-((1.0 - theta) * ideal + theta * draws[0]), axis=-1, kind="stable")


PERTURBATIONS = {
    "shuffle": Perturbation(
        "each document is taken out with probability θ, and those taken out are put back in "
        "random order",
        _shuffle,
    ),
    "exchange": Perturbation(
        "each relevant document changes places with probability θ with one that is not relevant",
        _exchange,
    ),
    "noise": Perturbation(
        "documents are ordered by 1 − θ parts of an ideal score, which falls evenly from the top "
        "to the bottom, and θ parts of noise",
        _noise,
    ),
}
"""All perturbations by name; the first is the default."""


def as_rankings(setting: Setting, order: Ints) -> Rankings:
    """Convert to `Rankings`, with all documents judged and retrieved, without ties.

    ``order`` has the document at each rank along its last axis; the first R documents are relevant.
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
        highest=1,
    )
