"""Near-duplicate titles the slow and obvious way: every title against every other."""

from __future__ import annotations

from itertools import combinations


def trigrams(title: str) -> set[str]:
    return {"".join(run) for run in zip(title, title[1:], title[2:], strict=False)}


def jaccard(left: set[str], right: set[str]) -> float:
    return len(left & right) / len(left | right) if left | right else 0.0


def near_pairs(
    titles: list[str], keys: list[set[str]], threshold: float
) -> list[tuple[int, int, float]]:
    """Pairs of different titles with a key in common that are alike, with how alike they are."""
    pairs = []
    for row, other in combinations(range(len(titles)), 2):
        value = jaccard(trigrams(titles[row]), trigrams(titles[other]))
        if titles[row] != titles[other] and keys[row] & keys[other] and value >= threshold:
            pairs.append((row, other, value))
    return pairs
