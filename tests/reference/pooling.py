"""Pooling the slow and obvious way: the paper's rule and move-to-front, one document at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


def rounds(
    lists: Mapping[str, Sequence[str]],
    manual: Sequence[str],
    judged: Collection[str],
    size: int,
) -> list[tuple[str, str]]:
    """Documents of the pool with the method that put them there, in order."""
    pool: list[tuple[str, str]] = []

    def new(doc_id: str) -> bool:
        return doc_id not in judged and doc_id not in [taken for taken, _ in pool]

    for doc_id in manual:
        if new(doc_id):
            pool.append((doc_id, "manual"))  # noqa: PERF401 ("new" looks at the pool)
    while len(pool) < size and any(new(d) for ranking in lists.values() for d in ranking):
        for name, ranking in lists.items():
            best = [doc_id for doc_id in ranking if new(doc_id)][:1]
            if best and len(pool) < size:
                pool.append((best[0], name))
    return pool


@dataclass
class _List:
    name: str
    rest: list[str]
    since_relevant: int = 0
    last_turn: int = -1


def move_to_front(
    lists: Mapping[str, Sequence[str]],
    judged: Mapping[str, bool],
    relevant: Collection[str] | None,
    size: int,
) -> list[tuple[str, str]]:
    """Like ``rounds``, without manual results; ``relevant`` are the documents that a judge would
    accept, ``None`` without a judge."""
    pool: list[tuple[str, str]] = []
    every = [_List(name, list(dict.fromkeys(ranking))) for name, ranking in lists.items()]
    turn, staying = 0, None
    while len(pool) < size and any(one.rest for one in every):
        able = [one for one in every if one.rest]
        # The list that has just been right; else the one that failed least, and waited longest.
        one = min(able, key=lambda one: (one is not staying, one.since_relevant, one.last_turn))
        doc_id = one.rest.pop(0)
        taken = doc_id in [taken for taken, _ in pool]
        if taken and relevant is None:
            continue
        if doc_id not in judged and not taken:
            pool.append((doc_id, one.name))
        right = judged.get(doc_id, doc_id in (relevant or ()))
        one.since_relevant = 0 if right else one.since_relevant + 1
        one.last_turn = turn = turn + 1
        staying = one if right else None
    return pool
