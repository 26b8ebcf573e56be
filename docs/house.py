"""Draws the house from its imports: rooms, the folders in each, and who imports whom.

A room stands below all that import it. Of the arrows those are left out that others make plain:
where cli imports report and report imports runs, none is drawn from cli to runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

import grimp

ROOT = "citebed"
BASE = "base"
"""Modules of the root package that stand in no folder: what everyone talks about."""
WIDTH, ROW, BOX = 700, 118, 66
LETTER, PAD, GAP = 7.0, 16, 26

Edges = dict[str, set[str]]


def draw_house(path: Path) -> None:
    """Write the picture as SVG."""
    graph = grimp.build_graph(ROOT)
    rooms = _rooms(graph)
    edges = _edges(graph, rooms)
    path.write_text(_svg(rooms, edges), "utf-8")


def _rooms(graph: grimp.ImportGraph) -> dict[str, list[str]]:
    """The folders inside each room, by the room's name; those of the base are its modules."""
    rooms: dict[str, list[str]] = {}
    for module in sorted(graph.find_children(ROOT)):
        name = module.rpartition(".")[2]
        children = sorted(graph.find_children(module))
        if children:
            packed = [child for child in children if graph.find_children(child)]
            rooms[name] = [child.rpartition(".")[2] for child in packed]
        elif not name.startswith("_") and name != "workbench":
            rooms.setdefault(BASE, []).append(name)
    return rooms


def _edges(graph: grimp.ImportGraph, rooms: dict[str, list[str]]) -> Edges:
    found: Edges = {room: set() for room in rooms}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            one, other = _room_of(importer, rooms), _room_of(imported, rooms)
            if one and other and one != other:
                found[one].add(other)
    return {
        room: {other for other in below if not _by_others(other, below, found)}
        for room, below in found.items()
    }


def _room_of(module: str, rooms: dict[str, list[str]]) -> str:
    name = module.split(".")[1] if "." in module else ""
    return name if name in rooms else BASE if name in rooms[BASE] else ""


def _by_others(room: str, below: set[str], edges: Edges) -> bool:
    return any(other != room and room in _reached(other, edges) for other in below)


def _reached(room: str, edges: Edges) -> set[str]:
    seen, waiting = set[str](), [room]
    while waiting:
        new = edges[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def _levels(edges: Edges) -> list[list[str]]:
    """Rooms by how long the longest way down from them is, the lowest first."""
    height: dict[str, int] = {}

    def measure(room: str) -> int:
        if room not in height:
            height[room] = 1 + max(map(measure, sorted(edges[room])), default=-1)
        return height[room]

    top = max(map(measure, edges))
    return [sorted(room for room in edges if height[room] == at) for at in range(top + 1)]


def _svg(rooms: dict[str, list[str]], edges: Edges) -> str:
    levels = _levels(edges)[::-1]
    boxes = dict(_boxes(levels, rooms))
    tall = ROW * len(levels)
    lines = [_arrow(boxes[a], boxes[b]) for a in sorted(edges) for b in sorted(edges[a])]
    drawn = [_box(room, rooms[room], *boxes[room]) for room in sorted(boxes)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" '
            'font-family="DejaVu Sans, sans-serif">',
            "<title>The rooms of citebed, and who imports whom: downward only</title>",
            f'<rect width="{WIDTH}" height="{tall}" fill="#ffffff"/>',
            *lines,
            *drawn,
            "</svg>\n",
        ]
    )


def _boxes(
    levels: list[list[str]], rooms: dict[str, list[str]]
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Where each room's box is: left, top and width."""
    for row, names in enumerate(levels):
        widths = [_width(rooms[name], name) for name in names]
        left = (WIDTH - sum(widths) - GAP * (len(widths) - 1)) / 2
        for name, width in zip(names, widths, strict=True):
            yield name, (left, row * ROW + 20, width)
            left += width + GAP


def _folder_lines(folders: list[str]) -> list[str]:
    half = (len(folders) + 1) // 2
    split = [folders] if len(" ".join(folders)) < 40 else [folders[:half], folders[half:]]
    return ["  ".join(part) for part in split if part]


def _width(folders: list[str], name: str) -> float:
    longest = max([len(name) * 1.4, *map(len, _folder_lines(folders))])
    return round(longest * LETTER + 2 * PAD)


def _box(name: str, folders: list[str], left: float, top: float, width: float) -> str:
    middle = left + width / 2
    texts = [
        f'<text x="{middle:g}" y="{top + 40 + 15 * at:g}" font-size="11" fill="#56606b" '
        f'text-anchor="middle">{escape(line)}</text>'
        for at, line in enumerate(_folder_lines(folders))
    ]
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{BOX}" rx="6" fill="#f2f5f8" '
        'stroke="#27415f"/>'
        f'<text x="{middle:g}" y="{top + 21:g}" font-size="15" font-weight="bold" fill="#1d2329" '
        f'text-anchor="middle">{escape(name)}</text>{"".join(texts)}'
    )


def _arrow(upper: tuple[float, float, float], lower: tuple[float, float, float]) -> str:
    start, end = upper[0] + upper[2] / 2, lower[0] + lower[2] / 2
    top, foot = upper[1] + BOX, lower[1]
    bend = (foot - top) / 2
    return (
        f'<path d="M{start:g} {top:g}C{start:g} {top + bend:g} {end:g} {foot - bend:g} '
        f'{end:g} {foot - 7:g}" fill="none" stroke="#9aa6b3" stroke-width="1.4"/>'
        f'<path d="M{end - 4:g} {foot - 8:g}L{end + 4:g} {foot - 8:g}L{end:g} {foot:g}Z" '
        'fill="#56606b"/>'
    )


if __name__ == "__main__":
    draw_house(Path(__file__).resolve().parent / "figures" / "house.svg")
