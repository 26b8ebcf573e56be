"""The keys that an author types in a ``\\cite``: those of entries that are there, and new ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from citebed.drafts.records import Entry
from citebed.text.free_ids import FreeIds
from citebed.text.names import family_name
from citebed.text.normalise import unique


class Work(NamedTuple):
    """A document as a bibliography would know it: ``key`` is the collection's own for it, ``keys``
    those that it came with."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str | None = None
    arxiv: str | None = None
    keys: tuple[str, ...] = ()
    key: str = ""


_FEWEST_WORDS = 3
"""A shorter title ("Editorial") says too little by itself."""


class Bibliography:
    """The entries of .bib files: whether they hold a work, and which keys are free."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._known: dict[str, Entry] = {}
        self._by_key: dict[str, Entry] = {}
        self._by_title: dict[str, list[Entry]] = {}
        self._keys = FreeIds(fold=str.casefold)
        self.add(entries)

    def add(self, entries: Iterable[Entry]) -> None:
        """Entries that are in it from now on."""
        given = list(entries)
        if not given:
            return
        from citebed.drafts.bibliography.matching import plain_titles  # with the reader of BibTeX

        for entry, plain in zip(given, plain_titles([e.title for e in given]), strict=True):
            for name in (entry.doi, entry.arxiv):
                self._known.setdefault(name or "", entry)
            self._by_key.setdefault(entry.key, entry)
            self._by_title.setdefault(plain, []).append(entry)
        self._keys.add(entry.key for entry in given)
        self._known.pop("", None)
        self._by_title.pop("", None)

    def reserve(self, keys: Iterable[str]) -> None:
        """Keys that are taken, whatever they stand for."""
        self._keys.add(keys)

    def find(self, work: Work) -> Entry | None:
        """The entry of a work: by its DOI or arXiv id, a key of it, or its title and year."""
        if not self._by_key:
            return None
        from citebed.drafts.bibliography.matching import may_be, plain_titles

        for name in (work.doi, work.arxiv):
            if name and name in self._known:
                return self._known[name]
        for key in unique((work.key, *work.keys)):
            if (entry := self._by_key.get(key)) and may_be(entry, work.title, work.doi):
                return entry
        alike = self._by_title.get(plain_titles([work.title])[0], ())
        untitled = self._by_key.get(work.key) if not work.title else None
        return next((entry for entry in alike if _is_same(entry, work)), untitled)

    def take_key(self, wanted: str) -> str:
        """The wanted key if it is free, else one like it; nobody else gets it afterwards.

        To BibTeX keys that differ in case only are the same.
        """
        return self._keys.take(wanted)

    def is_free(self, key: str) -> bool:
        """Whether no entry has a key."""
        return self._keys.is_free(key)


def _is_same(entry: Entry, work: Work) -> bool:
    """Whether an entry of the same title is of this work: by the year and, where the title says
    little, by the first author too."""
    if len(work.title.split()) >= _FEWEST_WORDS:
        return None in (entry.year, work.year) or entry.year == work.year
    named = not work.authors or family_name(work.authors[0]) in entry.text
    return named and entry.year == work.year
