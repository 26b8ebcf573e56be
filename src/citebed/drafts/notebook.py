"""Jupyter notebooks to blocks of prose: their Markdown cells, read as one text.

A place is the cell, counted from 1 with all cells, and the line in it: ``draft.ipynb#cell-3``.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from citebed.drafts.findings import Block, Findings, Origin, without_places
from citebed.drafts.markdown import read_markdown
from citebed.drafts.records import Place
from citebed.errors import CitebedError

_MOST_VALUES = 3_000_000
"""More values in a file than this are not read: each takes memory, however short it is."""
_DAMAGED = "open it in Jupyter and save it anew"
_MOST_LEVEL = 6


class _Cell(NamedTuple):
    number: int
    text: str


def read_notebook(data: bytes, name: str, file: str, findings: Findings) -> None:
    """Read a notebook into ``findings``; raises ``CitebedError`` for what is none.

    ``file`` is the name of the file itself, ``""`` where there is none.
    """
    cells = _prose_cells(_cells(data, name))
    places = [(cell.number, line) for cell in cells for line in range(1, _lines(cell.text) + 2)]
    read_markdown("".join(f"{cell.text}\n\n" for cell in cells), findings)
    findings.blocks[:] = [_placed(block, places, file) for block in findings.blocks]


def _cells(data: bytes, name: str) -> list[Any]:
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise CitebedError(
            f"{name}: a notebook of more than {_MOST_VALUES:,} values; clear its outputs first"
        )
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        what = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise CitebedError(f"{name}: a notebook that is broken ({what}); {_DAMAGED}") from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    first = sheets[0] if isinstance(sheets, list) and sheets else notebook  # as before 2015
    cells = first.get("cells") if isinstance(first, dict) else None
    if not isinstance(cells, list):
        raise CitebedError(f"{name}: a notebook without a list of cells; {_DAMAGED}")
    return cells


def _prose_cells(cells: list[Any]) -> list[_Cell]:
    """Markdown, headings of old notebooks, and a head with fields (``---``) in the first cell."""
    found = []
    for number, cell in enumerate(cells, start=1):
        kind = cell.get("cell_type") if isinstance(cell, dict) else None
        text = _text(cell.get("source")) if kind in ("markdown", "heading", "raw") else ""
        if kind == "heading":
            level = cell.get("level")
            marks = min(level, _MOST_LEVEL) if isinstance(level, int) and level > 0 else 1
            text = f"{'#' * marks} {' '.join(text.split())}"
        elif kind == "raw" and (number > 1 or not text.startswith("---\n")):
            text = ""
        if text.strip():
            found.append(_Cell(number, text))
    return found


def _text(source: Any) -> str:
    """The source of a cell, which is a text or a list of its lines."""
    parts = source if isinstance(source, list) else [source]
    text = "".join(part for part in parts if isinstance(part, str))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    return without_places(text.encode("utf-8", "replace").decode("utf-8"))


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _placed(block: Block, places: list[tuple[int, int]], file: str) -> Block:
    """A block whose lines are those of its cell."""
    origins = [
        Origin(origin.at, _place(origin.place, places, file), origin.exact)
        for origin in block.raw.origins
    ]
    return block._replace(raw=block.raw._replace(origins=origins))


def _place(place: Place, places: list[tuple[int, int]], file: str) -> Place:
    if not places:
        return place
    cell, line = places[min(place.line, len(places)) - 1]
    return Place(f"{file}#cell-{cell}", line, place.column)
