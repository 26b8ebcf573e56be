"""What becomes of significant differences between runs when the judgements change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from citebed.evaluation.scoring.comparing import Comparison, Design, compare
from citebed.evaluation.scoring.evaluating import Evaluation
from citebed.evaluation.scoring.summaries import Resampling

Fate = Literal["survives", "vanishes", "appears", "turns round", "none"]
FATES: tuple[Fate, ...] = ("survives", "vanishes", "appears", "turns round", "none")

_FEW = 100


@dataclass(frozen=True)
class Conclusion:
    """A pair of runs under one measure, tested under both judgement sets.

    The differences are ``run`` less ``base``, the p-values after the correction. A significant
    difference of the first set ``survives`` when it is significant in the same direction under
    the second, ``turns round`` when in the other, and else ``vanishes``; one that only the
    second set shows ``appears``; ``none`` is no significant difference under either.
    """

    measure: str
    base: str
    run: str
    before_difference: float
    before_p: float
    after_difference: float
    after_p: float
    fate: Fate

    def row(self) -> dict[str, Any]:
        """As a flat row; what is not known is null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def conclusions(
    before: Evaluation, after: Evaluation, design: Design, resampling: Resampling
) -> list[Conclusion]:
    """The fate of every difference between the runs; empty for a single run."""
    if len(before.runs) < 2:
        return []
    frugal = without_intervals(design, resampling)
    sides = (compare(evaluation, design, frugal) for evaluation in (before, after))
    return [_conclusion(x, y) for x, y in zip(*sides, strict=True)]


def without_intervals(design: Design, resampling: Resampling) -> Resampling:
    """The same with few draws, where only intervals, which are not shown, would be drawn."""
    if design.test != "t" or design.correction == "tukey":
        return resampling
    return replace(resampling, samples=_FEW)


def _conclusion(before: Comparison, after: Comparison) -> Conclusion:
    return Conclusion(
        measure=before.measure,
        base=before.base,
        run=before.run,
        before_difference=before.difference,
        before_p=before.p_adjusted,
        after_difference=after.difference,
        after_p=after.p_adjusted,
        fate=fate_of(before, after),
    )


def fate_of(before: Comparison, after: Comparison) -> Fate:
    """What becomes of a difference."""
    if before.significant and after.significant:
        same = (before.difference > 0) == (after.difference > 0)
        return "survives" if same else "turns round"
    if before.significant:
        return "vanishes"
    return "appears" if after.significant else "none"


def fates(found: Sequence[Conclusion]) -> dict[str, Counter[Fate]]:
    """For each measure, how many differences had which fate."""
    counted: dict[str, Counter[Fate]] = {}
    for conclusion in found:
        counted.setdefault(conclusion.measure, Counter())[conclusion.fate] += 1
    return counted
