"""Pieces of words: what is known of a word that has no vector of its own.

Names of genes, compounds and species come in more forms than any vocabulary holds. Such a word is
cut from left to right, each time taking the longest piece that is known; pieces with which a word
goes on begin with ``#``, so that an ending is another piece than a beginning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

GOES_ON = "#"
PIECE = re.compile("#?[a-z0-9]+")
_LENGTHS = range(3, 41)
"""Characters of words that are cut; longer ones are addresses and numbers in disguise."""


class Pieces:
    """Known pieces by number, from ``first`` on."""

    def __init__(self, pieces: Sequence[str], first: int = 0) -> None:
        self._numbers = {piece: first + at for at, piece in enumerate(pieces)}
        self._longest = max(map(len, pieces), default=0)

    def of(self, word: str) -> list[int]:
        """The pieces of a word; none where a part of it is unknown, and none of numbers."""
        if not self._numbers or not can_be_cut(word):
            return []
        found, at, mark = [], 0, ""
        while at < len(word):
            ends = range(min(len(word), at + self._longest), at, -1)
            end = next((end for end in ends if mark + word[at:end] in self._numbers), 0)
            if not end:
                return []
            found.append(self._numbers[mark + word[at:end]])
            at, mark = end, GOES_ON
        return found


def can_be_cut(word: str) -> bool:
    """Whether a word may be put together from pieces."""
    return len(word) in _LENGTHS and not word.isdigit()
