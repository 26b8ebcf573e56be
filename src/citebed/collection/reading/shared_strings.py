"""What one BibTeX file lends another (``\\bibliography{strings,refs}``): strings and ``@xdata``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from citebed.collection.formats.bibtex import bare_words
from citebed.collection.formats.bibtex_cut import XDATA, carry
from citebed.collection.reading.sources import SourceFile, told

_NAMES = (".bib", ".bibtex")
_HEAD_BYTES = 4 << 10
_MOST_BYTES = 1 << 20
_BLOCK_BYTES = 4 << 20
_LENT = re.compile(rb"@[ \t]*(?:string|xdata)\s*[{(]", re.IGNORECASE)
_ENTRY = re.compile(
    rb"^[ \t]*@(?!\s*(?:string|xdata|comment|preamble)\b)\s*\w+\s*[{(]", re.I | re.M
)
_BORROWS = re.compile(r"\bxdata\s*=", re.IGNORECASE)

Values = dict[str, set[str]]
"""By the name of a string, the values that files give it."""


class SharedStrings:
    """What the files of an import lend each other.

    A file may use the strings, and BibLaTeX's ``@xdata``, of those beside it, and of any that holds
    nothing else; where two of these define a name otherwise it stays undefined. Files in archives
    keep to themselves. Sources that are ``known`` from an earlier import lend to the files beside
    them, too.
    """

    def __init__(self, files: Iterable[SourceFile], known: Iterable[str] = ()) -> None:
        self._files = [file for file in files if file.name.lower().endswith(_NAMES)]
        self._used: dict[str, dict[str, str]] = {}
        here = {file.path for file in self._files}
        names = {name.rpartition("/")[2] for name in known if name.lower().endswith(_NAMES)}
        for path in sorted({path.parent / name for path in here for name in names} - here):
            self._files += [SourceFile(path, str(path))] if path.is_file() else []

    def used_by(self, file: SourceFile) -> dict[str, str]:
        """The strings of other files that ``file`` names and does not define."""
        if file.name not in self._used and file.name.lower().endswith(_NAMES):
            self._used[file.name] = self._looked_up(file)
        return self._used.get(file.name, {})

    def lends(self, name: str) -> bool:
        """Whether the file of this name defines strings."""
        return bool(self._defined.get(name))

    def _looked_up(self, file: SourceFile) -> dict[str, str]:
        own, lent = self._defined.get(file.name, {}), self._lent
        beside, anywhere = lent.get(file.path.parent, {}), lent.get(None, {})
        if beside.keys() | anywhere.keys() <= own.keys():
            return {}
        found = {}
        words = _words(file.path)
        if "xdata" in words:  # which may borrow from others in turn, and use their strings
            for name, values in (*beside.items(), *anywhere.items()):
                if name.startswith(XDATA):
                    words |= {name}.union(*map(bare_words, values))
        for name in sorted(words - own.keys()):
            values = {*beside.get(name, ()), *anywhere.get(name, ())}
            found.update({name: values.pop()} if len(values) == 1 else {})
        return found

    @cached_property
    def _defined(self) -> dict[str, dict[str, str]]:
        """The strings of each file that begins with some."""
        found: dict[str, dict[str, str]] = {}
        for file in self._files:
            if _LENT.search(_head(file.path, _HEAD_BYTES)):
                carry(_head(file.path, _MOST_BYTES), found.setdefault(file.name, {}))
        return found

    @cached_property
    def _lent(self) -> dict[Path | None, Values]:
        """The strings lent in each folder; under ``None`` those of files that hold no entry."""
        lent: dict[Path | None, Values] = {}
        for file in (file for file in self._files if self._defined.get(file.name)):
            alone = _ENTRY.search(_head(file.path, _MOST_BYTES)) is None
            for folder in (file.path.parent, *((None,) if alone else ())):
                values = lent.setdefault(folder, {})
                for name, value in self._defined[file.name].items():
                    values.setdefault(name, set()).add(value)
        return lent


def _head(path: Path, size: int) -> bytes:
    with told(path), path.open("rb") as file:
        return file.read(size)


def _words(path: Path) -> set[str]:
    """The bare words of a file, in lower case, which may be names of strings."""
    words: set[str] = set()
    with told(path), path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            text = block.decode("utf-8", "replace")
            words |= bare_words(text) | ({"xdata"} if _BORROWS.search(text) else set())
    return words
