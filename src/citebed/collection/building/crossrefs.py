"""What a paper takes from the entry of its proceedings: BibTeX's ``crossref``."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from citebed.collection.formats.bibtex import with_fields, write_names
from citebed.files.limits import Allowance
from citebed.records import Problem
from citebed.text.latex import text_to_latex

Row = dict[str, object]
Parents = dict[str, Row]
"""Records by their ids in lower case, and by source and id."""

_INHERITED = (
    "editors", "year", "date", "venue", "volume", "number", "publisher", "url", "language",
)  # fmt: skip
LENDING = ("doc_id", "source", "title", *_INHERITED)
"""The columns of a parent that are looked at."""
_CROSSREF = re.compile(r",\s*crossref\s*=\s*(?:\{[^{}]*\}|\"[^\"]*\")", re.IGNORECASE)


def parents_of(records: Iterable[pl.DataFrame]) -> Parents:
    """The records that others may take from; the first of an id, in each file and in all."""
    parents: Parents = {}
    for part in records:
        for row in part.select(LENDING).iter_rows(named=True):
            name = str(row["doc_id"]).lower()
            parents.setdefault(name, row)
            parents.setdefault(f"{row['source']}\n{name}", row)
    return parents


def with_crossrefs(
    records: pl.DataFrame, parents: Parents
) -> tuple[pl.DataFrame, list[tuple[str, Problem]]]:
    """The records with what BibTeX's ``crossref`` lends them filled in, and what there is to say,
    by source.

    The parent is looked for in the same file first. An entry whose parent is nowhere keeps what
    it has, and so does one that would take more than a text of this size may borrow.
    """
    if records["crossref"].null_count() == records.height:
        return records, []
    numbered = records.with_row_index("row")
    children = numbered.drop_nulls("crossref")
    allowance, told = Allowance(int(records.estimated_size())), list[tuple[str, Problem]]()
    rows = [_inherit(row, parents, allowance, told) for row in children.iter_rows(named=True)]
    filled = pl.DataFrame(rows, schema=numbered.schema)
    rest = numbered.filter(pl.col("crossref").is_null())
    return pl.concat([rest, filled]).sort("row").drop("row"), told


def _inherit(
    child: Row, parents: Parents, allowance: Allowance, told: list[tuple[str, Problem]]
) -> Row:
    name = str(child["crossref"]).lower()
    parent = parents.get(f"{child['source']}\n{name}") or parents.get(name)
    if parent is None:
        return child
    title = parent["venue"] or parent["title"] if child["type"] == "article" else parent["title"]
    lent = {**parent, "venue": title}
    gaps = {field: lent[field] for field in _INHERITED if not child[field] and lent[field]}
    if not allowance.covers(sum(map(_length, gaps.values()))):
        what = f"crossref '{child['crossref']}' lends more than a file of this size may borrow"
        place = (
            str(child["source"]),
            Problem(int(str(child["line"])), f"{what}; left out", "mended"),
        )
        told.append(place)
        return {**child, "crossref": None}
    bibtex = child["bibtex"]
    if bibtex is not None:
        bibtex = with_fields(_CROSSREF.sub("", str(bibtex)), _raw(gaps, str(child["type"])))
    return {**child, **gaps, "crossref": None, "bibtex": bibtex}


def _length(value: object) -> int:
    return sum(map(len, value)) if isinstance(value, list) else len(str(value))


def _raw(gaps: Row, kind: str) -> dict[str, str]:
    names = {"venue": "journal" if kind == "article" else "booktitle", "editors": "editor"}
    return {
        names.get(name, name): write_names(tuple(value))
        if isinstance(value, list)
        else text_to_latex(str(value))
        for name, value in gaps.items()
    }
