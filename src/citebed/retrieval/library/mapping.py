"""Making a map: which documents are on it and why, where they lie, what ties and groups them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.library.catalogue import Catalogue
from citebed.retrieval.library.citations import Citations
from citebed.retrieval.library.grouping import grouped, labelled
from citebed.retrieval.library.layout import laid_out
from citebed.retrieval.library.map import Map
from citebed.retrieval.library.nearness import Nearness
from citebed.retrieval.vectors.vectors import Docs

Reals = NDArray[np.float64]
_NEIGHBOURS, _LEAST_ALIKE = 2, 0.35
"""Each document is tied to so many that are most like it, if they are as alike."""
_TIED = 0.8
"""Documents that cite each other or are cited together lie as much closer."""
_HALF, _TOGETHER = 0.5, 0.4
"""Of the places on a map, up to half are for what is cited, then two in five of those left for what
is cited together."""


class Wanted(NamedTuple):
    """What a map is to have: numbers of documents by role, the most wanted first."""

    centre: tuple[int, ...] = ()
    cited: tuple[int, ...] = ()
    citing: tuple[int, ...] = ()
    recommended: tuple[int, ...] = ()
    never: frozenset[int] = frozenset()
    """What nobody wants to see beside them."""
    taken: tuple[int, ...] = ()
    """What a draft will cite, too: it is cited, and changes nothing else where it is there."""


class Mapper:
    """What is known of a collection's documents, ready to be mapped."""

    def __init__(self, catalogue: Catalogue, citations: Citations, nearness: Nearness) -> None:
        self._catalogue, self._citations, self._nearness = catalogue, citations, nearness

    def map(self, wanted: Wanted, k: int, *, of_draft: bool, notes: Iterable[str] = ()) -> Map:
        """The map of what is wanted and what goes with it, up to ``k`` documents."""
        roles = _as_cited(self._with_taken(self._roles(wanted, k), wanted, k), wanted)
        numbers = np.array(list(roles), np.int64)
        ties = self._citations.among(numbers)
        alike = self._alike(numbers)
        distances = _closer(np.clip(1 - alike, 0, 1), numbers, ties)
        groups = grouped(distances)
        nodes = self._nodes(roles, laid_out(distances), groups)
        edges = self._edges(numbers, ties, alike)
        told = self._groups(nodes)
        gaps = [row for row in told if not row["cited"]] if of_draft else []
        return Map(tuple(nodes), tuple(told), tuple(edges), tuple(gaps), tuple(notes))

    # --- Which documents ---

    def _roles(self, wanted: Wanted, k: int) -> dict[int, str]:
        """The documents of a map by number, each with its role."""
        roles: dict[int, str] = {}

        def take(numbers: Iterable[int], role: str, most: float) -> None:
            found = (number for number in dict.fromkeys(numbers) if number not in roles)
            there = self._catalogue.there
            new = [number for number in found if number not in wanted.never and there[number]]
            left = max(0, k - len(roles))
            roles.update(dict.fromkeys(new[: min(left, int(most))], role))

        take(wanted.centre, "centre", k)
        take(wanted.cited, "cited", k * _HALF)
        take(wanted.citing, "citing", k * _HALF / 2)
        take(wanted.recommended, "recommended", (k - len(roles)) * (1 - _TOGETHER))
        seeds = list(roles)
        take(self._together(seeds), "cited with", (k - len(roles)) * _TOGETHER)
        core = [*wanted.centre, *wanted.cited] or seeds
        take(self._nearness.like(core[:_SEEDS], k).docs.tolist(), "similar", k)
        return roles

    def _with_taken(self, roles: dict[int, str], wanted: Wanted, k: int) -> dict[int, str]:
        """What was taken stands where it was; if it was not there, in place of the least wanted."""
        there = self._catalogue.there
        new = [
            number
            for number in dict.fromkeys(wanted.taken)
            if number not in roles and number not in wanted.never and there[number]
        ][: int(k * _HALF)]
        kept = list(roles.items())[: max(0, k - len(new))]
        return {**dict(kept), **dict.fromkeys(new, "cited")}

    def _together(self, seeds: Iterable[int]) -> list[int]:
        """What is cited together with some documents, most often first."""
        counts: dict[int, int] = {}
        for seed in list(seeds)[:_SEEDS]:
            for row in self._citations.together(seed).head(_SEEDS).iter_rows(named=True):
                worth = 3 * row["sentences"] + 2 * row["paragraphs"] + row["papers"]
                counts[row["doc"]] = counts.get(row["doc"], 0) + worth
        return sorted(counts, key=lambda doc: (-counts[doc], doc))

    # --- Where they lie ---

    def _alike(self, numbers: Docs) -> Reals:
        """How like each other documents are, 0 to 1; where there are no vectors, not at all."""
        vectors = self._nearness.vectors
        if vectors is None:
            return np.eye(len(numbers))
        rows = vectors.decode(numbers).astype(np.float64)
        return np.clip(rows @ rows.T, 0, 1)

    def _nodes(
        self, roles: Mapping[int, str], places: Reals, groups: list[int]
    ) -> list[dict[str, Any]]:
        cards = self._catalogue.cards(list(roles))
        return [
            {
                "doc_id": card["doc_id"], "title": card["title"], "x": round(float(x), 4),
                "y": round(float(y), 4), "year": card["year"], "role": role, "group": group,
                "authors": tuple(card["authors"] or ()), "venue": card["venue"],
                "key": card["cite_key"], "citations": int(self._citations.counts[number]),
            }
            for card, (number, role), (x, y), group in zip(
                cards, roles.items(), places.tolist(), groups, strict=True
            )
        ]  # fmt: skip

    def _groups(self, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The groups: a label, where it stands, how many documents and how many of them cited."""
        own = [node["group"] for node in nodes]
        labels = labelled(self._catalogue.index, [node["title"] for node in nodes], own)
        rows = []
        for group, label in enumerate(labels):
            mine = [node for node in nodes if node["group"] == group]
            rows.append({
                "group": group, "label": label, "size": len(mine),
                "cited": sum(node["role"] == "cited" for node in mine),
                "x": round(float(np.mean([node["x"] for node in mine])), 4),
                "y": round(float(np.mean([node["y"] for node in mine])), 4),
                "doc_ids": tuple(node["doc_id"] for node in mine),
            })  # fmt: skip
        return rows

    def _edges(
        self, numbers: Docs, ties: list[tuple[int, int, str, float]], alike: Reals
    ) -> list[dict[str, Any]]:
        name = self._catalogue.index.ids
        found = [(name[a], name[b], kind, weight) for a, b, kind, weight in ties]
        near = {
            (min(place, other), max(place, other))
            for place, row in enumerate(alike - 2 * np.eye(len(alike)))
            for other in np.argsort(-row, kind="stable")[:_NEIGHBOURS].tolist()
            if row[other] >= _LEAST_ALIKE
        }
        found += [
            (name[int(numbers[a])], name[int(numbers[b])], "similar", round(float(alike[a, b]), 4))
            for a, b in sorted(near)
        ]
        columns = ("source", "target", "kind", "weight")
        return [dict(zip(columns, edge, strict=True)) for edge in found]


def _as_cited(roles: Mapping[int, str], wanted: Wanted) -> dict[int, str]:
    """What is cited is that, however it came onto the map."""
    cited = {*wanted.cited, *wanted.taken}.difference(wanted.centre)
    return {number: "cited" if number in cited else role for number, role in roles.items()}


_SEEDS = 30
"""So many documents are asked what goes with them."""


def _closer(distances: Reals, numbers: Docs, ties: list[tuple[int, int, str, float]]) -> Reals:
    """Distances, less where documents are tied."""
    place = {number: at for at, number in enumerate(numbers.tolist())}
    pairs = {(place[a], place[b]) for a, b, _, _ in ties}
    for a, b in {(min(pair), max(pair)) for pair in pairs}:
        distances[a, b] = distances[b, a] = distances[a, b] * _TIED
    np.fill_diagonal(distances, 0)
    return distances
