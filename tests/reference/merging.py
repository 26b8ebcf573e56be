"""Which records are one document, found the slow and obvious way."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple

Record = dict[str, Any]


def plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text).lower() if c.isalnum())


def family(record: Record) -> str:
    return plain(record["authors"][0].split(",")[0]) if record["authors"] else ""


def groups(records: Sequence[Record], one_paper: Collection[str]) -> list[list[int]]:
    """The rows of each document; ``one_paper`` are titles of one paper that differ in letters."""
    names: list[Hashable] = [None] * len(records)
    dois = _dois(records, one_paper)
    same = _told_by_place(records, _told_by_file(records, _same(records)))
    arxiv = [(r["arxiv"], family(r)) if r["arxiv"] else None for r in records]
    numbers = [own or _first(arxiv, row, same) for row, own in enumerate(arxiv)]
    for row in range(len(records)):
        number = numbers[row]
        lent = next(
            (doi for doi, n in zip(dois, numbers, strict=True) if doi and number and n == number),
            None,
        )
        names[row] = dois[row] or _first(dois, row, same) or lent or number or same[row]
    return sorted(
        [row for row, n in enumerate(names) if n == name] for name in dict.fromkeys(names)
    )


def _first(values: Sequence[Any], row: int, same: Sequence[Hashable]) -> Any:
    return next((v for v, s in zip(values, same, strict=True) if v and s == same[row]), None)


def _dois(records: Sequence[Record], one_paper: Collection[str]) -> list[Hashable]:
    """A record's DOI with the first title that agrees with its own."""
    titles = ["one paper" if r["title"] in one_paper else plain(r["title"]) for r in records]
    found: list[Hashable] = [None] * len(records)
    for row, record in enumerate(records):
        here = {t for t, r in zip(titles, records, strict=True) if t and r["doi"] == record["doi"]}
        own: Hashable = titles[row] or (row if len(here) > 1 else "".join(here))
        found[row] = (record["doi"], own) if record["doi"] else None
    return found


def _same(records: Sequence[Record]) -> list[Hashable]:
    own = [_alike(record) for record in records]
    found = list(own)
    for row, record in enumerate(records):
        if record["year"] is not None or not _is_likely(record):
            continue
        alike = [
            other
            for other, r in enumerate(records)
            if _is_likely(r) and _who(r) == _who(record) and _keys(r) & _keys(record)
        ]
        found[row] = own[min(alike, key=lambda other: (records[other]["year"] is None, other))]
    return found


def _is_likely(record: Record) -> bool:
    return len(record["title"].split()) > 2 and bool(record["authors"])


def _keys(record: Record) -> set[str]:
    return {key.lower() for key in (record["doc_id"], *record["keys"])}


def _who(record: Record) -> Hashable:
    return plain(record["title"]), tuple(plain(name.split(",")[0]) for name in record["authors"])


def _alike(record: Record) -> Hashable:
    if not record["title"]:
        return None
    few, vague = len(record["title"].split()) < 3, record["year"] is None or not record["authors"]
    place = [(record["venue"] or "").lower(), record["volume"] or "", record["pages"] or ""]
    return (
        plain(record["title"]),
        family(record),
        record["year"],
        tuple(place) if few else (),
        (record["abstract"] or "", place[0], place[2]) if vague else (),
    )


def _told_by_file(records: Sequence[Record], same: list[Hashable]) -> list[Hashable]:
    """Two records of one non-BibTeX file differ, and so do records without a title."""
    found = list(same)
    for row, record in enumerate(records):
        alike = [
            other
            for other, r in enumerate(records)
            if same[other] == same[row] and r["source"] == record["source"] and not r["bibtex"]
        ]
        if same[row] is None or (not record["bibtex"] and len(alike) > 1):
            found[row] = ("itself", row)
    return found


def _told_by_place(records: Sequence[Record], same: list[Hashable]) -> list[Hashable]:
    found = list(same)
    for name in set(same):
        rows = [row for row, other in enumerate(same) if other == name]
        distinct = list(dict.fromkeys(_place(records[row]) for row in rows))
        parts = _places_apart(distinct)
        for row in rows:
            found[row] = (name, parts[_place(records[row])])
    return found


class Place(NamedTuple):
    """Return the place of a record; pages as all their numbers."""

    venue: str | None
    volume: str | None
    issue: str | None
    pages: frozenset[int]


def _place(record: Record) -> Place:
    first, _, last = (record["pages"] or "").partition("–")
    pages = range(int(first), int(last or first) + 1) if first else ()
    issue = record["number"] if any(c.isdigit() for c in record["number"] or "") else None
    return Place(record["venue"], record["volume"], issue, frozenset(pages))


def _are_apart(one: Place, other: Place) -> bool:
    """No page in common, and the same venue or another venue, volume or issue; where pages are
    not known, another issue of the same venue."""
    others = [a is not None and b is not None and a != b for a, b in zip(one, other, strict=True)]
    is_one_venue = one.venue is not None and one.venue == other.venue
    if not one.pages or not other.pages:
        return is_one_venue and others[2]
    return not one.pages & other.pages and (is_one_venue or any(others[:3]))


def _places_apart(places: Sequence[Place]) -> dict[Place, int]:
    """Return a number for each place, most complete first; ambiguous places have none.

    First and last page count as two if they are missing.
    """
    found: dict[Place, int] = {}

    def unknown(place: Place) -> int:
        return sum(part is None for part in place[:3]) + max(0, 2 - len(place.pages))

    for place in sorted(places, key=unknown):
        apart = {found[other] for other in found if _are_apart(place, other)}
        fitting = sorted(set(found.values()) - apart)
        found[place] = fitting[0] if len(fitting) == 1 else len(set(found.values()))
    return found
