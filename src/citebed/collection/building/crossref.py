"""BibTeX's ``crossref``: a paper that takes what it lacks from the entry of its proceedings."""

from __future__ import annotations

import re

import polars as pl

from citebed.collection.formats.bibtex import with_fields
from citebed.collection.formats.bibtex_names import write_names
from citebed.collection.tables import RECORD
from citebed.text.latex import text_to_latex

_INHERITED = (
    "editors",
    "year",
    "date",
    "venue",
    "volume",
    "number",
    "publisher",
    "url",
    "language",
)
_CROSSREF = re.compile(r",\s*crossref\s*=\s*(?:\{[^{}]*\}|\"[^\"]*\")", re.IGNORECASE)


def resolve(records: pl.DataFrame) -> pl.DataFrame:
    """The records with inherited fields filled in; the parent is looked for in the same file
    first. An entry whose parent is nowhere keeps what it has."""
    children = records.filter(pl.col("crossref").is_not_null())
    if children.is_empty():
        return records
    names = children["crossref"].str.to_lowercase().unique()
    parents: dict[str, dict[str, object]] = {}
    for row in records.filter(
        pl.col("doc_id").str.to_lowercase().is_in(names.to_list())
    ).to_dicts():
        name = str(row["doc_id"]).lower()
        parents.setdefault(name, row)
        parents.setdefault(f"{row['source']}\n{name}", row)
    rows = [_inherit(row, parents) for row in children.to_dicts()]
    numbered = records.with_row_index("row")
    filled = pl.DataFrame(rows, schema=dict(RECORD)).with_columns(
        numbered.filter(pl.col("crossref").is_not_null())["row"]
    )
    rest = numbered.filter(pl.col("crossref").is_null())
    together = pl.concat([rest.select("row", *RECORD), filled.select("row", *RECORD)])
    return together.sort("row").drop("row")


def _inherit(child: dict[str, object], parents: dict[str, dict[str, object]]) -> dict[str, object]:
    name = str(child["crossref"]).lower()
    parent = parents.get(f"{child['source']}\n{name}") or parents.get(name)
    if parent is None:
        return child
    title = parent["venue"] or parent["title"] if child["type"] == "article" else parent["title"]
    lent = {**parent, "venue": title}
    gaps = {field: lent[field] for field in _INHERITED if not child[field] and lent[field]}
    bibtex = child["bibtex"]
    if bibtex is not None:
        bibtex = with_fields(_CROSSREF.sub("", str(bibtex)), _raw(gaps, str(child["type"])))
    return {**child, **gaps, "crossref": None, "bibtex": bibtex}


def _raw(gaps: dict[str, object], kind: str) -> dict[str, str]:
    names = {"venue": "journal" if kind == "article" else "booktitle", "editors": "editor"}
    return {
        names.get(name, name): write_names(tuple(value))
        if isinstance(value, list)
        else text_to_latex(str(value))
        for name, value in gaps.items()
    }
