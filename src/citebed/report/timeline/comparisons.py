"""Paired tests between systems over time, as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence

from citebed.report.evaluation.table import comparison_grid, comparison_notes
from citebed.report.grid import Grid
from citebed.timeline.scoring.uncertainty import StreamComparison
from citebed.wording import count


def stream_comparison_grid(found: Sequence[StreamComparison]) -> Grid:
    """A row a comparison, the weighting behind its measure; † where it is significant."""
    return comparison_grid([of.named for of in found])


def stream_comparison_notes(found: Sequence[StreamComparison], alpha: float) -> list[str]:
    """How the table was made, and what its columns say."""
    first = found[0]
    notes = comparison_notes(found, alpha)
    if first.units == "both":
        slices = count(
            first.slices, "slice with relevant documents", "slices with relevant documents"
        )
        notes.append(
            f"intervals and tests are over queries and slices, both drawn: {slices}; d and w/t/l "
            "are over queries"
        )
    return notes
