"""Lay documents out in two dimensions, and group them into named clusters of similar ones.

Classical scaling (Torgerson 1952) gives the first places, stress majorisation (De Leeuw 1977,
SMACOF) improves them, and places that are too close for the eye are pushed apart. Without any
randomness, the same distances always give the same picture.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.text.words import function_words

Reals = NDArray[np.float64]
_MAX_ROUNDS, _MIN_GAIN = 100, 1e-5
"""Majorisation ends after this many rounds, or when stress falls by less than this share."""
_POWER_ROUNDS, _EPSILON = 200, 1e-9
_PUSH_ROUNDS, _CLOSE_ENOUGH = 60, 1e-4
_MARGIN, _APART = 0.04, 0.045
_MIN_CLUSTERS, _MAX_CLUSTERS = 2, 8
_SHARED = 2
"""A phrase of this many titles describes a cluster."""
_MIN_LETTERS = 3
_LINKING_WORDS = frozenset(("using", "based", "via", "use"))
_PUNCTUATION = re.compile(r"[^\w\s'’-]+|\s-+\s|--+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def lay_out(distances: Reals) -> Reals:
    """Return places in the unit square for items at these distances (a symmetric matrix), apart
    from each other if there is room."""
    if len(distances) < 2:
        return np.full((len(distances), 2), 0.5)
    places = majorise(distances, scale_classically(distances))
    # The longest way is horizontal, and both axes fill the square: a picture can be stretched.
    x, y = (places - places.mean(axis=0)).T
    angle = 0.5 * np.arctan2(2 * (x * y).sum(), (x * x).sum() - (y * y).sum())
    across = x * np.cos(angle) + y * np.sin(angle)
    down = y * np.cos(angle) - x * np.sin(angle)
    places = np.stack([across, down], axis=1)
    low, high = places.min(axis=0), places.max(axis=0)
    flat = high - low < 1e-9
    even = np.where(flat, 0.5, (places - low) / np.where(flat, 1, high - low))
    return push_apart(_MARGIN + even * (1 - 2 * _MARGIN))


def scale_classically(distances: Reals) -> Reals:
    """Return the plane that keeps most of the distances."""
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    products = -centred / 2
    places = np.zeros((len(distances), 2))
    for axis in range(2):
        value, vector = _greatest_eigenvalue(products)
        places[:, axis] = vector * np.sqrt(max(value, 0.0))
        products = products - value * np.outer(vector, vector)
    return places


def _greatest_eigenvalue(matrix: Reals) -> tuple[float, Reals]:
    """Return the greatest eigenvalue of a symmetric matrix and its vector, by power iteration: for
    small matrices that is faster than a library whose threads wait for each other."""
    # Shifted, so that the greatest eigenvalue is also the farthest from 0.
    shifted = matrix + np.eye(len(matrix)) * np.abs(matrix).sum(axis=1).max()
    vector = shifted[np.abs(matrix).sum(axis=1).argmax()].copy()
    for _ in range(_POWER_ROUNDS):
        following = shifted @ vector
        length = np.sqrt((following * following).sum())
        if length == 0:
            return 0.0, np.zeros(len(matrix))
        following /= length
        is_stable = np.abs(following - vector).max() < _EPSILON
        vector = following
        if is_stable:
            break
    vector = vector * (np.sign(vector[np.abs(vector).argmax()]) or 1.0)
    return float(vector @ matrix @ vector), vector


def majorise(distances: Reals, places: Reals) -> Reals:
    """Return places with less and less stress, by the Guttman transform."""
    found = _pair_distances(places)
    before = float(((found - distances) ** 2).sum())
    for _ in range(_MAX_ROUNDS):
        ratios = distances / np.where(found > 0, found, np.inf)
        turned = -ratios
        np.fill_diagonal(turned, ratios.sum(axis=1))
        better = turned @ places / len(distances)
        found = _pair_distances(better)
        now = float(((found - distances) ** 2).sum())
        if now >= before:
            return places
        places = better
        if before - now < _MIN_GAIN * before:
            return places
        before = now
    return places


def push_apart(places: Reals) -> Reals:
    """Return places in the unit square that are at least ``_APART`` from each other if there
    is room: each of two close places goes half of the way."""
    x, y = places.T.copy()
    # Equal places go in evenly spread directions.
    angles = 2.399963 * np.arange(len(places))
    for _ in range(_PUSH_ROUNDS):
        across, down = x[:, None] - x, y[:, None] - y
        far = np.sqrt(across * across + down * down)
        np.fill_diagonal(far, np.inf)
        if (same := far < _EPSILON).any():
            across = np.where(same, np.cos(angles)[:, None] - np.cos(angles), across)
            down = np.where(same, np.sin(angles)[:, None] - np.sin(angles), down)
        short = np.clip(_APART - far, 0, None)
        if not (short > _CLOSE_ENOUGH).any():
            break
        push = short / 2 / np.maximum(np.sqrt(across * across + down * down), _EPSILON)
        x = np.clip(x + (push * across).sum(axis=1), _MARGIN, 1 - _MARGIN)
        y = np.clip(y + (push * down).sum(axis=1), _MARGIN, 1 - _MARGIN)
    return np.stack([x, y], axis=1)


def _pair_distances(places: Reals) -> Reals:
    x, y = places.T
    across, down = x[:, None] - x, y[:, None] - y
    return np.asarray(np.sqrt(across * across + down * down), np.float64)


# --- Clusters ---


def cluster(distances: Reals) -> list[int]:
    """Return the cluster of each item, by Ward's criterion. Clusters are numbered by size, the
    largest first; of equal clusters, the one with the first item comes first."""
    items = len(distances)
    if items < 2 * _MIN_CLUSTERS:
        return [0] * items
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    wanted = int(np.clip(round(np.sqrt(items / 2)), _MIN_CLUSTERS, _MAX_CLUSTERS))
    symmetric = np.maximum(distances, distances.T)
    np.fill_diagonal(symmetric, 0)
    tree = linkage(squareform(symmetric, checks=False), "ward")
    labels = fcluster(tree, wanted, "maxclust").tolist()
    sizes, first = Counter(labels), dict[int, int]()
    for place, label in enumerate(labels):
        first.setdefault(label, place)
    order = sorted(sizes, key=lambda label: (-sizes[label], first[label]))
    return [order.index(label) for label in labels]


def name_clusters(index: Index, titles: Sequence[str], clusters: Sequence[int]) -> list[str]:
    """Return a name for each cluster: the most specific phrase of its titles, such as "ad hoc
    retrieval", or else a word. No name is used twice."""
    words: list[dict[str, str]] = []
    for title in titles:
        ignored, found = function_words(title), dict[str, str]()
        for word in index.analyser.words(title):
            term = index.analyser.term(word)
            if term and word not in ignored and len(word) >= _MIN_LETTERS and not word.isdigit():
                found.setdefault(term, word)
        words.append(found)
    phrases = [_find_phrases(index, title) for title in titles]
    labels, used = [], set[tuple[str, ...]]()
    all_words, all_phrases = (
        Counter(each for own in of for each in own) for of in (words, phrases)
    )

    def idf(word: str) -> float:
        df = index.document_frequency(word)
        return float(np.log(1 + (len(index.ids) - df + 0.5) / (df + 0.5)))

    for number in range(max(clusters, default=-1) + 1):
        mine = [place for place, own in enumerate(clusters) if own == number]
        my_words = Counter(term for place in mine for term in words[place])
        my_phrases = Counter(phrase for place in mine for phrase in phrases[place])
        spelled = {term: word for place in mine for term, word in words[place].items()}
        worth = {
            term: times * times / all_words[term] * idf(spelled[term])
            for term, times in my_words.items()
        }
        # A phrase that several titles share describes the cluster; one of a single title only as
        # far as its words are shared.
        ranked = sorted(
            (phrase for phrase in my_phrases if phrase not in used),
            key=lambda phrase: (
                my_phrases[phrase] < _SHARED,
                -sum(worth.get(term, 0.0) for term in phrase)
                * my_phrases[phrase] / all_phrases[phrase]
                / (1 if my_phrases[phrase] >= _SHARED else len(phrase)),
                phrase,
            ),
        )  # fmt: skip
        single = sorted(worth, key=lambda term: (-worth[term], term))
        fallback = ((each,) for each in single if (each,) not in used)
        best = next(itertools.chain(ranked, fallback), ())
        # "hoc retrieval" never occurs without "ad".
        longer = (each for each in ranked if best in (each[:-1], each[1:]))
        best = next((each for each in longer if my_phrases[each] >= my_phrases[best]), best)
        used.add(best)
        named = [phrases[place].get(best, "") for place in mine] if len(best) > 1 else []
        spellings = Counter(filter(None, named)) or Counter(spelled[each] for each in best)
        labels.append(max(spellings, key=lambda each: (spellings[each], each), default="others"))
    return labels


def _find_phrases(index: Index, title: str) -> dict[tuple[str, ...], str]:
    """Return two and three consecutive words of a title, by their terms. A phrase does not cross
    punctuation, and neither begins nor ends with a function word or number."""
    ignored = function_words(title) | _LINKING_WORDS
    title = title.lower() if title.isupper() else title
    found: dict[tuple[str, ...], str] = {}
    for part in _PUNCTUATION.split(title):
        words = list(_WORD.finditer(part))
        folded = [match[0].casefold() for match in words]
        for start, length in itertools.product(range(len(words)), (2, 3)):
            own = folded[start : start + length]
            ends = {own[0], own[-1]}
            if len(own) < length or ends & ignored or any(each.isdigit() for each in ends):
                continue
            at, end = words[start].start(), words[start + length - 1].end()
            if part[max(at - 1, 0) : at] == "-" or part[end : end + 1] == "-":
                continue  # half of a compound
            spelled = part[at:end]
            if ignored.intersection(spelled.casefold().split()[1:-1]) - {"of"}:
                continue  # "evaluation with incomplete" is not a phrase, "learning-to-rank" is
            terms = tuple(index.analyser.term(word) or word for word in own)
            found.setdefault(terms, _WORD.sub(_lower_word, spelled))
    return found


def _lower_word(word: re.Match[str]) -> str:
    """Return a word as in a sentence: "Retrieval" becomes "retrieval", "BERT" stays."""
    return word[0].lower() if word[0][1:].islower() or len(word[0]) == 1 else word[0]
