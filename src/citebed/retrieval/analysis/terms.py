"""The terms of many texts: what a word becomes is remembered, as most come again."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from citebed.retrieval.analysis.analysers import analyser_of

_REMEMBERED = 1 << 18


class Terms:
    """An analyser by its name, as a function that can travel to workers."""

    def __init__(self, analyser: str) -> None:
        self._name = analyser
        self._analyser = analyser_of(analyser)
        self._term = lru_cache(maxsize=_REMEMBERED)(self._analyser.term)

    def __call__(self, text: str) -> list[str]:
        """The terms of a text, in its order."""
        term = self._term
        return [it for word in self._analyser.words(text) if (it := term(word)) is not None]

    def __reduce__(self) -> tuple[Callable[[str], Terms], tuple[str]]:
        """The name is all that travels; what is remembered stays."""
        return Terms, (self._name,)
