"""Where BibTeX can be cut into pieces, and what a piece must know of those before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from citebed.collection.formats.base import decode, with_newlines
from citebed.collection.formats.biblatex import names_of_entry
from citebed.collection.formats.bibtex_entry import RawEntry
from citebed.collection.formats.bibtex_quick import TYPE
from citebed.collection.formats.bibtex_scan import scan
from citebed.patterns import compiled

ONLY_STRINGS = "strings (@string) or @xdata and no entry; other files may use them"
"""What there is to say of a file that only lends."""

_HEADER = compiled(rf"[\r\n]@{TYPE}[ \t]*+\{{\s*+[^\s,{{}}\"#%=]++\s*+,".encode())
_LENT = re.compile(rb"@[ \t]*(?:string|xdata)\s*[{(]", re.IGNORECASE)
XDATA = "@xdata "
"""What the names of lent entries begin with, among those of strings."""


def cut(data: bytes) -> int:
    """Where a buffer of BibTeX can be cut: before its last entry that starts a line."""
    last, window = 0, len(data)
    while window > 0 and not last:
        start = max(0, window - (1 << 16))
        for match in _HEADER.finditer(data, start, window + 256):
            last = match.start() + 1
        window = start
    return last


def carry(data: bytes, macros: dict[str, str]) -> None:
    """Put the strings that a piece defines into ``macros``, for the pieces that follow it.

    What looks like a definition inside a field is none, so the entries around one are read.
    BibLaTeX's ``@xdata`` entries are kept there too, under names that no string can have.
    """
    for part in _around_lent(data):
        for entry in scan(with_newlines(decode(part)[0]), 1, macros):
            if isinstance(entry, RawEntry) and entry.type == "xdata":
                macros.update({XDATA + name: entry.text for name in names_of_entry(entry)})


def _around_lent(data: bytes) -> Iterator[bytes]:
    """The parts of a piece in which something is lent, from the entry before it to the one after:
    one process does this for all others, so the rest is not read."""
    end = 0
    for match in _LENT.finditer(data):
        if match.start() < end:
            continue
        start = max(end, cut(data[end : match.start()]) + end)
        following = _HEADER.search(data, match.end())
        end = following.start() + 1 if following else len(data)
        yield data[start:end]


def lent_before(macros: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The fields of the ``@xdata`` entries among what earlier pieces carried."""
    found: dict[str, dict[str, str]] = {}
    read: dict[str, dict[str, str]] = {}  # one entry may go by many names
    strings = dict(macros)
    for name, text in macros.items():
        if name.startswith(XDATA):
            if text not in read:
                entry = next(scan(text, 1, strings))
                read[text] = entry.fields if isinstance(entry, RawEntry) else {}
            found[name.removeprefix(XDATA)] = read[text]
    return found
