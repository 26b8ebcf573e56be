"""The seed's rule of pooling the slow and obvious way: one turn after another, by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


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
