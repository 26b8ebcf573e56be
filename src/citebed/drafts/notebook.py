"""Read the Markdown cells of a Jupyter notebook as one text.

A position is a cell, counted from 1 among all cells, and a line in it: ``draft.ipynb#cell-3``.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from citebed.drafts.markdown import read_markdown
from citebed.drafts.parsed_draft import Block, Origin, ParsedDraft, without_places
from citebed.drafts.records import Place
from citebed.errors import CitebedError

_MAX_VALUES = 3_000_000
"""Limit for the number of JSON values in a file, since each takes memory."""
_DAMAGED = "open it in Jupyter and save it again"
_MOST_LEVEL = 6


class _Cell(NamedTuple):
    number: int
    text: str


def read_notebook(data: bytes, name: str, file: str, parsed: ParsedDraft) -> None:
    """Read a notebook into ``parsed``; raise ``CitebedError`` if it is damaged.

    ``file`` is the name of its file, or ``""``.
    """
    cells = _prose_cells(_cells(data, name))
    places = [(cell.number, line) for cell in cells for line in range(1, _lines(cell.text) + 2)]
    read_markdown("".join(f"{cell.text}\n\n" for cell in cells), parsed)
    parsed.blocks[:] = [_placed(block, places, file) for block in parsed.blocks]


def _cells(data: bytes, name: str) -> list[Any]:
    if sum(map(data.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise CitebedError(
            f"{name}: a notebook of more than {_MAX_VALUES:,} values; clear its outputs first"
        )
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CitebedError(f"{name}: a damaged notebook ({what}); {_DAMAGED}") from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    first = sheets[0] if isinstance(sheets, list) and sheets else notebook  # as before 2015
    cells = first.get("cells") if isinstance(first, dict) else None
    if not isinstance(cells, list):
        raise CitebedError(f"{name}: a notebook without a list of cells; {_DAMAGED}")
    return cells


def _prose_cells(cells: list[Any]) -> list[_Cell]:
    """Return Markdown cells, headings of old notebooks, and front matter in the first cell."""
    prose = []
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
            prose.append(_Cell(number, text))
    return prose


def _text(source: Any) -> str:
    """Return the source of a cell, which is stored as a text or as a list of lines."""
    parts = source if isinstance(source, list) else [source]
    text = "".join(part for part in parts if isinstance(part, str))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    return without_places(text.encode("utf-8", "replace").decode("utf-8"))


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _placed(block: Block, places: list[tuple[int, int]], file: str) -> Block:
    """Replace the positions of a block by positions in its cell."""
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
