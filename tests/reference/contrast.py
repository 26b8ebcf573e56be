"""Pools and judgement sets, slow and simple: dicts, sets and loops.

Judgements are ``{query: {document: grade}}``, runs ``{name: {query: [documents, best first]}}``.
A grade below 0 means unjudged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Judgements = Mapping[str, Mapping[str, int]]
Runs = Mapping[str, Mapping[str, Sequence[str]]]
Pairs = set[tuple[str, str]]


def pool(runs: Runs, names: Sequence[str], depth: int) -> Pairs:
    """Return the documents that these runs have among the first ``depth``."""
    return {
        (query, document)
        for name in names
        for query, ranking in runs[name].items()
        for document in ranking[:depth]
    }


def judged(judgements: Judgements) -> Pairs:
    return {(q, d) for q, rows in judgements.items() for d, grade in rows.items() if grade >= 0}


def only_of(
    judgements: Judgements, runs: Runs, teams: Mapping[str, str], team: str, depth: int
) -> Pairs:
    """Judged documents that a team has within the depth and no run of another team has."""
    own = pool(runs, [name for name in runs if teams[name] == team], depth)
    others = pool(runs, [name for name in runs if teams[name] != team], depth)
    return (own - others) & judged(judgements)


def nobodys(judgements: Judgements, runs: Runs, depth: int) -> Pairs:
    """Judged documents that no run has within the depth."""
    return judged(judgements) - pool(runs, list(runs), depth)


def worst_case(
    judgements: Judgements, runs: Runs, winner: str, loser: str, depth: int
) -> dict[str, dict[str, int]]:
    """Return all judgements, with the worst case for the winner."""
    highest = max([1, *(grade for rows in judgements.values() for grade in rows.values())])
    extended = {query: dict(rows) for query, rows in judgements.items()}
    for grade, name in ((highest, loser), (0, winner)):
        for query, document in pool(runs, [name], depth):
            if query in judgements and judgements[query].get(document, -1) < 0:
                extended[query][document] = grade
    return extended


def precision(judgements: Judgements, run: Mapping[str, Sequence[str]], k: int) -> list[float]:
    """P@k of every judged query that the run has, in the order of the ids."""
    return [
        sum(judgements[query].get(document, 0) > 0 for document in run[query][:k]) / k
        for query in sorted(judgements)
        if query in run
    ]
