"""What BibLaTeX adds to BibTeX: entries that are no documents, and data lent by ``@xdata``.

Where BibTeX can be cut into pieces, and what a piece must know of those before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from citebed.collection.formats.base import decode, with_newlines
from citebed.collection.formats.bibtex_entry import TOO_MUCH, TYPE, RawEntry
from citebed.collection.formats.bibtex_scan import scan
from citebed.files.limits import Allowance
from citebed.records import Problem
from citebed.text.regex import compile_regex

_SETTINGS = frozenset(("xdata", "set", "control", "ieeetranbstctl"))
_ITEM = re.compile(r"\s+and\s+", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*xdata\s*=\s*(\S.*?)-([A-Za-z]+)(?:-([0-9]{1,6}))?\s*", re.IGNORECASE)
_LOOKING_UP = 64
_DEEPEST = 20

Fields = Mapping[str, str]


def is_document(entry: RawEntry) -> bool:
    """Whether an entry describes a work: a set of entries, lent data and settings do not."""
    return entry.type not in _SETTINGS or (entry.type != "xdata" and "title" in entry.fields)


def has_xdata(text: str) -> bool:
    """Whether there may be an ``@xdata`` in a text, found out as quickly as can be."""
    at = text.find("@")  # one letter is found several times as quickly as two
    while at >= 0:
        if text[at + 1 : at + 2] in ("x", "X"):
            return True
        at = text.find("@", at + 1)
    return False


def names_of_entry(entry: RawEntry) -> list[str]:
    """The key and what BibLaTeX's ``ids`` add, in lower case."""
    return [name.strip().lower() for name in (entry.key, *entry.fields.get("ids", "").split(","))]


def not_there(entry: RawEntry, name: str) -> Problem:
    """What there is to say where an entry borrows from nothing."""
    what = f"entry '{entry.key}' borrows from xdata '{name}', which is not there"
    return Problem(entry.line, what, "mended")


def with_xdata(
    entries: Iterable[RawEntry | Problem], known: Mapping[str, Fields], size: int
) -> Iterator[RawEntry | Problem]:
    """The entries with what they borrow; ``known`` is lent by earlier pieces of the file.

    ``size`` is that of the text that the entries are of, which bounds what they borrow.
    """
    entries, lender = list(entries), _Lender(known, Allowance(size))
    for entry in entries:
        if isinstance(entry, RawEntry) and entry.type == "xdata":
            lender.lent.update(dict.fromkeys(names_of_entry(entry), entry.fields))
    for entry in entries:
        if isinstance(entry, Problem) or entry.type == "xdata" or "xdata" not in entry.text.lower():
            yield entry
            continue
        missing: dict[str, None] = {}
        fields = lender.borrowed(entry.fields, missing)
        fields = {name: lender.resolved(value) for name, value in fields.items()}
        for name in missing:
            yield not_there(entry, name)
        if lender.refused:
            yield Problem(entry.line, f"xdata '{lender.refused.pop()}' {TOO_MUCH}", "mended")
            lender.refused.clear()
        yield entry if fields == entry.fields else entry._replace(fields=fields)


class _Lender:
    """What ``@xdata`` entries lend, as long as the allowance lasts.

    An entry may borrow from one that borrows in turn; each is asked once for an entry. ``refused``
    are those that were not followed because it would have been too much.
    """

    def __init__(self, known: Mapping[str, Fields], allowance: Allowance) -> None:
        self.lent = dict(known)
        self.refused: list[str] = []
        self._allowance = allowance

    def borrowed(self, fields: Fields, missing: dict[str, None]) -> dict[str, str]:
        """The fields and, where they leave a gap, those of the ``xdata`` entries they name."""
        own = {name: value for name, value in fields.items() if name != "xdata"}
        seen: set[str] = set()
        waiting = _named(fields)
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name not in self.lent:
                missing[name] = None
            elif self._may_borrow(name, sum(map(len, self.lent[name].values()))):
                for field, value in self.lent[name].items():
                    if field not in ("xdata", "ids"):
                        own.setdefault(field, value)
                waiting += _named(self.lent[name])
        return own

    def resolved(self, value: str, above: tuple[str, ...] = ()) -> str:
        """A value in which ``xdata=key-field-2`` is the second item of that field there."""
        if "xdata" not in value.lower():
            return value
        return " and ".join(self._item(item.strip(), above) for item in _ITEM.split(value))

    def _item(self, item: str, above: tuple[str, ...]) -> str:
        match = None if item in above else _REFERENCE.fullmatch(item)
        value = self.lent.get(match[1].lower(), {}).get(match[2].lower()) if match else None
        if match is None or value is None or not self._may_borrow(item, len(value), len(above)):
            return item
        text, place = self.resolved(value, (*above, item)), int(match[3] or 0)
        items = _ITEM.split(text)
        return text if not place else items[place - 1] if place <= len(items) else item

    def _may_borrow(self, name: str, size: int, depth: int = 0) -> bool:
        """Whether so much may be borrowed from there; looking it up costs something, too."""
        if depth < _DEEPEST and self._allowance.covers(size + _LOOKING_UP):
            return True
        self.refused.append(name)
        return False


def _named(fields: Fields) -> list[str]:
    """The ``xdata`` entries that fields name, the first one last."""
    named = fields.get("xdata", "").lower().split(",")
    return [*filter(None, map(str.strip, reversed(named)))]


# --- Cutting, and what later pieces must know -------------------------------------------------


ONLY_STRINGS = "strings (@string) or @xdata and no entry; other files may use them"
"""What there is to say of a file that only lends."""

_HEADER = compile_regex(rf"[\r\n]@{TYPE}[ \t]*+\{{\s*+[^\s,{{}}\"#%=]++\s*+,".encode())
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
    lent: dict[str, dict[str, str]] = {}
    read: dict[str, dict[str, str]] = {}  # one entry may go by many names
    strings = dict(macros)
    for name, text in macros.items():
        if name.startswith(XDATA):
            if text not in read:
                entry = next(scan(text, 1, strings))
                read[text] = entry.fields if isinstance(entry, RawEntry) else {}
            lent[name.removeprefix(XDATA)] = read[text]
    return lent
