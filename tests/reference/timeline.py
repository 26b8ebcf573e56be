"""Time-aware evaluation, slow and simple: plain loops over lines, from the formulas.

A judgement is (query, document, time, grade), one per line, with several assessors on several
lines; a line of a run is (query, document, time, score). Slices are pairs of times; the first is
inclusive, the second exclusive.
Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation Systems, 2013;
the official scores are those of TREC KBA 2012.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.reference import trec_measures

DAY = 86_400


class Judgement(NamedTuple):
    query: str
    doc: str
    time: int
    grade: int


class Line(NamedTuple):
    query: str
    doc: str
    time: int
    score: float


Slice = tuple[int, int]
Cell = tuple[str, Slice]


# Several assessors.


def merged(judgements: Sequence[Judgement], rule: str, rel: int = 1) -> list[Judgement]:
    """One judgement a pair of query and document."""
    votes: dict[tuple[str, str, int], list[int]] = {}
    for query, doc, time, grade in judgements:
        votes.setdefault((query, doc, time), []).append(grade)
    return [Judgement(*pair, one_grade(grades, rule, rel)) for pair, grades in votes.items()]


def one_grade(grades: Sequence[int], rule: str, rel: int) -> int:
    positive = [grade for grade in grades if grade >= rel]
    negative = [grade for grade in grades if grade < rel]
    if rule == "any-dissent-negative":
        return min(grades)
    if rule == "any":
        return min(positive) if positive else max(negative)
    if rule == "max":
        return max(grades)
    assert rule == "majority"
    if len(positive) > len(grades) / 2:
        return sorted(grades)[(len(grades) - 1) // 2]
    return statistics.median_low(grades)


def shown_to(name: str, judgements: Sequence[Judgement], graded: bool | None) -> list[Judgement]:
    """The judgements as a measure sees them: binary, unless told or it asks for gains."""
    if graded is None:
        graded = name.startswith("ERR") or "exp-log2" in name
    if graded:
        return list(judgements)
    return [judgement._replace(grade=min(judgement.grade, 1)) for judgement in judgements]


# Slices.


def uniform_slices(judgements: Sequence[Judgement], length: int) -> list[Slice]:
    """From midnight before the first judged document until the last one is in a slice."""
    start = min(judgement.time for judgement in judgements) // DAY * DAY
    last = max(judgement.time for judgement in judgements)
    slices = []
    while start <= last:
        slices.append((start, start + length))
        start += length
    return slices


# Scores.


def cell_score(
    judgements: Sequence[Judgement], run: Sequence[Line], name: str, threshold: float | None = None
) -> float:
    """A measure of one query in one slice, given only its judgements and lines."""
    set_based = name.startswith(("Set", "SU"))
    if set_based and threshold is not None:
        run = [line for line in run if line.score > threshold]
    if not run:
        return -1.0 if name == "RescaledAUC" else 0.0
    known = {judgement.doc: judgement.grade for judgement in judgements}
    ranked = trec_measures.rank({line.doc: line.score for line in run}, "double")
    query = trec_measures.Query(
        [known.get(doc) for doc, _ in ranked], [score for _, score in ranked], known, 1, 2
    )
    if name == "RescaledAUC":
        return 2 * trec_measures.measure(query, "AUC") - 1
    return trec_measures.measure(query, name)


def cell_scores(
    judgements: Sequence[Judgement],
    run: Sequence[Line],
    slices: Sequence[Slice],
    name: str,
    threshold: float | None = None,
) -> dict[Cell, float]:
    """The measure of each query in each slice in which it has relevant documents."""
    scores = {}
    for query in sorted({judgement.query for judgement in judgements}):
        of_query = [judgement for judgement in judgements if judgement.query == query]
        found = [line for line in run if line.query == query]
        for start, end in slices:
            here = [judgement for judgement in of_query if start <= judgement.time < end]
            lines = [line for line in found if start <= line.time < end]
            if any(judgement.grade >= 1 for judgement in here):
                scores[query, (start, end)] = cell_score(here, lines, name, threshold)
    return scores


def weights(
    judgements: Sequence[Judgement], cells: Sequence[Cell], kind: str, last_end: int
) -> dict[Cell, float]:
    """P(i|q) of each cell."""
    raw = {cell: raw_weight(judgements, cell, kind, last_end) for cell in cells}
    totals: dict[str, float] = {}
    for (query, _), weight in raw.items():
        totals[query] = totals.get(query, 0.0) + weight
    return {cell: weight / totals[cell[0]] for cell, weight in raw.items()}


def raw_weight(judgements: Sequence[Judgement], cell: Cell, kind: str, last_end: int) -> float:
    query, (start, end) = cell
    if kind == "uniform":
        return 1.0
    if kind == "burst":
        return sum(j.query == query and start <= j.time < end and j.grade >= 1 for j in judgements)
    assert kind == "recency:10d"
    return 0.5 ** ((last_end - end) / (10 * DAY))


def query_scores(scores: Mapping[Cell, float], shares: Mapping[Cell, float]) -> dict[str, float]:
    """Equation 1: the slices' scores, each times its weight."""
    totals: dict[str, float] = {}
    for cell, score in scores.items():
        totals[cell[0]] = totals.get(cell[0], 0.0) + score * shares[cell]
    return totals


def slice_means(scores: Mapping[Cell, float]) -> dict[Slice, float]:
    """Each slice's mean over the queries with relevant documents in it."""
    values: dict[Slice, list[float]] = {}
    for (_, at), score in scores.items():
        values.setdefault(at, []).append(score)
    return {at: sum(found) / len(found) for at, found in values.items()}


# The official scoring.


class Counts(NamedTuple):
    tp: int
    fp: int
    fn: int


def confusion(
    judgements: Sequence[Judgement],
    run: Sequence[Line],
    cutoff: float,
    level: int,
    unjudged_negative: bool,
) -> dict[str, Counts]:
    """Entity by entity, at one cut-off."""
    counts = {}
    for entity in {judgement.query for judgement in judgements}:
        grades = {j.doc: j.grade for j in judgements if j.query == entity and j.grade >= 0}
        accepted = {line.doc for line in run if line.query == entity and line.score > cutoff}
        tp = fp = 0
        for doc in accepted:
            if doc in grades and grades[doc] >= level:
                tp += 1
            elif doc in grades or unjudged_negative:
                fp += 1
        positives = sum(grade >= level for grade in grades.values())
        counts[entity] = Counts(tp, fp, positives - tp)
    return counts


def over(above: float, below: float) -> float:
    return above / below if below else 0.0


def precision(counts: Counts) -> float:
    return over(counts.tp, counts.tp + counts.fp)


def recall(counts: Counts) -> float:
    return over(counts.tp, counts.tp + counts.fn)


def f1(p: float, r: float) -> float:
    return over(2 * p * r, p + r)


def scaled_utility(counts: Counts) -> float:
    utility, positives = 2 * counts.tp - counts.fp, counts.tp + counts.fn
    normed = -0.5 if utility < 0 else 0.0
    if positives:
        normed = utility / (2 * positives)
    return (max(normed, -0.5) + 0.5) / 1.5


class Averages(NamedTuple):
    precision: float
    recall: float
    f1_of_means: float
    mean_f1: float
    su: float


def averages(entities: Sequence[Counts], kind: str) -> Averages:
    """One of micro, macro and weighted."""
    if kind == "micro":
        entities = [Counts(*(sum(column) for column in zip(*entities, strict=True)))]
    shares = [1.0] * len(entities)
    if kind == "weighted":
        shares = [float(counts.tp + counts.fn) for counts in entities]
    whole = sum(shares)

    def mean(values: Sequence[float]) -> float:
        return over(sum(v * s for v, s in zip(values, shares, strict=True)), whole)

    p, r = mean([precision(c) for c in entities]), mean([recall(c) for c in entities])
    fs = mean([f1(precision(c), recall(c)) for c in entities])
    return Averages(p, r, f1(p, r), fs, mean([scaled_utility(c) for c in entities]))


# Trends.


def mann_kendall_s(values: Sequence[float]) -> int:
    s = 0
    for i, before in enumerate(values):
        for after in values[i + 1 :]:
            s += (after > before) - (after < before)
    return s


def theil_sen(x: Sequence[float], y: Sequence[float]) -> float:
    return statistics.median(
        (y[j] - y[i]) / (x[j] - x[i]) for i in range(len(x)) for j in range(i + 1, len(x))
    )
