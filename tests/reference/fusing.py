"""Fusion of runs, slow and simple: one query and one document at a time.

A run is a dict from queries to a dict from documents to scores. The formulas are from Fox and
Shaw (1994), Cormack, Clarke and Büttcher (2009), Mourão, Martins and Magalhães (2015), Aslam and
Montague (2001).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Ranking = Mapping[str, float]
Run = Mapping[str, Ranking]


class Way(NamedTuple):
    """A method, the normalisation before it, and the constant of reciprocal rank fusion."""

    method: str
    scale: str = "none"
    k0: float = 60.0


def in_order(ranking: Ranking) -> list[str]:
    """Score descending, then document id descending by its bytes."""
    return sorted(ranking, key=lambda d: (ranking[d], d.encode()), reverse=True)


def normalised(ranking: Ranking, how: str) -> dict[str, float]:
    scores = list(ranking.values())
    low, high = min(scores), max(scores)
    if how == "none":
        return dict(ranking)
    if how == "rank":
        return {d: 1 - at / len(scores) for at, d in enumerate(in_order(ranking))}
    if how == "max":
        size = abs(high) or abs(low)
        return {d: s / size if size else 0.0 for d, s in ranking.items()}
    if how == "minmax":
        return {d: (s - low) / (high - low) if high > low else 1.0 for d, s in ranking.items()}
    if how == "zscore":
        mean, spread = statistics.fmean(scores), statistics.pstdev(scores)
        return {d: (s - mean) / spread if high > low else 0.0 for d, s in ranking.items()}
    total = sum(s - low for s in scores)
    return {d: (s - low) / total if total > 0 else 1 / len(scores) for d, s in ranking.items()}


def fused(runs: Sequence[Run], way: Way, weights: Sequence[float]) -> dict[str, dict[str, float]]:
    """The score of every document of every query that a run has."""
    found = {}
    for query in {query for run in runs for query in run}:
        rankings = [run.get(query, {}) for run in runs]
        everyone = {document for ranking in rankings for document in ranking}
        found[query] = {d: _score(d, rankings, way, weights, len(everyone)) for d in everyone}
    return found


def _score(
    document: str,
    rankings: Sequence[Ranking],
    way: Way,
    weights: Sequence[float],
    candidates: int,
) -> float:
    there = [ranking for ranking in rankings if document in ranking]
    if way.method in ("combmin", "combmax", "combmed"):
        scores = [normalised(ranking, way.scale)[document] for ranking in there]
        ways: dict[str, Callable[[list[float]], float]] = {
            "combmin": min, "combmax": max, "combmed": statistics.median,
        }  # fmt: skip
        return ways[way.method](scores)
    total = 0.0
    for ranking, weight in zip(rankings, weights, strict=True):
        if ranking:
            total += weight * _part(document, ranking, way, candidates)
    return total * len(there) if way.method in ("combmnz", "isr") else total


def _part(document: str, ranking: Ranking, way: Way, candidates: int) -> float:
    """Return the points that one run with this query gives the document."""
    rank = in_order(ranking).index(document) + 1 if document in ranking else None
    if way.method == "rrf":
        return 0.0 if rank is None else 1 / (way.k0 + rank)
    if way.method == "isr":
        return 0.0 if rank is None else 1 / rank**2
    if way.method == "borda":
        if rank is not None:
            return candidates - rank + 1
        left = range(1, candidates - len(ranking) + 1)  # the points of documents that the run lacks
        return sum(left) / len(left)
    scores = normalised(ranking, way.scale)
    return scores[document] if rank is not None else min(0.0, *scores.values())
