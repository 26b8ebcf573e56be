"""Where BibTeX can be cut into pieces, and what a piece must know of those before it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citebed.collection.formats.base import decode, with_newlines
from citebed.collection.formats.biblatex import names_of_entry
from citebed.collection.formats.bibtex_entry import RawEntry
from citebed.collection.formats.bibtex_quick import TYPE
from citebed.collection.formats.bibtex_scan import scan
from citebed.patterns import compiled

ONLY_STRINGS = "strings (@string) and no entry; other files may use them"
"""What there is to say of a file that only lends."""

_HEADER = compiled(rf"[\r\n]@{TYPE}[ \t]*+\{{\s*+[^\s,{{}}\"#%=]++\s*+,".encode())
_LENT = re.compile(rb"@[ \t]*(?:string|xdata)\s*[{(]", re.IGNORECASE)
_XDATA = "@xdata "


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

    What looks like a definition inside a field is none, so the piece is read if it has one.
    BibLaTeX's ``@xdata`` entries are kept there too, under names that no string can have.
    """
    if _LENT.search(data) is None:
        return
    for entry in scan(with_newlines(decode(data)[0]), 1, macros):
        if isinstance(entry, RawEntry) and entry.type == "xdata":
            macros.update({_XDATA + name: entry.text for name in names_of_entry(entry)})


def lent_before(macros: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The fields of the ``@xdata`` entries among what earlier pieces carried."""
    found = {}
    for name, text in macros.items():
        if name.startswith(_XDATA):
            entry = next(scan(text, 1, dict(macros)))
            found[name.removeprefix(_XDATA)] = entry.fields if isinstance(entry, RawEntry) else {}
    return found
