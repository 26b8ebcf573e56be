"""The sources that a collection was read from: found by name or path; which of them are gone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from citebed.collection.reading.sources import SourceNames
from citebed.errors import CitebedError, UnknownName
from citebed.wording import printable

_MOST_LISTED = 20


@dataclass(frozen=True)
class KnownSources:
    """The names of the files that the collection at ``folder`` was read from."""

    folder: Path
    names: SourceNames
    sources: tuple[str, ...]

    def under(self, root: str) -> list[str]:
        """The sources that are, or are below, a path that was given by this name."""
        return [
            name
            for name in self.sources
            if name == root
            or name.startswith(f"{root}/")
            or (root == "." and self.names.where(name) is not None)
        ]

    def named(self, given: Iterable[str | Path]) -> list[str]:
        """The sources that a user names, by their names or paths; an unknown one is an error."""
        items: list[str] = []
        for source in given:
            under = self.under(str(source).rstrip("/")) or self.under(self.names.of(source))
            if not under:
                raise UnknownName("source", printable(source), self._listed())
            items += under
        return items

    def _listed(self) -> Iterable[str]:
        """All sources or, where they are many, the folders and files at the top."""
        few = len(self.sources) <= _MOST_LISTED
        return self.sources if few else {name.partition("/")[0] for name in self.sources}

    def still_there(self, paths: list[str | Path], *, prune: bool) -> list[str | Path]:
        """The paths to read; one that was imported before and is gone can only be pruned."""
        missing = [path for path in paths if not os.path.exists(path)]
        gone = [path for path in missing if self.under(self.names.of(path))]
        if gone and not prune:
            forget = f"citebed forget {printable(self.folder)} {self.names.of(gone[0])}"
            raise CitebedError(
                f"{printable(gone[0])} is no longer there. Its documents are still in the "
                f"collection; to take them out: {forget}, or import with --prune."
            )
        return [path for path in paths if path not in gone]

    def refuse_empty(self, paths: list[str | Path], found: set[str]) -> None:
        """Raise for a folder in which there is nothing to read, now or when it was imported."""
        for path in paths:
            if not os.path.isdir(path):
                continue
            root = self.names.of(path)
            inside = [name for name in found if root == "." or name.startswith(f"{root}/")]
            if not inside and not self.under(root):
                raise CitebedError(_nothing_in(Path(path)))

    def elsewhere(self, given: list[str]) -> list[str]:
        """Sources of whose place only a hash is known, and that are not under a path given."""
        named = {name for root in given for name in self.under(root)}
        return [n for n in self.sources if n not in named and self.names.where(n) is None]

    def gone(self, here: set[str], given: list[str], *, prune: bool) -> list[str]:
        """Sources that are no longer there: under a path given now, or (with ``prune``) wherever
        that can be told."""
        found = {name for root in given for name in self.under(root)} - here
        if prune:
            places = ((name, self.names.where(name)) for name in self.sources)
            found |= {name for name, place in places if place and not os.path.exists(place)}
        return sorted(found)


def _nothing_in(folder: Path) -> str:
    """What to say of a folder that has no file to read."""
    name = printable(folder)
    if (folder / "citebed.toml").exists():
        return f"'{name}' is a collection of its own; name the files that it was made of."
    more = "hidden files, and collections of citebed's, are passed over"
    return f"there is no file to read in the folder '{name}' ({more}). Nothing was changed."
