"""What documents can be chosen by: the venues, types and years that a collection has."""

from __future__ import annotations

from typing import Any

import polars as pl

from citebed.text.sentences import split_sentences

MOST = 500
"""So many values are offered, those of most documents first; any other can be typed."""


def choices(documents: pl.LazyFrame) -> dict[str, Any]:
    """Values to offer for a filter: ``venues`` and ``types``, each with how many documents have it,
    and the first and last of ``years``, if any is known."""
    years, *counted = pl.collect_all(
        [
            documents.select(first=pl.col("year").min(), last=pl.col("year").max()),
            *(_counted(documents, column) for column in ("venue", "type")),
        ]
    )
    found = [{"name": name, "documents": number} for name, number in counted[0].rows()]
    types = [{"name": name, "documents": number} for name, number in counted[1].rows()]
    return {"venues": found, "types": types, "years": list(years.row(0))}


_LOOKED_AT, _EXAMPLE = 500, (60, 350)
"""Documents whose abstracts are tried, and the fewest and most characters of an example."""


def example_passage(documents: pl.LazyFrame) -> str:
    """Return a passage on a subject of these documents, to try recommending with: the first
    sentences of an abstract. Return an empty text if the first documents have no suitable one."""
    piece = documents.select("abstract").head(_LOOKED_AT).collect()
    shortest, longest = _EXAMPLE
    for abstract in filter(None, piece["abstract"]):
        passage = ""
        for sentence in split_sentences(abstract)[:3]:
            if len(passage) + len(sentence) >= longest:
                break
            passage = f"{passage} {sentence}".strip()
        if len(passage) >= shortest:
            return passage
    return ""


def _counted(documents: pl.LazyFrame, column: str) -> pl.LazyFrame:
    values = documents.select(name=column).filter(pl.col("name").fill_null("") != "")
    counted = values.group_by("name").len("documents")
    return counted.sort(["documents", "name"], descending=[True, False]).head(MOST)
