"""Measures of a ranking, slow and simple: one query at a time, in plain loops.

The definitions follow trec_eval 9 if it has the measure, else the paper that is named.
A ranking is a list of grades, best document first: a grade, a negative number if the document was
pooled and not judged, ``None`` if it was not in a pool. The judgements are those of all documents
of the query, retrieved or not. ``rel`` is the lowest relevant grade; gains come from the grade
itself. A quotient with denominator 0 is 0, so a query without relevant documents scores 0 in every
measure except utility and residual.
"""

from __future__ import annotations

import ctypes
import math
import re
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Ranking = Sequence[int | None]
Judgements = Mapping[str, int]
Qrels = Mapping[str, Judgements]
Run = Mapping[str, Mapping[str, float]]
Gain = Callable[[int | None], float]
ScoreType = Literal["double", "float"]

GEOMETRIC_FLOOR = 1e-5
INFAP_EPSILON = 1e-5


# The judgement of a document, and the facts of a query.


def is_judged(grade: int | None) -> bool:
    return grade is not None and grade >= 0


def is_relevant(grade: int | None, rel: int) -> bool:
    """Only a judged document can be relevant, however low the threshold."""
    return grade is not None and grade >= 0 and grade >= rel


def count_relevant(judgements: Judgements, rel: int) -> int:
    return sum(is_relevant(grade, rel) for grade in judgements.values())


def found(ranking: Ranking, rel: int) -> int:
    """How many relevant documents the ranking has."""
    return sum(is_relevant(grade, rel) for grade in ranking)


def share(part: float, whole: float) -> float:
    """A quotient, or 0 of nothing."""
    return part / whole if whole else 0.0


def judged_non_relevant(ranking: Ranking, rel: int) -> int:
    return sum(is_judged(grade) and not is_relevant(grade, rel) for grade in ranking)


# Measures of the top of a ranking.


def precision(ranking: Ranking, k: int, rel: int) -> float:
    """Divided by ``k`` even where fewer documents were retrieved."""
    return found(ranking[:k], rel) / k


def recall(ranking: Ranking, judgements: Judgements, k: int, rel: int) -> float:
    return share(found(ranking[:k], rel), count_relevant(judgements, rel))


def relative_precision(ranking: Ranking, judgements: Judgements, k: int, rel: int) -> float:
    """Precision as a share of the best that ``k`` documents could have."""
    return share(found(ranking[:k], rel), min(k, count_relevant(judgements, rel)))


def success(ranking: Ranking, k: int, rel: int) -> float:
    return 1.0 if found(ranking[:k], rel) else 0.0


def judged(ranking: Ranking, k: int | None) -> float:
    """The judged share of what was retrieved in the first ``k`` ranks, as ir_measures has it."""
    top = ranking[:k]
    return share(sum(is_judged(grade) for grade in top), len(top))


def r_precision(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    relevant = count_relevant(judgements, rel)
    return share(found(ranking[:relevant], rel), relevant)


def r_precision_multiple(
    ranking: Ranking, judgements: Judgements, multiple: float, rel: int
) -> float:
    """Precision after ``multiple`` times as many documents as are relevant."""
    k = int(multiple * count_relevant(judgements, rel) + 0.9)
    return share(found(ranking[:k], rel), k)


def reciprocal_rank(ranking: Ranking, k: int | None, rel: int) -> float:
    for rank, grade in enumerate(ranking[:k], start=1):
        if is_relevant(grade, rel):
            return 1 / rank
    return 0.0


# Measures of a whole ranking.


def average_precision(ranking: Ranking, judgements: Judgements, k: int | None, rel: int) -> float:
    """The mean over all relevant documents, even where ``k`` leaves no room for all of them."""
    total = 0.0
    for rank, grade in enumerate(ranking[:k], start=1):
        if is_relevant(grade, rel):
            total += precision(ranking, rank, rel)
    return share(total, count_relevant(judgements, rel))


def bpref(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """Buckley and Voorhees 2004, as trec_eval has had it since version 8.

    Each retrieved relevant document gives ``1 - min(n, R) / min(N, R)``, where ``n`` judged
    non-relevant documents are above it and ``N`` are known; 1 if none is above it.
    """
    relevant = count_relevant(judgements, rel)
    non_relevant = sum(0 <= grade < rel for grade in judgements.values())
    total, above = 0.0, 0
    for grade in ranking:
        if is_relevant(grade, rel):
            total += 1.0
            if above:
                total -= min(above, relevant) / min(non_relevant, relevant)
        elif is_judged(grade):
            above += 1
    return share(total, relevant)


def inferred_ap(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """Yilmaz and Aslam 2006, smoothed as in trec_eval.

    What to expect of precision at a relevant document of rank ``r``: the document itself, and the
    pooled share of the ``r - 1`` above it times the relevant share of the judged among those.
    """
    total = 0.0
    for rank, grade in enumerate(ranking, start=1):
        if not is_relevant(grade, rel):
            continue
        above = ranking[: rank - 1]
        pooled = sum(one is not None for one in above)
        relevant = found(above, rel) + INFAP_EPSILON
        either = sum(is_judged(one) for one in above) + 2 * INFAP_EPSILON
        total += 1 / rank + (pooled / rank) * (relevant / either)
    return share(total, count_relevant(judgements, rel))


def needed_for_recall(level: float, relevant: int, nearest: bool) -> int:
    """How many relevant documents a recall level asks for: versions 9 and 10 of trec_eval differ.

    Version 9 adds 0.9 and cuts off, nearly rounding up; version 10 takes the nearest, halves up.
    """
    if not nearest:
        return int(level * relevant + 0.9)
    whole = math.floor(level * relevant)
    return whole + 1 if level * relevant - whole >= 0.5 else whole


def interpolated_precision(
    ranking: Ranking,
    judgements: Judgements,
    level: float,
    rel: int,
    nearest: bool = False,
) -> float:
    """The best precision at or after the rank where recall reaches ``level``; 0 if it never does.

    Where recall 0 is asked for, any rank will do. trec_eval divides 0 by 0 for an empty ranking.
    """
    needed = needed_for_recall(level, count_relevant(judgements, rel), nearest)
    best = 0.0
    for rank in range(1, len(ranking) + 1):
        if found(ranking[:rank], rel) >= needed:
            best = max(best, precision(ranking, rank, rel))
    return best


def eleven_point_average(
    ranking: Ranking, judgements: Judgements, rel: int, nearest: bool = False
) -> float:
    levels = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    values = [interpolated_precision(ranking, judgements, at, rel, nearest) for at in levels]
    return sum(values) / len(values)


# Measures with gains.


def linear_gain(grade: int | None) -> float:
    return float(grade) if grade is not None and grade > 0 else 0.0


def exponential_gain(grade: int | None) -> float:
    return 2.0**grade - 1 if grade is not None and grade > 0 else 0.0


def dcg(ranking: Ranking, gain: Gain = linear_gain) -> float:
    """Järvelin and Kekäläinen 2002, with the discount that everyone uses: ``log2(rank + 1)``."""
    return sum(gain(grade) / math.log2(rank + 1) for rank, grade in enumerate(ranking, start=1))


def ideal_ranking(judgements: Judgements) -> Ranking:
    return sorted(judgements.values(), reverse=True)


def ndcg(
    ranking: Ranking,
    judgements: Judgements,
    k: int | None,
    gain: Gain = linear_gain,
) -> float:
    """Without ``k``, the ideal ranking has all judged documents, however few were retrieved."""
    return share(dcg(ranking[:k], gain), dcg(ideal_ranking(judgements)[:k], gain))


def ndcg_at_r(
    ranking: Ranking,
    judgements: Judgements,
    rel: int,
    gain: Gain = linear_gain,
) -> float:
    """Cut off at the number of relevant documents of the query."""
    return ndcg(ranking, judgements, count_relevant(judgements, rel), gain)


def r_ndcg(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """trec_eval's Rndcg: the mean of nDCG at the ranks where the ideal gain changes.

    These are the numbers of documents with at least grade g, for each grade g > 0 that occurs, and
    the end of the ranking if it is two or more ranks beyond the last of them.
    """
    if not count_relevant(judgements, rel):
        return 0.0
    grades = [grade for grade in judgements.values() if grade > 0]
    cuts = [sum(other >= grade for other in grades) for grade in sorted(set(grades))]
    values = [ndcg(ranking, judgements, k) for k in cuts]
    if len(ranking) > len(grades) + 1:
        values.append(ndcg(ranking, judgements, None))
    return sum(values) / len(values)


def ndcg_at_relevant(ranking: Ranking, judgements: Judgements) -> float:
    """trec_eval's ndcg_rel: nDCG at each document with a gain; at the end for those not found."""
    known = sum(grade > 0 for grade in judgements.values())
    values = [
        ndcg(ranking, judgements, rank)
        for rank, grade in enumerate(ranking, start=1)
        if linear_gain(grade)
    ]
    missed = (known - len(values)) * ndcg(ranking, judgements, None)
    return share(sum(values) + missed, known)


def normalised_gain(ranking: Ranking, judgements: Judgements) -> float:
    """trec_eval's G: each gain over a logarithm of how far the ranking is behind the ideal one.

    Beyond its documents with a gain the ideal one goes on by 1 a rank.
    """
    ideal = [grade for grade in ideal_ranking(judgements) if linear_gain(grade)]
    total = 0.0
    for rank, grade in enumerate(ranking, start=1):
        reached = sum(map(linear_gain, ranking[:rank]))
        best = sum(map(linear_gain, ideal[:rank])) + max(rank - len(ideal), 0)
        total += linear_gain(grade) / math.log2(2 + best - reached)
    return share(total, sum(map(linear_gain, ideal)))


def binary_gain(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """trec_eval's binG: the same of relevant documents, behind by the others above them."""
    total = 0.0
    for rank, grade in enumerate(ranking, start=1):
        if is_relevant(grade, rel):
            total += 1 / math.log2(2 + rank - found(ranking[:rank], rel))
    return share(total, count_relevant(judgements, rel))


def yaap(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """Robertson 2012: the odds of relevant documents, smoothed, as a logarithm."""
    relevant = count_relevant(judgements, rel)
    total = average_precision(ranking, judgements, None, rel) * relevant
    return math.log((1 + total) / (1 + relevant - total))


def unjudged(ranking: Ranking, k: int) -> float:
    """Divided by ``k`` even where fewer documents were retrieved."""
    return sum(not is_judged(grade) for grade in ranking[:k]) / k


def expected_reciprocal_rank(ranking: Ranking, k: int | None, highest: int) -> float:
    """Chapelle et al. 2009: a reader stops at a document with probability (2^g - 1) / 2^highest."""
    total, still_reading = 0.0, 1.0
    for rank, grade in enumerate(ranking[:k], start=1):
        stops = exponential_gain(grade) / 2.0**highest
        total += still_reading * stops / rank
        still_reading *= 1 - stops
    return total


def rank_biased_precision(ranking: Ranking, p: float, k: int | None, rel: int) -> float:
    """Moffat and Zobel 2008: a reader goes on to the next document with probability ``p``."""
    return (1 - p) * sum(
        p ** (rank - 1)
        for rank, grade in enumerate(ranking[:k], start=1)
        if is_relevant(grade, rel)
    )


def rank_biased_residual(ranking: Ranking, p: float, k: int | None) -> float:
    """Return the gain in RBP if all unjudged documents, and all below the last, were relevant."""
    top = ranking[:k]
    unjudged = (p ** (rank - 1) for rank, grade in enumerate(top, start=1) if not is_judged(grade))
    return (1 - p) * sum(unjudged) + p ** len(top)


# Measures of a set.


def set_precision(ranking: Ranking, rel: int) -> float:
    return share(found(ranking, rel), len(ranking))


def set_recall(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    return share(found(ranking, rel), count_relevant(judgements, rel))


def set_f(ranking: Ranking, judgements: Judgements, beta: float, rel: int) -> float:
    """trec_eval's weight ``beta`` is not squared: van Rijsbergen's F_2 is ``beta=4`` here."""
    p, r = set_precision(ranking, rel), set_recall(ranking, judgements, rel)
    return share((beta + 1) * p * r, beta * p + r)


def set_ap(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """Precision times recall, divided once: halves of the last digit printed round as they do."""
    right = found(ranking, rel)
    return share(right * right, len(ranking) * count_relevant(judgements, rel))


def set_relative_precision(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    best = min(len(ranking), count_relevant(judgements, rel))
    return share(found(ranking, rel), best)


def utility(ranking: Ranking, rel: int) -> float:
    """trec_eval's with its coefficients 1, -1, 0, 0; whatever is not judged counts as wrong."""
    right = found(ranking, rel)
    return float(right - (len(ranking) - right))


def scaled_utility(ranking: Ranking, judgements: Judgements, rel: int) -> float:
    """T11SU of the TREC filtering track (Robertson and Soboroff 2002), between 0 and 1.

    An empty answer has 1/3, a third of the way up. Without relevant documents it is 0.
    """
    relevant = count_relevant(judgements, rel)
    if not relevant:
        return 0.0
    right = found(ranking, rel)
    normal = (2 * right - (len(ranking) - right)) / (2 * relevant)
    return (max(normal, -0.5) + 0.5) / 1.5


def roc_auc(ranking: Ranking, scores: Sequence[float], judgements: Judgements, rel: int) -> float:
    """The share of (relevant, retrieved other) pairs in the right order; a tie is half right.

    Relevant documents that were not retrieved are below everything that was. Whatever is not
    judged is an other. Without any other: the share of relevant documents that were retrieved.
    """
    relevant = count_relevant(judgements, rel)
    right = [s for s, grade in zip(scores, ranking, strict=True) if is_relevant(grade, rel)]
    wrong = [s for s, grade in zip(scores, ranking, strict=True) if not is_relevant(grade, rel)]
    if not wrong:
        return share(len(right), relevant)
    won = sum((r > w) + 0.5 * (r == w) for r in right for w in wrong)
    return share(won, relevant * len(wrong))


# From qrels and a run to a value a query.


def as_float32(score: float) -> float:
    """As C casts a double to a float; trec_eval 9 keeps scores so, and has more ties for it."""
    return ctypes.c_float(score).value


def rank(scores: Mapping[str, float], score_type: ScoreType) -> list[tuple[str, float]]:
    """Highest score first; ties by the bytes of the id, last one first."""
    kept = {d: as_float32(s) if score_type == "float" else s for d, s in scores.items()}
    return sorted(kept.items(), key=lambda item: (item[1], item[0].encode()), reverse=True)


def parse_name(name: str) -> tuple[str, dict[str, Any], str | None]:
    """A name, its parameters, its cut-off, in the grammar of ir_measures.

    ``SetF(beta=2)``, ``nDCG(dcg='exp-log2')@10``, ``IPrec(round='nearest')@0.5``: text is quoted.
    """
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@([\w.]+))?", name)
    if match is None:
        raise ValueError(f"not the name of a measure: {name!r}")
    pairs = (pair.split("=") for pair in (match[2] or "").split(",") if pair)
    return match[1], {key.strip(): literal_eval(value) for key, value in pairs}, match[3]


class Query(NamedTuple):
    """One query, ready to be measured; ``highest`` is the highest grade of all queries."""

    ranking: Ranking
    scores: Sequence[float]
    judgements: Judgements
    rel: int
    highest: int


def number(cut: str | None) -> int | None:
    return None if cut is None else int(cut)


def gain_of(parameters: Mapping[str, Any]) -> Gain:
    return exponential_gain if parameters.get("dcg") == "exp-log2" else linear_gain


def measure(query: Query, name: str) -> float:
    """The value of the measure of this name."""
    kind, with_, cut = parse_name(name)
    ranking, scores, judgements, rel, highest = query
    nearest = with_.get("round") == "nearest"
    match kind:
        case "nDCG" if cut == "R":
            return ndcg_at_r(ranking, judgements, rel, gain_of(with_))
        case "nDCG":
            return ndcg(ranking, judgements, number(cut), gain_of(with_))
        case "IPrec":
            return interpolated_precision(ranking, judgements, float(cut or 0), rel, nearest)
        case "11pt":
            return eleven_point_average(ranking, judgements, rel, nearest)
        case "RprecMult":
            return r_precision_multiple(ranking, judgements, float(cut or 1), rel)
        case "ERR":
            return expected_reciprocal_rank(ranking, number(cut), int(with_.get("max", highest)))
        case "RBP":
            return rank_biased_precision(ranking, with_["p"], number(cut), rel)
        case "RBPResidual":
            return rank_biased_residual(ranking, with_["p"], number(cut))
        case "SetF":
            return set_f(ranking, judgements, with_.get("beta", 1.0), rel)
        case "AUC":
            return roc_auc(ranking, scores, judgements, rel)
    return SIMPLE[kind](query, number(cut))


# Those with a cut-off or nothing; the others are above.
SIMPLE: dict[str, Callable[[Query, Any], float]] = {
    "AP": lambda q, k: average_precision(q.ranking, q.judgements, k, q.rel),
    "BinG": lambda q, _: binary_gain(q.ranking, q.judgements, q.rel),
    "Bpref": lambda q, _: bpref(q.ranking, q.judgements, q.rel),
    "G": lambda q, _: normalised_gain(q.ranking, q.judgements),
    "Judged": lambda q, k: judged(q.ranking, k),
    "NumNonRelRet": lambda q, _: judged_non_relevant(q.ranking, q.rel),
    "NumRel": lambda q, _: count_relevant(q.judgements, q.rel),
    "NumRelRet": lambda q, _: found(q.ranking, q.rel),
    "NumRet": lambda q, _: len(q.ranking),
    "P": lambda q, k: precision(q.ranking, k, q.rel),
    "R": lambda q, k: recall(q.ranking, q.judgements, k, q.rel),
    "RR": lambda q, k: reciprocal_rank(q.ranking, k, q.rel),
    "RelativeP": lambda q, k: relative_precision(q.ranking, q.judgements, k, q.rel),
    "RnDCG": lambda q, _: r_ndcg(q.ranking, q.judgements, q.rel),
    "Rprec": lambda q, _: r_precision(q.ranking, q.judgements, q.rel),
    "SU": lambda q, _: scaled_utility(q.ranking, q.judgements, q.rel),
    "SetAP": lambda q, _: set_ap(q.ranking, q.judgements, q.rel),
    "SetP": lambda q, _: set_precision(q.ranking, q.rel),
    "SetR": lambda q, _: set_recall(q.ranking, q.judgements, q.rel),
    "SetRelativeP": lambda q, _: set_relative_precision(q.ranking, q.judgements, q.rel),
    "Success": lambda q, k: success(q.ranking, k, q.rel),
    "Unjudged": lambda q, k: unjudged(q.ranking, k),
    "Utility": lambda q, _: utility(q.ranking, q.rel),
    "YAAP": lambda q, _: yaap(q.ranking, q.judgements, q.rel),
    "infAP": lambda q, _: inferred_ap(q.ranking, q.judgements, q.rel),
    "nDCGRel": lambda q, _: ndcg_at_relevant(q.ranking, q.judgements),
}


def evaluate(
    qrels: Qrels,
    run: Run,
    measure_name: str,
    *,
    rel: int = 1,
    judged_only: bool = False,
    score_type: ScoreType = "double",
) -> dict[str, float]:
    """A value for each query that both have; ``judged_only`` first drops what is not judged.

    Documents are dropped from a ranking that is already in order, so the others stay in theirs.
    """
    highest = max((grade for query in qrels.values() for grade in query.values()), default=0)
    values = {}
    for query in sorted(set(qrels) & set(run)):
        judgements = qrels[query]
        ranked = rank(run[query], score_type)
        if judged_only:
            ranked = [(doc, score) for doc, score in ranked if is_judged(judgements.get(doc))]
        ranking = [judgements.get(doc) for doc, _ in ranked]
        scores = [score for _, score in ranked]
        prepared = Query(ranking, scores, judgements, rel, highest)
        values[query] = measure(prepared, measure_name)
    return values


def mean(values: Mapping[str, float], queries: int | None = None) -> float:
    """Over the queries there are values for, or (``-c``) over that many, the others being 0."""
    return share(sum(values.values()), len(values) if queries is None else queries)


def geometric_mean(values: Mapping[str, float], queries: int | None = None) -> float:
    """trec_eval's GMAP: no value is below 1e-5, also not for missing queries."""
    number = len(values) if queries is None else queries
    logs = [math.log(max(value, GEOMETRIC_FLOOR)) for value in values.values()]
    logs += [math.log(GEOMETRIC_FLOOR)] * (number - len(values))
    return math.exp(sum(logs) / number) if number else 0.0
