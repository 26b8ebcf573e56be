"""What a simulated organiser types at the desk: several searches for a question, not one.

The paper's organisers began with the whole research question, then tried refinements of it and
alternatives, guided where necessary by what the author had judged in phase one. Played are, in
this order: the whole question; its rarer half of words; the title of the reference that was graded
best; and the rarer words together with those that titles of relevant references share. That people
try these four, and look at as many results of each, is an assumption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from citebed.text.normalise import fold

_MOST_SHARED = 5


def searches(question: str, relevant: Sequence[str], frequency: Callable[[str], int]) -> list[str]:
    """The texts to search with, each once; ``relevant`` are titles, the best graded first.

    ``frequency`` tells how many documents have a word, 0 for one that is not searched for.
    """
    words = _searchable(question, frequency)
    rare = sorted(words, key=frequency)[: (len(words) + 1) // 2]
    counts = Counter(word for title in relevant for word in _searchable(title, frequency))
    shared = [word for word, times in counts.most_common() if times > 1 and word not in rare]
    feedback = " ".join([*rare, *shared[:_MOST_SHARED]]) if shared else ""
    tried = (question, " ".join(rare), relevant[0] if relevant else "", feedback)
    return list(dict.fromkeys(text for text in map(fold, tried) if text))


def _searchable(text: str, frequency: Callable[[str], int]) -> list[str]:
    """The words of a text that documents have, each once."""
    words = (word.strip(".,;:?!()[]\"'").lower() for word in text.split())
    return list(dict.fromkeys(word for word in words if word and frequency(word)))
