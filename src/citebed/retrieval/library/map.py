"""Maps: documents around a draft or a paper in two dimensions, with groups, ties and gaps."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any, ClassVar, NamedTuple

import numpy as np

from citebed.frames import MultiTableResult
from citebed.retrieval.library.catalogue import Catalogue
from citebed.retrieval.library.citations import Citations
from citebed.retrieval.library.layout import cluster, lay_out, name_clusters
from citebed.retrieval.library.similarity import SimilarityIndex
from citebed.wording import count, for_page

ROLES = ("centre", "cited", "citing", "recommended", "cited with", "similar")
"""Why a document is on a map: the map is around it; the draft or paper cites it; it cites the
paper; the draft should cite it; it is cited together with others; it is similar to them."""
EDGES = ("citation", "cited together", "similar")
_NEIGHBOURS, _MIN_SIMILARITY = 2, 0.35
"""Each document is tied to its most similar ones from this similarity on."""
_TIE_FACTOR = 0.8
"""Documents that cite each other or are cited together are closer by this factor."""
_CITED_SHARE, _TOGETHER_SHARE = 0.5, 0.4
"""Up to half of the documents are cited ones; of the rest, 40 % are cited together with others."""
_SEEDS = 30
"""Documents whose neighbours are looked up."""
_COLOURS = {
    "centre": "#b3261e", "cited": "#1b66c9", "citing": "#00796b", "recommended": "#c77700",
    "cited with": "#7b3fb5", "similar": "#6b7480",
}  # fmt: skip
_SIDES = {"cited": 4, "citing": 3, "cited with": 6}
"""Shapes: a square, a triangle, a hexagon; the others are circles."""
_MAX_LABEL = 120

Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Map(MultiTableResult):
    """Documents around a draft or a paper.

    ``nodes`` have places (``x``, ``y`` from 0 to 1), a ``role``, a ``group`` and the number of
    papers in the collection that cite them (``citations``). ``groups`` have a ``label``, a ``size``
    and the number of ``cited`` documents; ``edges`` connect ``source`` and ``target`` with a
    ``weight``. ``gaps`` are the groups from which a draft cites nothing, largest first.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("nodes", "groups", "edges", "gaps")
    MAIN: ClassVar[str] = "groups"

    nodes: Rows
    groups: Rows
    edges: Rows
    gaps: Rows
    notes: tuple[str, ...] = ()

    def rows(self, part: str = "nodes") -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        return list(getattr(self, part))

    @property
    def summary(self) -> str:
        """The numbers of documents, groups and gaps in a line."""
        gaps = f"; nothing cited of {count(len(self.gaps), 'group')}" if self.gaps else ""
        return f"{count(len(self.nodes), 'document')} in {count(len(self.groups), 'group')}{gaps}"

    def svg(self, width: int = 800, height: int = 560) -> str:
        """Return the map as a picture; titles appear when the mouse is over a node."""
        at = {node["doc_id"]: (node["x"] * width, node["y"] * height) for node in self.nodes}
        lines = "".join(
            f"<line x1='{at[e['source']][0]:.1f}' y1='{at[e['source']][1]:.1f}' "
            f"x2='{at[e['target']][0]:.1f}' y2='{at[e['target']][1]:.1f}'/>"
            for e in self.edges
            if e["kind"] != "similar"
        )
        marks = "".join(_draw_node(node, *at[node["doc_id"]]) for node in self.nodes)
        labels = "".join(
            f"<text x='{group['x'] * width:.1f}' y='{group['y'] * height:.1f}'>"
            f"{_escape(group['label'])}</text>"
            for group in self.groups
        )
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
            f"width='{width}' role='img' font-family='sans-serif' font-size='13'>"
            f"<g stroke='#8a94a0' stroke-opacity='0.4'>{lines}</g>{marks}"
            f"<g text-anchor='middle' fill='currentColor' paint-order='stroke'>{labels}</g></svg>"
        )

    def _repr_html_(self) -> str:
        return self.svg()


def _draw_node(node: Mapping[str, Any], x: float, y: float) -> str:
    year = f" ({node['year']})" if node["year"] else ""
    title = f"<title>{_escape((node['title'] or node['doc_id']) + year)}: {node['role']}</title>"
    colour = _COLOURS.get(node["role"], "#6b7480")
    sides = _SIDES.get(node["role"])
    if sides is None:
        radius = 9 if node["role"] == "centre" else 6
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='{colour}'>{title}</circle>"
    turn, radius = pi / 4 if sides == 4 else -pi / 2, 7
    angles = [turn + 2 * pi * corner / sides for corner in range(sides)]
    corners = ((x + radius * cos(angle), y + radius * sin(angle)) for angle in angles)
    points = " ".join(f"{dx:.1f},{dy:.1f}" for dx, dy in corners)
    return f"<polygon points='{points}' fill='{colour}'>{title}</polygon>"


def _escape(text: str) -> str:
    short = text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"
    return html.escape(for_page(short))


# --- Building -----------------------------------------------------------------------------------


class MapContents(NamedTuple):
    """The numbers of documents to map by role, the most important first.

    ``basket`` are documents that the draft will cite too; they have the role ``cited``.
    """

    centre: tuple[int, ...] = ()
    cited: tuple[int, ...] = ()
    citing: tuple[int, ...] = ()
    recommended: tuple[int, ...] = ()
    basket: tuple[int, ...] = ()
    excluded: frozenset[int] = frozenset()


def build_map(  # noqa: PLR0913 - the parts of a library, and what to map
    catalogue: Catalogue,
    citations: Citations,
    similarity: SimilarityIndex,
    contents: MapContents,
    k: int,
    *,
    of_draft: bool,
    notes: Iterable[str] = (),
) -> Map:
    """Return a map of up to ``k`` documents: the contents, and what belongs to them."""
    roles = _choose(catalogue, citations, similarity, contents, k)
    numbers = np.array(list(roles), np.int64)
    ties = citations.ties(numbers)
    vectors, similar = similarity.vectors, np.eye(len(numbers))
    if vectors is not None:
        rows = vectors.decode(numbers).astype(np.float64)
        similar = np.clip(rows @ rows.T, 0, 1)
    distances = np.clip(1 - similar, 0, 1)
    place = {number: at for at, number in enumerate(numbers.tolist())}
    pairs = {(place[a], place[b]) for a, b, _, _ in ties}
    for a, b in {(min(pair), max(pair)) for pair in pairs}:
        distances[a, b] = distances[b, a] = distances[a, b] * _TIE_FACTOR
    np.fill_diagonal(distances, 0)
    clusters = cluster(distances)
    nodes = tuple(
        {
            "doc_id": row["doc_id"], "title": row["title"], "x": round(float(x), 4),
            "y": round(float(y), 4), "year": row["year"], "role": role, "group": group,
            "authors": tuple(row["authors"] or ()), "venue": row["venue"],
            "key": row["cite_key"], "citations": int(citations.counts[number]),
        }
        for row, (number, role), (x, y), group in zip(
            catalogue.rows(list(roles)), roles.items(), lay_out(distances).tolist(),
            clusters, strict=True,
        )
    )  # fmt: skip
    labels = name_clusters(catalogue.index, [node["title"] for node in nodes], clusters)
    groups = []
    for group, label in enumerate(labels):
        mine = [node for node in nodes if node["group"] == group]
        groups.append({
            "group": group, "label": label, "size": len(mine),
            "cited": sum(node["role"] == "cited" for node in mine),
            "x": round(float(np.mean([node["x"] for node in mine])), 4),
            "y": round(float(np.mean([node["y"] for node in mine])), 4),
            "doc_ids": tuple(node["doc_id"] for node in mine),
        })  # fmt: skip
    ids = catalogue.index.ids
    edges = [(ids[a], ids[b], kind, weight) for a, b, kind, weight in ties]
    nearest = set[tuple[int, int]]()  # each document with its most similar ones
    for at, row in enumerate(similar - 2 * np.eye(len(similar))):
        others = np.argsort(-row, kind="stable")[:_NEIGHBOURS]
        found = others[row[others] >= _MIN_SIMILARITY].tolist()
        nearest.update((min(at, other), max(at, other)) for other in found)
    edges += [
        (ids[int(numbers[a])], ids[int(numbers[b])], "similar", round(float(similar[a, b]), 4))
        for a, b in sorted(nearest)
    ]
    names = ("source", "target", "kind", "weight")
    return Map(
        nodes, tuple(groups), tuple(dict(zip(names, edge, strict=True)) for edge in edges),
        tuple(row for row in groups if of_draft and not row["cited"]), tuple(notes),
    )  # fmt: skip


def _choose(
    catalogue: Catalogue,
    citations: Citations,
    similarity: SimilarityIndex,
    contents: MapContents,
    k: int,
) -> dict[int, str]:
    """Return the documents of a map by number, each with its role."""
    roles: dict[int, str] = {}
    present, excluded = catalogue.present, contents.excluded

    def new(numbers: Iterable[int]) -> list[int]:
        unused = (number for number in dict.fromkeys(numbers) if number not in roles)
        return [number for number in unused if number not in excluded and present[number]]

    def add(numbers: Iterable[int], role: str, most: float) -> None:
        left = max(0, k - len(roles))
        roles.update(dict.fromkeys(new(numbers)[: min(left, int(most))], role))

    add(contents.centre, "centre", k)
    add(contents.cited, "cited", k * _CITED_SHARE)
    add(contents.citing, "citing", k * _CITED_SHARE / 2)
    add(contents.recommended, "recommended", (k - len(roles)) * (1 - _TOGETHER_SHARE))
    seeds = list(roles)
    together: dict[int, int] = {}
    for seed in seeds[:_SEEDS]:
        for row in citations.together(seed).head(_SEEDS).iter_rows(named=True):
            worth = 3 * row["sentences"] + 2 * row["paragraphs"] + row["papers"]
            together[row["doc"]] = together.get(row["doc"], 0) + worth
    by_worth = sorted(together, key=lambda doc: (-together[doc], doc))
    add(by_worth, "cited with", (k - len(roles)) * _TOGETHER_SHARE)
    core = [*contents.centre, *contents.cited] or seeds
    add(similarity.find(core[:_SEEDS], k).docs.tolist(), "similar", k)
    # The basket keeps its places; documents that are not there replace the least important.
    basket = new(contents.basket)[: int(k * _CITED_SHARE)]
    chosen = dict(list(roles.items())[: max(0, k - len(basket))])
    chosen |= dict.fromkeys(basket, "cited")
    cited = {*contents.cited, *contents.basket}.difference(contents.centre)
    return {number: "cited" if number in cited else role for number, role in chosen.items()}
