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

from citebed.papers.paper import ReferenceEntry
from citebed.text.markers import Marker, markers
from citebed.text.normalise import fold

_YEAR = re.compile(r"\b((?:19|20)\d\d)([a-z]?)\b")
_FAMILY = re.compile(r"[^\W\d_][\w'’\-]+")


class Link(NamedTuple):
    """A marker and the entries that it cites, by their ids."""

    start: int
    end: int
    cites: tuple[str, ...]
    confidence: float


@dataclass(frozen=True)
class ReferenceIndex:
    """A reference list as markers look it up."""

    ids: tuple[str, ...]
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
        year, family = _YEAR.search(cite), _FAMILY.search(fold(cite))
        if year is None or family is None:
            return ()
        name = family[0].lower()
        return self.by_name.get((name, year[0]), ()) or self.by_name.get((name, year[1]), ())


def index_of(references: Sequence[ReferenceEntry], ids: Sequence[str]) -> ReferenceIndex:
    """A paper's reference list under the ids of its entries."""
    by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
    for ref_id, entry in zip(ids, references, strict=True):
        text = fold(entry.content.text)
        family = _first_family(text)
        for year in _YEAR.finditer(text):
            for key in {year[0], year[1]}:
                if family and ref_id not in by_name[family, key]:
                    by_name[family, key].append(ref_id)
    numbers = [int(ref_id) for ref_id in ids if ref_id.isdigit()]
    gaps = max(numbers, default=0) - len(set(numbers))
    return ReferenceIndex(tuple(ids), {key: tuple(some) for key, some in by_name.items()}, gaps)


def _first_family(text: str) -> str:
    """The family name of an entry's first author: before the comma, or the last of the first."""
    head = re.split(r",|\band\b|\.\s(?=[A-Z][a-z])|\(", text, maxsplit=1)[0]
    words = [word for word in _FAMILY.findall(head) if len(word) > 1 or len(head) < 4]
    return words[-1].lower() if words else ""
