"""What sources are called inside a collection: never by where a user keeps things.

A collection is made to be shared, and ``/home/ann/thesis/refs.bib`` is nobody's business. A path
below the folder that holds the collection is named from there (``refs.bib``, ``papers/a.xml``), so
that both can be moved together. Any other is named by its last part; a hash of its place tells it
from another of that name, which gets as many folders in front as it takes (``thesis/refs.bib``).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from citebed.wording import printable

_WRITTEN = re.compile(r"[!\ud800-\udfff]|%2[15]|\\x[89a-f]")


class SourceNames:
    """The names of what is imported into the collection at ``folder``.

    ``known`` are the manifest's rows of the paths that were imported before; with ``absolute``
    new names are whole paths.
    """

    def __init__(
        self, folder: Path, known: Iterable[Mapping[str, Any]] = (), *, absolute: bool = False
    ) -> None:
        self._home = os.path.dirname(os.path.abspath(folder))
        self._absolute = absolute
        rows = list(known)
        self._known = {str(row["path"]) for row in rows}
        self._elsewhere = {str(row["place"]): str(row["path"]) for row in rows if row.get("place")}

    def of(self, path: str | Path) -> str:
        """The name of a path that was given, or of one below it."""
        whole = os.path.abspath(path)
        if self._absolute:
            return _text(whole)
        if _is_below(whole, self._home):
            name = _text(os.path.relpath(whole, self._home))
            return f"./{name}" if self._is_taken(name) else name
        above = whole
        while above != os.path.dirname(above):
            if (known := self._elsewhere.get(_place(above))) is not None:
                rest = os.path.relpath(whole, above)
                return known if rest == "." else f"{known}/{_text(rest)}"
            above = os.path.dirname(above)
        return self._new(whole)

    def _is_taken(self, name: str) -> bool:
        """Whether something elsewhere goes by a name, or one above or below it."""
        others = self._elsewhere.values()
        return any(_is_below(name, other) or _is_below(other, name) for other in others)

    def place(self, name: str) -> str:
        """The hash of where a given path is, ``""`` for one that its name alone tells."""
        return next((place for place, other in self._elsewhere.items() if other == name), "")

    def _new(self, whole: str) -> str:
        parts = _text(whole).strip("/").split("/")
        for count in range(1, len(parts) + 1):
            name = "/".join(parts[-count:])
            if name not in self._known and not self._is_taken(name):
                break
        self._elsewhere[_place(whole)] = name
        return name


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _text(path: str) -> str:
    """A path as text; no two paths are the same text, and what is below one is below its text."""
    return "/".join(map(_part, path.split(os.sep)))


def _part(name: str) -> str:
    """A file's or folder's own name.

    ``!`` stands between an archive and what is in it, so no name has one. Where a name has one, or
    bytes that are no text, or what these are written as, all such signs are written so.
    """
    if _WRITTEN.search(name):
        name = name.replace("\\", "\\\\").replace("%", "%25").replace("!", "%21")
    return printable(name)


def _place(whole: str) -> str:
    return hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]
