"""Which records are one document, found the slow and obvious way."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from citebed.collection.building.merging import Place, Title, place_groups, titles_agree

Record = dict[str, Any]


def plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text).lower() if c.isalnum())


def family(record: Record) -> str:
    return plain(record["authors"][0].split(",")[0]) if record["authors"] else ""


def groups(records: Sequence[Record]) -> list[list[int]]:
    """The rows of each document."""
    names: list[Hashable] = [None] * len(records)
    dois = _dois(records)
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


def _dois(records: Sequence[Record]) -> list[Hashable]:
    """A record's DOI with the first title that agrees with its own, by way of others."""
    found: list[Hashable] = [None] * len(records)
    for doi in {r["doi"] for r in records if r["doi"]}:
        rows = [row for row, r in enumerate(records) if r["doi"] == doi]
        titled = [row for row in rows if plain(records[row]["title"])]
        parts = _components(
            titled, lambda a, b: titles_agree(_title(records[a]), _title(records[b]))
        )
        for row in rows:
            here = next((number for number, part in enumerate(parts) if row in part), None)
            if here is None:
                here = 0 if len(parts) <= 1 else -1 - row
            found[row] = (doi, here)
    return found


def _title(record: Record) -> Title:
    return Title(record["title"], plain(record["title"]))


def _components(rows: Iterable[int], joined: Callable[[int, int], bool]) -> list[set[int]]:
    parts: list[set[int]] = []
    for row in rows:
        near = [part for part in parts if any(joined(row, other) for other in part)]
        parts = [part for part in parts if part not in near]
        parts.append({row}.union(*near))
    return parts


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
    """Two records of one file that is no BibTeX are not the same, nor are those without a title."""
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
        parts = dict(zip(distinct, place_groups(distinct), strict=True))
        for row in rows:
            found[row] = (name, parts[_place(records[row])])
    return found


def _place(record: Record) -> Place:
    first, _, last = (record["pages"] or "").partition("–")
    issue = record["number"] if any(c.isdigit() for c in record["number"] or "") else None
    venue, volume, number = (
        hash(plain(text)) if text else None for text in (record["venue"], record["volume"], issue)
    )
    return Place(venue, volume, number, int(first) if first else None, int(last) if last else None)
