"""Draw the packages of citebed from its imports: their subpackages, and who imports whom.

A package is drawn below all that import it. Arrows that follow from others are omitted: if cli
imports report and report imports runs, there is no arrow from cli to runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

import grimp

ROOT = "citebed"
BASE = "base"
"""One box for the modules of the root package that import no package."""
ROW, BOX = 118, 66
LETTER, PAD, GAP = 7.0, 16, 26

Edges = dict[str, set[str]]


def package_picture() -> str:
    """The picture as SVG."""
    graph = grimp.build_graph(ROOT)
    packages = _packages(graph)
    return _svg(packages, _edges(graph, packages))


def _packages(graph: grimp.ImportGraph) -> dict[str, list[str]]:
    """The subpackages of each package by its name; for the base, its modules."""
    packages: dict[str, list[str]] = {}
    for module in sorted(graph.find_children(ROOT)):
        name = module.rpartition(".")[2]
        if name.startswith("_"):
            continue
        children = sorted(graph.find_children(module))
        imported = {_top(other) for other in graph.find_upstream_modules(module)} - {name}
        if children or any(graph.find_children(f"{ROOT}.{other}") for other in imported):
            subpackages = [child for child in children if graph.find_children(child)]
            packages[name] = [child.rpartition(".")[2] for child in subpackages]
        else:
            packages.setdefault(BASE, []).append(name)
    return packages


def _edges(graph: grimp.ImportGraph, packages: dict[str, list[str]]) -> Edges:
    found: Edges = {package: set() for package in packages}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            one, other = _package_of(importer, packages), _package_of(imported, packages)
            if one and other and one != other:
                found[one].add(other)
    return {
        package: {other for other in below if not _follows(other, below, found)}
        for package, below in found.items()
    }


def _top(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _package_of(module: str, packages: dict[str, list[str]]) -> str:
    name = _top(module)
    return name if name in packages else BASE if name in packages[BASE] else ""


def _follows(package: str, below: set[str], edges: Edges) -> bool:
    return any(other != package and package in _reached(other, edges) for other in below)


def _reached(package: str, edges: Edges) -> set[str]:
    seen, waiting = set[str](), [package]
    while waiting:
        new = edges[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def _levels(edges: Edges) -> list[list[str]]:
    """Packages by the length of their longest chain of imports, the lowest first."""
    height: dict[str, int] = {}

    def measure(package: str) -> int:
        if package not in height:
            height[package] = 1 + max(map(measure, sorted(edges[package])), default=-1)
        return height[package]

    top = max(map(measure, edges))
    return [sorted(name for name in edges if height[name] == at) for at in range(top + 1)]


def _svg(packages: dict[str, list[str]], edges: Edges) -> str:
    levels = _levels(edges)[::-1]
    wide = round(max(_row_width(names, packages) for names in levels)) + 2 * GAP
    boxes = dict(_boxes(levels, packages, wide))
    tall = ROW * len(levels)
    lines = [_arrow(boxes[a], boxes[b]) for a in sorted(edges) for b in sorted(edges[a])]
    drawn = [_box(name, packages[name], *boxes[name]) for name in sorted(boxes)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" '
            'font-family="DejaVu Sans, sans-serif">',
            "<title>The packages of citebed; arrows lead from importer to imported</title>",
            f'<rect width="{wide}" height="{tall}" fill="#ffffff"/>',
            *lines,
            *drawn,
            "</svg>\n",
        ]
    )


def _boxes(
    levels: list[list[str]], packages: dict[str, list[str]], wide: int
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """The box of each package: left, top and width."""
    for row, names in enumerate(levels):
        widths = [_width(packages[name], name) for name in names]
        left = (wide - _row_width(names, packages)) / 2
        for name, width in zip(names, widths, strict=True):
            yield name, (left, row * ROW + 20, width)
            left += width + GAP


def _row_width(names: list[str], packages: dict[str, list[str]]) -> float:
    return sum(_width(packages[name], name) + GAP for name in names) - GAP


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
    picture = Path(__file__).resolve().parent / "figures" / "packages.svg"
    picture.write_text(package_picture(), "utf-8")
