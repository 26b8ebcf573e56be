"""Groups of documents that are alike, each with a few telling words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.text.words import function_words

Reals = NDArray[np.float64]
_FEWEST, _MOST = 2, 8
_FEWEST_WORDS, _LABEL_WORDS = 2, 3
_SHORTEST = 3


def grouped(distances: Reals) -> list[int]:
    """The group of each thing, by Ward's criterion on distances; groups are numbered by size, the
    largest first, of equal ones that of the earlier thing."""
    number = len(distances)
    if number < 2 * _FEWEST:
        return [0] * number
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    wanted = int(np.clip(round(np.sqrt(number / 2)), _FEWEST, _MOST))
    near = np.maximum(distances, distances.T)
    np.fill_diagonal(near, 0)
    labels = fcluster(linkage(squareform(near, checks=False), "ward"), wanted, "maxclust").tolist()
    sizes, first = Counter(labels), dict[int, int]()
    for place, label in enumerate(labels):
        first.setdefault(label, place)
    order = sorted(sizes, key=lambda label: (-sizes[label], first[label]))
    return [order.index(label) for label in labels]


def labelled(index: Index, titles: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Two to four words for each group that its titles have and others have not, most telling
    first; no word stands in two labels."""
    found = [_terms(index, title) for title in titles]
    every = Counter(term for terms in found for term in terms)
    spelled: dict[str, Counter[str]] = {}
    for terms in found:
        for term, word in terms.items():
            spelled.setdefault(term, Counter())[word] += 1
    labels, used = [], set[str]()
    for group in range(max(groups, default=-1) + 1):
        mine = Counter(
            term for terms, own in zip(found, groups, strict=True) if own == group for term in terms
        )
        worth = {
            term: times * times / every[term] * _rarity(index, spelled[term].most_common(1)[0][0])
            for term, times in mine.items()
            if term not in used
        }
        # A word of one title tells of that document, not of what several have in common.
        order = sorted(worth, key=lambda term: (mine[term] < 2, -worth[term], term))
        shared = sum(mine[term] > 1 for term in order)
        best = order[: max(_FEWEST_WORDS, min(shared, _LABEL_WORDS))]
        used.update(best)
        labels.append(", ".join(spelled[term].most_common(1)[0][0] for term in best) or "others")
    return labels


def _terms(index: Index, title: str) -> dict[str, str]:
    """The terms of a title that tell something, and the words that they are there."""
    passed = function_words(title)
    found: dict[str, str] = {}
    for word in index.analyser.words(title):
        term = index.analyser.term(word)
        if term and word not in passed and len(word) >= _SHORTEST and not word.isdigit():
            found.setdefault(term, word)
    return found


def _rarity(index: Index, word: str) -> float:
    df = index.document_frequency(word)
    return float(np.log(1 + (len(index.ids) - df + 0.5) / (df + 0.5)))
