"""Agreement of assessors, slow and simple: pair by pair of judgements, in exact fractions.

Judgements are a dict from items to a dict from assessors to values. The formulas are from Cohen
(1960) and Krippendorff (2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

Judgements = Mapping[str, Mapping[str, int]]


def raw(judgements: Judgements) -> Fraction | None:
    pairs = [pair for said in judgements.values() for pair in permutations(said.values(), 2)]
    return Fraction(sum(a == b for a, b in pairs), len(pairs)) if pairs else None


def kappa(judgements: Judgements, first: str, second: str) -> Fraction | None:
    both = [(said[first], said[second]) for said in judgements.values()]
    observed = sum(a != b for a, b in both)
    expected = sum(a != b for a, _ in both for _, b in both)
    return 1 - Fraction(observed * len(both), expected) if expected else None


def alpha(judgements: Judgements, metric: str) -> Fraction | None:
    units = [list(said.values()) for said in judgements.values() if len(said) > 1]
    values = [value for unit in units for value in unit]
    apart = _metric(metric, values)
    observed = sum(
        (apart(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)),
        Fraction(0),
    )
    expected = sum((apart(a, b) for a, b in permutations(values, 2)), Fraction(0))
    return 1 - (len(values) - 1) * observed / expected if expected else None


def _metric(name: str, values: Sequence[int]) -> Callable[[int, int], Fraction]:
    def ordinal(a: int, b: int) -> Fraction:
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in values)
        return (between - Fraction(values.count(a) + values.count(b), 2)) ** 2

    return {
        "nominal": lambda a, b: Fraction(a != b),
        "ordinal": lambda a, b: ordinal(a, b) if a != b else Fraction(0),
    }[name]
