"""Base class of measures, which parse from and print as a name, and score all queries at once."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from citebed.errors import CitebedError
from citebed.evaluation.measures.rankings import Rankings
from citebed.grammar import Call
from citebed.runs.tables import Flags, Floats

Cutoff = int | float | Literal["R"] | None
CutoffKind = Literal["none", "rank", "rank or R", "recall", "multiple"]
FLOOR = 1e-5
"""The lowest value in a geometric mean, as in trec_eval, so that one zero does not decide it."""
SummaryKind = Literal["mean", "geometric mean", "sum"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure with its parameters.

    ``cutoff`` is the value after ``@``: a rank, ``R`` for the number of relevant documents of the
    query, or a recall level. ``rel`` is the lowest relevant grade. ``judged_only`` first removes
    unjudged documents from the ranking.
    """

    NAME: ClassVar[str]
    CITATION: ClassVar[str] = ""
    CUTOFF: ClassVar[CutoffKind] = "none"
    NEEDS_CUTOFF: ClassVar[bool] = False
    SUMMARY: ClassVar[SummaryKind] = "mean"
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)

    cutoff: Cutoff = None
    rel: int = 1
    judged_only: bool = False

    def __init_subclass__(cls) -> None:
        cls.NAME = cls.__name__

    def __post_init__(self) -> None:
        self._check_cutoff()
        if self.rel < 0:
            raise CitebedError(f"{self.NAME}: rel={self.rel} is below 0, the lowest judgement.")

    def _check_cutoff(self) -> None:
        if self.cutoff is None:
            if self.NEEDS_CUTOFF:
                example = {"recall": "0.1", "multiple": "0.5"}.get(self.CUTOFF, "10")
                raise CitebedError(
                    f"{self.NAME} needs a cut-off. Write {self.NAME}@{example}, for example."
                )
            return
        if self.CUTOFF == "none":
            raise CitebedError(f"{self.NAME} takes no cut-off; found '@{self.cutoff}'.")
        if self.CUTOFF == "recall":
            if self.cutoff == "R" or not 0 <= self.cutoff <= 1:
                raise CitebedError(
                    f"{self.NAME}@{self.cutoff}: the cut-off is a recall level from 0 to 1."
                )
        elif self.CUTOFF == "multiple":
            if self.cutoff == "R" or not 0 <= self.cutoff < 1 << 31:
                raise CitebedError(f"{self.NAME}@{self.cutoff}: a multiple is a number from 0.")
        elif self.cutoff == "R":
            if self.CUTOFF != "rank or R":
                raise CitebedError(f"{self.NAME} takes a number as its cut-off, not R.")
        elif not isinstance(self.cutoff, int) or not 1 <= self.cutoff < 1 << 63:
            raise CitebedError(
                f"{self.NAME}@{self.cutoff}: the cut-off is a rank, a whole number from 1."
            )

    def __str__(self) -> str:
        values = [(field, getattr(self, field.name)) for field in parameters(type(self))]
        params = tuple((field.name, value) for field, value in values if value != field.default)
        cutoff = None if self.cutoff is None else str(self.cutoff)
        return Call(self.NAME, params, cutoff).written(repr)  # as ir_measures prints values

    def values(self, rankings: Rankings) -> Floats:
        """Return the score of every judged query."""
        return self.score(rankings.condensed if self.judged_only else rankings)

    def score(self, rankings: Rankings) -> Floats:
        """Compute the formula for all queries at once."""
        raise NotImplementedError

    def summary(self, values: Floats) -> float:
        """Summarise all queries in one number, added up in query order as in trec_eval."""
        if not len(values):
            return float("nan")
        mean = float(np.cumsum(self.scaled(values))[-1]) / len(values)
        return math.exp(mean) if self.SUMMARY == "geometric mean" else mean

    def scaled(self, values: Floats) -> Floats:
        """Return scores on the scale for averaging: logarithms for geometric means."""
        return np.log(values) if self.SUMMARY == "geometric mean" else values

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The lowest and highest score on the scale of `scaled`, or ``None``."""
        if not all(map(math.isfinite, self.RANGE)):
            return None
        low, high = self.RANGE
        if self.SUMMARY == "geometric mean":
            return math.log(max(low, FLOOR)), math.log(high)
        return low, high

    def relevant(self, rankings: Rankings) -> Flags:
        """Return which of the retrieved, judged documents are relevant."""
        return rankings.relevance >= self.rel

    def above_cutoff(self, rankings: Rankings) -> Flags:
        """Return which of the retrieved, judged documents are within the cut-off."""
        if self.cutoff is None:
            return np.ones(len(rankings.rank), bool)
        if self.cutoff == "R":
            return rankings.rank <= rankings.judged(self.rel)[rankings.query]
        return rankings.rank <= self.cutoff

    def hits(self, rankings: Rankings) -> Floats:
        """Count, per query, the relevant documents retrieved within the cut-off."""
        return rankings.count(self.relevant(rankings) & self.above_cutoff(rankings))

    @property
    def depth(self) -> int:
        """The rank of the cut-off, for measures that need one."""
        assert isinstance(self.cutoff, int)
        return self.cutoff


def parameters(of: type[Measure]) -> list[Field[Any]]:
    """Return a measure's parameters in the order of its name: its own first."""
    own = [field for field in fields(of) if field.name not in ("cutoff", "rel", "judged_only")]
    common = [field for field in fields(of) if field.name in ("rel", "judged_only")]
    return [*own, *common]


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide; return 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
