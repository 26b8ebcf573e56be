"""A map as a picture for notebooks: shapes and colours tell why a document is there."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from citebed.wording import for_page

Rows = Sequence[Mapping[str, Any]]
_COLOURS = {
    "centre": "#b3261e", "cited": "#1b66c9", "citing": "#00796b", "recommended": "#c77700",
    "cited with": "#7b3fb5", "similar": "#6b7480",
}  # fmt: skip
_SIDES = {"cited": 4, "citing": 3, "cited with": 6}
"""Shapes: a square, a triangle, a hexagon; the rest are circles."""
_LONGEST = 120


def map_svg(nodes: Rows, groups: Rows, edges: Rows, size: tuple[int, int]) -> str:
    """Nodes with their titles on hovering, edges, and the labels of groups."""
    width, height = size
    at = {node["doc_id"]: (node["x"] * width, node["y"] * height) for node in nodes}
    lines = "".join(
        f"<line x1='{at[e['source']][0]:.1f}' y1='{at[e['source']][1]:.1f}' "
        f"x2='{at[e['target']][0]:.1f}' y2='{at[e['target']][1]:.1f}'/>"
        for e in edges
        if e["kind"] != "similar"
    )
    marks = "".join(_mark(node, *at[node["doc_id"]]) for node in nodes)
    labels = "".join(
        f"<text x='{group['x'] * width:.1f}' y='{group['y'] * height:.1f}'>"
        f"{_text(group['label'])}</text>"
        for group in groups
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
        f"role='img' font-family='sans-serif' font-size='13'>"
        f"<g stroke='#8a94a0' stroke-opacity='0.4'>{lines}</g>{marks}"
        f"<g text-anchor='middle' fill='currentColor' paint-order='stroke'>{labels}</g></svg>"
    )


def _mark(node: Mapping[str, Any], x: float, y: float) -> str:
    year = f" ({node['year']})" if node["year"] else ""
    title = f"<title>{_text((node['title'] or node['doc_id']) + year)}: {node['role']}</title>"
    colour = _COLOURS.get(node["role"], "#6b7480")
    sides = _SIDES.get(node["role"])
    if sides is None:
        radius = 9 if node["role"] == "centre" else 6
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='{colour}'>{title}</circle>"
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in _polygon(sides, 7))
    return f"<polygon points='{points}' fill='{colour}'>{title}</polygon>"


def _polygon(sides: int, radius: float) -> list[tuple[float, float]]:
    from math import cos, pi, sin

    turn = pi / 4 if sides == 4 else -pi / 2
    angles = (turn + 2 * pi * each / sides for each in range(sides))
    return [(radius * cos(angle), radius * sin(angle)) for angle in angles]


def _text(text: str) -> str:
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return html.escape(for_page(short))
