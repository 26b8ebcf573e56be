"""Facets: how documents are spread over years, venues, authors and types.

The counts of a facet are those of all that was found, with what was chosen of this facet itself
taken back, so that one sees what choosing another value would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from citebed.collection.filters import Filter
from citebed.retrieval.library.catalogue import UNKNOWN, Catalogue, Coded, Mask

FACETS = ("year", "venue", "author", "type")
_MOST = {"venue": 10, "author": 10, "type": 10}
_MOST_YEARS = 15
"""Of more different years than these, decades are told."""
Row = dict[str, Any]


def facet_rows(
    catalogue: Catalogue, matched: Mask, masks: Mapping[str, Mask], among: Filter
) -> list[Row]:
    """The most frequent values of each facet, and those that were chosen: ``facet``, ``value``,
    ``count``, ``chosen``. ``masks`` are what each part of the filter lets through."""
    rows: list[Row] = []
    for facet in FACETS:
        others = [mask for name, mask in masks.items() if name != facet]
        mask = np.logical_and.reduce([matched, *others])
        if facet == "year":
            found = _years(catalogue, mask, among.years)
        else:
            coded, chosen = _values(catalogue, among)[facet]
            found = _most(coded, mask, chosen, _MOST[facet])
        rows += [{"facet": facet, **row} for row in found]
    return rows


def _values(catalogue: Catalogue, among: Filter) -> dict[str, tuple[Coded, Iterable[str]]]:
    return {
        "venue": (catalogue.venues, among.venues),
        "author": (catalogue.authors, among.authors),
        "type": (catalogue.types, among.types),
    }


def _most(coded: Coded, mask: Mask, wanted: Iterable[str], most: int) -> list[Row]:
    """The values that most documents have, and the wanted ones; of equally many the earlier by
    name."""
    counts = coded.counts(mask)
    chosen = set(coded.codes_of(wanted).tolist())
    near = np.flatnonzero(counts)
    if len(near) > most:
        least = np.partition(counts[near], len(near) - most)[len(near) - most]
        near = near[counts[near] >= least]
    labels = {code: str(coded.labels[code]) for code in {*near.tolist(), *chosen}}
    order = sorted(labels, key=lambda code: (-counts[code], labels[code]))
    shown = [code for place, code in enumerate(order) if place < most or code in chosen]
    return [
        {"value": labels[code], "count": int(counts[code]), "chosen": code in chosen}
        for code in shown
    ]


def _years(catalogue: Catalogue, mask: Mask, chosen: str) -> list[Row]:
    """The years of documents, newest first; where there are many, by decades."""
    years = catalogue.years[mask & (catalogue.years != UNKNOWN)]
    found, counts = np.unique(years, return_counts=True)
    if len(found) > _MOST_YEARS:
        found, counts = np.unique(years // 10 * 10, return_counts=True)
        values = [f"{year}-{year + 9}" for year in found.tolist()]
    else:
        values = [str(year) for year in found.tolist()]
    plain = "".join(chosen.split()).replace("–", "-")
    rows = [
        {"value": value, "count": number, "chosen": value == plain}
        for value, number in zip(values, counts.tolist(), strict=True)
    ][::-1]
    if plain and not any(row["chosen"] for row in rows):
        first, last = Filter(plain).span
        least, most = first if first is not None else -np.inf, last if last is not None else np.inf
        inside = int(((years >= least) & (years <= most)).sum())
        rows.insert(0, {"value": plain, "count": inside, "chosen": True})
    return rows
