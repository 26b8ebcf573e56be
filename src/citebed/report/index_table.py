"""An index in numbers, as a table for a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from citebed.retrieval.index.statistics import FREQUENT, IndexStatistics


def index_table(found: IndexStatistics) -> Table:
    """The index: each field, and all of the documents' own text."""
    state = "" if found.current else ", the collection has changed since"
    title = f"Index ({found.analyser}, {found.bytes / 1e6:.1f} MB{state})"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("field")
    for name in ("documents", "tokens", "unique terms", f"in > {FREQUENT:,} documents"):
        table.add_column(name, justify="right")
    for field in found.fields:
        numbers = (field.documents, field.tokens, field.terms)
        table.add_row(field.name, *(f"{number:,}" for number in numbers), "")
    own = (found.documents, found.tokens, found.terms, found.frequent)
    label = "all but citing" if any(f.name == "citing" for f in found.fields) else "all"
    table.add_row(label, *(f"{number:,}" for number in own))
    return table
