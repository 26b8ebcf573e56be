"""Report on a contrast of two judgement sets, as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citebed.evaluation.contrasts.contrast import Contrast
from citebed.report.contrast.figures import contrast_pictures
from citebed.report.contrast.table import (
    MOVERS,
    contrast_tables,
    extremes_lines,
    largest_moves,
)
from citebed.report.html.inline_svg import Figure, figure_of
from citebed.report.html.page import render
from citebed.report.tables import Table, build_table
from citebed.wording import count

_PARTS = {
    "judgements": ("judgements",),
    "changes": ("changes", "summary"),
    "correlations": ("correlations",),
    "conclusions": ("conclusions",),
}
_MOST_MOVES = 6
_STYLE = ".plots { grid-template-columns: minmax(0, 1fr); }\n"
"""Rows of panels need the full width."""
_HEADINGS = {
    "judgements": "The two sets",
    "changes": "What changes",
    "correlations": "Is the order the same?",
    "conclusions": "What becomes of the differences between runs",
    "movers": "Queries that move most",
    "ledger": "What to know of it",
}


def contrast_page(
    contrast: Contrast, command: str, title: str = "", back: tuple[str, str] | None = None
) -> str:
    """Return the page as self-contained HTML."""
    tables = {name: _tables(contrast, parts) for name, parts in _PARTS.items()}
    tables["movers"] = _movers(contrast)
    wanted = {name: heading for name, heading in _HEADINGS.items() if tables.get(name, True)}
    first, second = contrast.sets.before.name, contrast.sets.after.name
    runs = count(len(contrast.before.runs), "run")
    notes = [f"{note[:1].upper()}{note[1:]}." for note in contrast.notes()]
    judged = f"{count(len(contrast.sets.query_ids), 'query')} judged in both sets; {runs}."
    return render(
        "contrast.html.j2", wanted, ("tables.js",), command=command, back=back,
        title=title or f"{first} and {second}: {runs}", libraries=("numpy", "polars", "scipy"),
        more_style=_STYLE, tables=tables, pictures=_pictures(contrast),
        moved=extremes_lines(contrast), notes=[judged, *notes], first=first, second=second,
    )  # fmt: skip


def _tables(contrast: Contrast, parts: Sequence[str]) -> list[Table]:
    return [table for part in parts for table in contrast_tables(contrast, part)]


def _movers(contrast: Contrast) -> list[Table]:
    moved = largest_moves(contrast.movers, _MOST_MOVES)
    columns = (*MOVERS[:-1], replace(MOVERS[-1], head="how"))
    return [build_table(columns, moved, "The largest moves under each measure")] if moved else []


def _pictures(contrast: Contrast) -> list[Figure]:
    first, second = contrast.sets.before.name, contrast.sets.after.name
    return [
        figure_of(svg, f"picture{at}", f"{name} under {first} and under {second}", name, name)
        for at, (name, svg) in enumerate(contrast_pictures(contrast))
    ]
