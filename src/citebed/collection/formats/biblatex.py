"""What BibLaTeX adds to BibTeX: entries that are no documents, and data lent by ``@xdata``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from citebed.collection.formats.bibtex_entry import RawEntry
from citebed.records import Problem

_SETTINGS = frozenset(("xdata", "set", "control", "ieeetranbstctl"))
_ITEM = re.compile(r"\s+and\s+", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*xdata\s*=\s*(\S.*?)-([A-Za-z]+)(?:-(\d+))?\s*", re.IGNORECASE)

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
    entries: Iterable[RawEntry | Problem], known: Mapping[str, Fields]
) -> Iterator[RawEntry | Problem]:
    """The entries with what they borrow; ``known`` is lent by earlier pieces of the file."""
    entries, lent = list(entries), dict(known)
    for entry in entries:
        if isinstance(entry, RawEntry) and entry.type == "xdata":
            lent.update(dict.fromkeys(names_of_entry(entry), entry.fields))
    for entry in entries:
        if isinstance(entry, Problem) or entry.type == "xdata" or "xdata" not in entry.text.lower():
            yield entry
            continue
        missing: list[str] = []
        fields = _borrowed(entry.fields, lent, missing, frozenset())
        fields = {name: _resolved(value, lent) for name, value in fields.items()}
        for name in dict.fromkeys(missing):
            yield not_there(entry, name)
        yield entry if fields == entry.fields else entry._replace(fields=fields)


def _borrowed(
    fields: Fields, lent: Mapping[str, Fields], missing: list[str], seen: frozenset[str]
) -> dict[str, str]:
    """The fields and, where they leave a gap, those of the ``xdata`` entries they name."""
    found = {name: value for name, value in fields.items() if name not in ("xdata", "ids")}
    found |= {"ids": fields["ids"]} if "ids" in fields and not seen else {}
    for name in filter(None, map(str.strip, fields.get("xdata", "").lower().split(","))):
        if name in seen:
            continue
        if name not in lent:
            missing.append(name)
            continue
        for field, value in _borrowed(lent[name], lent, missing, seen | {name}).items():
            found.setdefault(field, value)
    return found


def _resolved(value: str, lent: Mapping[str, Fields], seen: frozenset[str] = frozenset()) -> str:
    """A value in which ``xdata=key-field-2`` stands for the second item of that field there."""
    if "xdata" not in value.lower():
        return value
    return " and ".join(_item(item.strip(), lent, seen) for item in _ITEM.split(value))


def _item(item: str, lent: Mapping[str, Fields], seen: frozenset[str]) -> str:
    match = None if item in seen else _REFERENCE.fullmatch(item)
    value = lent.get(match[1].lower(), {}).get(match[2].lower()) if match else None
    if match is None or value is None:
        return item
    found, place = _resolved(value, lent, seen | {item}), int(match[3] or 0)
    items = _ITEM.split(found)
    return found if not place else items[place - 1] if place <= len(items) else item
