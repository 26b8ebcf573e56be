"""The robustness study the slow and obvious way: one ranking at a time, in plain loops.

Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013,
section 4.4. Documents are known by their places in the ideal ranking, from 0; the first R are
relevant. ``first`` and ``second`` hold a number between 0 and 1 for each document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import correlation, fmean, stdev

from tests.reference import trec_measures

Draws = Sequence[float]
Size = tuple[int, int]
Means = Mapping[Size, Sequence[float]]
"""For each (D, R), the means at the levels."""


def shuffled(size: Size, theta: float, first: Draws, second: Draws) -> list[int]:
    """Take out those whose first number is below θ; put them back in the order of the second."""
    ranking = list(range(size[0]))
    taken = [document for document in ranking if first[document] < theta]
    back = sorted(taken, key=lambda document: second[document])
    for place, document in zip(taken, back, strict=True):
        ranking[place] = document
    return ranking


def exchanged(size: Size, theta: float, first: Draws, second: Draws) -> list[int]:
    """Swap a relevant document whose first number is below θ with its partner."""
    length, relevant = size
    ranking = list(range(length))
    partners = sorted(ranking[relevant:], key=lambda document: second[document])
    for document in range(relevant):
        if first[document] < theta:
            partner = partners[document]
            ranking[document], ranking[partner] = partner, document
    return ranking


def noisy(size: Size, theta: float, first: Draws, _: Draws) -> list[int]:
    """Order by a mixture of ideal score and noise."""
    length = size[0]

    def mixture(document: int) -> float:
        ideal = 1 - document / (length - 1) if length > 1 else 1.0
        return (1 - theta) * ideal + theta * first[document]

    return sorted(range(length), key=mixture, reverse=True)


PERTURBED: dict[str, Callable[[Size, float, Draws, Draws], list[int]]] = {
    "shuffle": shuffled,
    "exchange": exchanged,
    "noise": noisy,
}


def score(ranking: Sequence[int], relevant: int, measure: str) -> float:
    """A measure as it is written; ``:rescaled`` behind it is twice the value less 1."""
    name, _, rescaled = measure.partition(":")
    grades = [int(document < relevant) for document in ranking]
    judgements = {str(document): int(document < relevant) for document in ranking}
    scores = [float(-place) for place in range(len(ranking))]
    query = trec_measures.Query(grades, scores, judgements, rel=1, highest=1)
    value = trec_measures.measure(query, name)
    return 2 * value - 1 if rescaled else value


def mean_and_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean, and 1.96 standard errors below and above."""
    mean, error = fmean(values), stdev(values) / math.sqrt(len(values))
    return mean, mean - 1.96 * error, mean + 1.96 * error


def moves(means: Means) -> list[float]:
    """At each level the distance between the highest and the lowest mean."""
    return [max(at) - min(at) for at in zip(*means.values(), strict=True)]


def move_within(means: Means, group: Callable[[Size], object]) -> float:
    """The largest move among sizes of one group."""
    largest = 0.0
    for one in means:
        for other in means:
            if group(one) == group(other):
                pairs = zip(means[one], means[other], strict=True)
                largest = max(largest, *(abs(a - b) for a, b in pairs))
    return largest


def correlation_with_level(means: Means, levels: Sequence[float]) -> float:
    points = [
        (theta, mean) for row in means.values() for theta, mean in zip(levels, row, strict=True)
    ]
    return correlation([theta for theta, _ in points], [mean for _, mean in points])


def distance_from_order(means: Means, levels: Sequence[float]) -> float:
    """The mean distance of the means from 1 − θ."""
    return fmean(
        abs(mean - (1 - theta))
        for row in means.values()
        for theta, mean in zip(levels, row, strict=True)
    )


def fall(means: Means) -> float:
    """From the mean over sizes at the first level to that at the last."""
    return fmean(row[0] for row in means.values()) - fmean(row[-1] for row in means.values())
