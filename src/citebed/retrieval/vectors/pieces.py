"""Pieces of words: what is known of a word that has no vector of its own.

Names of genes, compounds and species come in more forms than any vocabulary holds. Such a word is
cut from left to right, each time taking the longest piece that is known; pieces with which a word
goes on begin with ``#``, so that an ending is another piece than a beginning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

GOES_ON = "#"
PIECE = re.compile("#?[a-z0-9]+")
_LENGTHS = range(3, 41)
"""Characters of words that are cut; longer ones are addresses and numbers in disguise."""


class Pieces:
    """Known pieces by number, from ``first`` on."""

    def __init__(self, pieces: Sequence[str], first: int = 0) -> None:
        self._tree: dict[str, Any] = {}
        """A prefix tree of the pieces; the number of a piece is under the empty string."""
        for number, piece in enumerate(pieces, first):
            node = self._tree
            for letter in piece:
                node = node.setdefault(letter, {})
            node[""] = number

    def of(self, word: str) -> list[int]:
        """The pieces of a word; none where a part of it is unknown, and none of numbers."""
        if not self._tree or not can_be_cut(word):
            return []
        found, at, tree = [], 0, self._tree
        while at < len(word):
            node, number = tree, -1
            for end, letter in enumerate(word[at:], at + 1):
                if letter not in node:
                    break
                node = node[letter]
                if "" in node:
                    number, at = node[""], end
            if number < 0:
                return []
            found.append(number)
            tree = self._tree.get(GOES_ON, {})
        return found


def can_be_cut(word: str) -> bool:
    """Whether a word may be put together from pieces."""
    return len(word) in _LENGTHS and not word.isdigit()
