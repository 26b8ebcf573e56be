"""Groups of documents that are alike, each named by a phrase of its titles."""

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
_FEWEST, _MOST = 2, 8
_SHARED = 2
"""A phrase that so many titles of a group have is common to it."""
_SHORTEST = 3
_LINKS = frozenset(("using", "based", "via", "use"))
_PUNCTUATION = re.compile(r"[^\w\s'’-]+|\s-+\s|--+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


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
    """A name for each group: the phrase of its titles that tells most about it, such as "ad hoc
    retrieval". A group whose titles have no phrase is named by a word; no name is used twice."""
    words = [_terms(index, title) for title in titles]
    phrases = [_phrases(index, title) for title in titles]
    labels, used = [], set[tuple[str, ...]]()
    all_words, all_phrases = (
        Counter(each for own in of for each in own) for of in (words, phrases)
    )
    for group in range(max(groups, default=-1) + 1):
        mine = [place for place, own in enumerate(groups) if own == group]
        my_words = Counter(term for place in mine for term in words[place])
        my_phrases = Counter(phrase for place in mine for phrase in phrases[place])
        spelled = {term: word for place in mine for term, word in words[place].items()}
        worth = {
            term: times * times / all_words[term] * _rarity(index, spelled[term])
            for term, times in my_words.items()
        }
        # A phrase that several titles share names the group; one of a single title does so only
        # as far as its words are shared.
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
        # "hoc retrieval" is never without "ad".
        longer = (each for each in ranked if best in (each[:-1], each[1:]))
        best = next((each for each in longer if my_phrases[each] >= my_phrases[best]), best)
        used.add(best)
        named = [phrases[place].get(best, "") for place in mine] if len(best) > 1 else []
        spellings = Counter(filter(None, named)) or Counter(spelled[each] for each in best)
        labels.append(max(spellings, key=lambda each: (spellings[each], each), default="others"))
    return labels


def _phrases(index: Index, title: str) -> dict[tuple[str, ...], str]:
    """Runs of two and three words of a title, by their terms, as the title spells them. A phrase
    does not cross punctuation, and no function word or number begins or ends it."""
    passed = function_words(title) | _LINKS
    title = title.lower() if title.isupper() else title
    found: dict[tuple[str, ...], str] = {}
    for part in _PUNCTUATION.split(title):
        words = list(_WORD.finditer(part))
        folded = [match[0].casefold() for match in words]
        for start, length in itertools.product(range(len(words)), (2, 3)):
            own = folded[start : start + length]
            ends = {own[0], own[-1]}
            if len(own) < length or ends & passed or any(each.isdigit() for each in ends):
                continue
            at, end = words[start].start(), words[start + length - 1].end()
            if part[max(at - 1, 0) : at] == "-" or part[end : end + 1] == "-":
                continue  # half of a compound
            spelled = part[at:end]
            if passed.intersection(spelled.casefold().split()[1:-1]) - {"of"}:
                continue  # "evaluation with incomplete" ends too soon, "learning-to-rank" does not
            terms = tuple(index.analyser.term(word) or word for word in own)
            found.setdefault(terms, _WORD.sub(_in_sentence, spelled))
    return found


def _in_sentence(word: re.Match[str]) -> str:
    """A word of a title as a sentence has it: "Retrieval" is "retrieval", "BERT" stays."""
    return word[0].lower() if word[0][1:].islower() or len(word[0]) == 1 else word[0]


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
