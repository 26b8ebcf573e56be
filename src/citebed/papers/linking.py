"""Citation markers of a paper's text, resolved against its own reference list.

A number is a citation if the list has it; a name with a year if exactly one entry begins with that
name and has that year. What fits no entry is not a citation of this paper, but an interval, a year
in brackets, or an entry that was not found; how sure each link is is told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import normalize

from citebed.papers.references import ParsedReference
from citebed.text.markers import Marker, markers
from citebed.text.names import family_name

_YEAR = re.compile(r"\b((?:19|20)\d\d)([a-z]?)\b")
_FAMILY = re.compile(r"[^\W\d_][\w'’\u0300-\u036f\-]+")
_FIRST = re.compile(r"^\W*([^\W\d_][\w'’-]+)")
"""The first word of an entry: where no authors were read, it may be a name all the same."""


class Link(NamedTuple):
    """A marker and the entries that it cites, by their ids."""

    start: int
    end: int
    cites: tuple[str, ...]
    confidence: float


@dataclass(frozen=True)
class ReferenceIndex:
    """A reference list as markers look it up."""

    ids: frozenset[str]
    by_name: dict[tuple[str, str], tuple[str, ...]]
    gaps: int

    def links(self, text: str) -> list[Link]:
        """What a text cites, where."""
        found = []
        for marker in markers(text):
            link = self._link(marker)
            if link.cites:
                found.append(link)
        return found

    def _link(self, marker: Marker) -> Link:
        cites: list[str] = []
        missing = 0
        for cite in marker.cites:
            ids = (cite,) if cite in self.ids else self._named(cite)
            if len(ids) == 1:
                cites.append(ids[0])
            else:
                missing += 1
        sure = 0.995 - 0.02 * min(self.gaps, 5) if not missing else 0.6
        return Link(marker.start, marker.end, tuple(cites), sure)

    def _named(self, cite: str) -> tuple[str, ...]:
        """The entries that a name and a year may mean."""
        year = _YEAR.search(cite)
        name = _plain(re.split(r"\bet al|\band\b|&|,|\d", cite, maxsplit=1)[0])
        if year is None or not name:
            return ()
        return self.by_name.get((name, year[0]), ()) or self.by_name.get((name, year[1]), ())


def index_of(references: Sequence[ParsedReference], ids: Sequence[str]) -> ReferenceIndex:
    """A paper's reference list under the ids of its entries."""
    by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
    for ref_id, reference in zip(ids, references, strict=True):
        families = {_plain(family_name(name)) for name in reference.authors[:1]}
        for year in _YEAR.finditer(reference.text):
            for key in {year[0], year[1]}:
                for family in families | {_plain(word) for word in _FIRST.findall(reference.text)}:
                    if ref_id not in by_name[family, key]:
                        by_name[family, key].append(ref_id)
    numbers = [int(ref_id) for ref_id in ids if ref_id.isdigit()]
    gaps = max(numbers, default=0) - len(set(numbers))
    return ReferenceIndex(frozenset(ids), {key: tuple(ids) for key, ids in by_name.items()}, gaps)


def _plain(name: str) -> str:
    """The last word of a name, in small letters without accents."""
    words = _FAMILY.findall(normalize("NFKD", name.lower()))
    return words[-1] if words else ""
