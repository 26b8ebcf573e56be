"""The measures to study: any that is registered, as it is or rescaled to [-1, 1]."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.grammar import measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats
from citebed.timeline.scoring.measuring import RescaledAUC, slice_measures

MEASURES = ("AP", "nDCG@R", "nDCG", "Rprec", "AUC", "AUC:rescaled")
RESCALED = "rescaled"


@dataclass(frozen=True)
class Studied:
    """A measure, with ``rescaled`` moved from its own range to [-1, 1].

    It prints as it is written: ``AUC``, ``AUC:rescaled`` (which is 2·AUC − 1).
    """

    measure: Measure
    rescaled: bool = False

    def __post_init__(self) -> None:
        if self.measure.rel != 1:
            raise CitebedError(
                f"{self.measure}: the rankings of the study have grades 0 and 1, so leave out rel="
                f"{self.measure.rel}."
            )
        if self.rescaled and not self._bounded:
            raise CitebedError(
                f"{self.measure} has no bounds, so it cannot be rescaled to [-1, 1]."
            )

    def __str__(self) -> str:
        return f"{self.measure}:{RESCALED}" if self.rescaled else str(self.measure)

    def values(self, rankings: Rankings) -> Floats:
        """The score of every ranking."""
        values = self.measure.values(rankings)
        return self.rescale(values) if self.rescaled else values

    def rescale(self, values: Floats) -> Floats:
        """Values of the measure moved from its range to [-1, 1]."""
        low, high = self.measure.RANGE
        return 2.0 * (values - low) / (high - low) - 1.0

    @property
    def can_be_rescaled(self) -> bool:
        """Whether it has bounds, and is not rescaled yet."""
        return self._bounded and not self.rescaled

    @property
    def _bounded(self) -> bool:
        return all(map(math.isfinite, self.measure.RANGE))

    @property
    def geometric(self) -> bool:
        """Whether its mean is a geometric one."""
        return self.measure.SUMMARY == "geometric mean" and not self.rescaled

    def mean(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean over rankings (the last axis), with the ends of its 95% interval.

        The interval is that of chance in drawing the rankings: 1.96 standard errors either way.
        """
        scale = np.log(values) if self.geometric else values
        middle = scale.mean(axis=-1)
        error = 1.96 * scale.std(axis=-1, ddof=1) / math.sqrt(values.shape[-1])
        ends = (middle, middle - error, middle + error)
        middle, low, high = (np.exp(end) for end in ends) if self.geometric else ends
        return middle, low, high


def studied(texts: Iterable[str | Measure | Studied] = MEASURES) -> list[Studied]:
    """The measures that texts name, each once; ``AP,nDCG@R`` in one text are two.

    Behind a colon stands what is done with it: ``AUC:rescaled``. ``RescaledAUC``, as slices
    have it, is the same and known too.
    """
    found: dict[str, Studied] = {}
    for text in texts:
        for part in _split(text) if isinstance(text, str) else [text]:
            each = part if isinstance(part, Studied) else _studied(part)
            found.setdefault(str(each), each)
    if not found:
        raise CitebedError("no measure was named. Name one, e.g. nDCG@R.")
    return list(found.values())


def _split(text: str) -> list[str]:
    """At blanks and commas that are not inside parentheses."""
    return re.findall(r"(?:\([^()]*\)|[^\s,()])+", text) or [text]


def _studied(text: str | Measure) -> Studied:
    if isinstance(text, Measure):
        return Studied(text)
    name, colon, how = text.partition(":")
    if colon and how != RESCALED:
        raise UnknownName(f"way to change {name}", how, [RESCALED])
    if name.lower().startswith(RescaledAUC.NAME.lower()):
        return Studied(slice_measures([name])[0], bool(colon))
    return Studied(measure(name), bool(colon))
