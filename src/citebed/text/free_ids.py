"""Ids, keys and file names that are given out once each."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class FreeIds:
    """Gives out each id once: the second ``a`` is ``a-2``, the third ``a-3``.

    ``reserved`` ids are given out to their owners only. ``fold`` says which ids are the same:
    ``str.casefold`` where case makes no difference.
    """

    def __init__(self, reserved: Iterable[str] = (), fold: Callable[[str], str] = str) -> None:
        self._fold = fold
        self._reserved, self._given = frozenset(map(fold, reserved)), set[str]()
        self._copies: dict[str, int] = {}

    def add(self, taken: Iterable[str]) -> None:
        """Ids that somebody has already."""
        self._given.update(map(self._fold, taken))

    def take(self, wanted: str, owner: str | None = None, stem: str | None = None) -> str:
        """The wanted id if it is free (or reserved for ``owner``), else the next copy that is.

        Copies are made of ``stem``, the wanted id itself where none is given.
        """
        name, stem = wanted, stem or wanted
        while not self.is_free(name, owner):
            self._copies[stem] = self._copies.get(stem, 1) + 1
            name = f"{stem}-{self._copies[stem]}"
        self._given.add(self._fold(name))
        return name

    def is_free(self, name: str, owner: str | None = None) -> bool:
        """Whether an id can be taken as it is."""
        same = self._fold(name)
        return same not in self._given and (name == owner or same not in self._reserved)
