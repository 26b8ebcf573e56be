"""Merge several records into one document: take the richest and fill its gaps from the others.

This module also fills in what BibTeX's ``crossref`` lends an entry, and chooses citation keys: the
earlier one of a document, or a new one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.collection.building.records import Keys, Parts
from citebed.collection.formats.bibtex_writer import (
    format_names,
    insert_fields,
    parse_document,
    parse_fields,
    write_entry,
)
from citebed.collection.names import KEY_COLUMNS, assign_cite_keys, bib_key, generate_keys
from citebed.collection.tables import (
    DOCUMENTS,
    RECORD,
    empty_table,
    read_ipc,
    row_to_document,
    write_ipc,
)
from citebed.files.limits import Allowance
from citebed.records import Problem
from citebed.text.latex import text_to_latex

_RICH = (
    "authors", "editors", "year", "date", "venue", "volume", "number", "pages", "publisher",
    "doi", "arxiv", "url", "abstract", "keywords", "language",
)  # fmt: skip
"""The fields that decide which record is the richest."""
FILLED = (*_RICH, "place", "edition", "isbn")
_OPENING = r"^\s*@\s*[^\s{(]+\s*[{(][^,]*"
_BEST = [name for name in RECORD if name not in ("doc_id", "keys", "groups")]
_NUMBERED = {"row": pl.UInt32(), "identity": pl.UInt64(), "doubtful": pl.Boolean()}

Row = Mapping[str, Any]


class Bucket(NamedTuple):
    """Records on disk to be merged into documents under ``folder``.

    A bucket has all records of its documents. It writes one file for each ``span`` of rows, by the
    rows of first records.
    """

    number: int
    files: list[Path]
    folder: Path
    span: int


def combine_bucket(bucket: Bucket) -> list[tuple[int, Path]]:
    """Make the documents of a bucket; return the number of each span and its file."""
    records = pl.concat([read_ipc(path) for path in bucket.files], rechunk=False)
    made = combine(records).with_columns(span=pl.col("row") // bucket.span)
    items = []
    for part in made.partition_by("span", maintain_order=True):
        number = int(part["span"][0])
        path = bucket.folder / f"made-{number}-{bucket.number}.arrow"
        write_ipc(path, part.drop("span"))
        items.append((number, path))
    return items


def combine(records: pl.DataFrame) -> pl.DataFrame:
    """Merge records into documents; the records also have ``row``, ``identity`` and ``doubtful``.

    A document has the id and the row of its first record. Records that differ only in their key,
    such as copies of a bibliography, count once.
    """
    records = records.sort("row").rechunk()
    # Hash the contents without the keys.
    lists = [name for name in FILLED if RECORD[name] == pl.List(pl.String())]
    texts = [pl.col(name) for name in ("type", "title", *FILLED) if name not in lists]
    joined = [pl.col(name).list.join("\x1f") for name in lists]
    body = pl.col("bibtex").str.replace(_OPENING, "")
    parts = [part.hash(seed=number) for number, part in enumerate((*texts, *joined, body))]
    distinct = records.with_columns(
        content=pl.struct(part.alias(str(at)) for at, part in enumerate(parts)).hash(seed=0)
    ).unique(["identity", "content"], keep="first", maintain_order=True)
    alone = pl.len().over("identity") == 1
    several = distinct.filter(~alone).sort("identity", maintain_order=True).iter_rows(named=True)
    groups = itertools.groupby(several, key=itemgetter("identity"))
    made = [_made_of(list(group)) for _, group in groups]
    columns = {"identity": pl.UInt64(), **{name: RECORD[name] for name in _BEST}}
    best = pl.concat([distinct.filter(alone).select(list(columns)), pl.DataFrame(made, columns)])
    every = pl.col("keys").explode(empty_as_null=False)
    grouped = records.group_by("identity", maintain_order=True).agg(
        pl.col("row", "doc_id").first(),
        keys=every.unique(maintain_order=True),
        groups=pl.col("groups").explode(empty_as_null=False).unique(maintain_order=True),
        names=pl.col("doc_id").append(every),
        records=pl.len().cast(pl.Int32),
        doubtful=pl.col("doubtful").any(),
    )
    documents = (
        with_aliases(grouped)
        .with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in ("read_as", "cite_key"))
        .with_columns(doubtful=doubtful_fields(pl.col("doubtful")))
    ).join(best, on="identity", maintain_order="left")
    return documents.select(*DOCUMENTS, "row")


def doubtful_fields(doi: pl.Expr) -> pl.Expr:
    none = pl.lit([], dtype=pl.List(pl.String))
    return pl.when(doi).then(pl.lit(["doi"], dtype=pl.List(pl.String))).otherwise(none)


def with_aliases(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the documents with ``aliases``: their ``names`` except for the id."""
    names = documents.select("row", "doc_id", aliases="names").explode("aliases")
    others = names.filter((pl.col("aliases") != pl.col("doc_id")) & (pl.col("aliases") != ""))
    lists = others.group_by("row", maintain_order=True).agg(
        pl.col("aliases").unique(maintain_order=True)
    )
    none = pl.lit([], dtype=pl.List(pl.String))
    return (
        documents.drop("names")
        .join(lists, on="row", how="left", maintain_order="left")
        .with_columns(pl.col("aliases").fill_null(none))
    )


def _made_of(members: list[Row]) -> dict[str, Any]:
    """Return the richest record, with its gaps filled from the others."""
    ranked = sorted(members, key=_richness, reverse=True)
    best = dict(ranked[0])
    for other in ranked[1:]:
        best.update({name: other[name] for name in FILLED if not best[name] and other[name]})
    if best["bibtex"] is not None and (missing := _missing(best["bibtex"], ranked[1:])):
        best["bibtex"] = insert_fields(best["bibtex"], missing)
        # Users paste and export the entry, so the fields must match it.
        read = parse_document(best["bibtex"])._asdict()
        best.update({name: read[name] for name in FILLED if read[name]})
    return {name: best[name] for name in ("identity", *_BEST)}


def _richness(record: Row) -> tuple[int, int, int]:
    filled = sum(bool(record[name]) for name in _RICH)
    return filled, len(record["abstract"] or ""), len(record["bibtex"] or "")


def _missing(bibtex: str, others: Iterable[Row]) -> dict[str, str]:
    """Return the fields that only the entries of the others have."""
    mine, missing = parse_fields(bibtex), dict[str, str]()
    for other in others:
        theirs = parse_fields(other["bibtex"] or write_entry(row_to_document(other)))
        for name, value in theirs.items():
            if name not in mine and name != "crossref":
                missing.setdefault(name, value)
    return missing


# --- Taken from proceedings -------------------------------------------------------------------


Parents = dict[str, Row]
"""Records by their lower-case ids, and by source and id."""

_INHERITED = (
    "editors", "year", "date", "venue", "volume", "number", "publisher", "url", "language",
)  # fmt: skip
LENDING = ("doc_id", "source", "line", "title", *_INHERITED)
"""The columns of a parent that children read."""
_CROSSREF = re.compile(r",\s*crossref\s*=\s*(?:\{[^{}]*\}|\"[^\"]*\")", re.IGNORECASE)


def parents_of(records: Iterable[pl.DataFrame]) -> Parents:
    """Return the records that others may inherit from: the first with an id, in each file and
    overall.

    The first is the first by file name and line, in whatever order the files were read.
    """
    parents: Parents = {}
    rows = (row for part in records for row in part.select(LENDING).iter_rows(named=True))
    for row in sorted(rows, key=itemgetter("source", "line")):
        name = str(row["doc_id"]).lower()
        parents.setdefault(name, row)
        parents.setdefault(f"{row['source']}\n{name}", row)
    return parents


def with_crossrefs(
    records: pl.DataFrame, parents: Parents
) -> tuple[pl.DataFrame, list[tuple[str, Problem]]]:
    """Return the records with the fields that BibTeX's ``crossref`` lends, and the problems by
    source.

    A parent in the same file comes first. An entry stays as it is if its parent is missing, or if
    it would inherit more text than the limit for this many records.
    """
    if records["crossref"].null_count() == records.height:
        return records, []
    numbered = records.with_row_index("row")
    children = numbered.drop_nulls("crossref")
    allowance, problems = Allowance(int(records.estimated_size())), list[tuple[str, Problem]]()
    rows = [_inherit(row, parents, allowance, problems) for row in children.iter_rows(named=True)]
    filled = pl.DataFrame(rows, schema=numbered.schema)
    rest = numbered.filter(pl.col("crossref").is_null())
    return pl.concat([rest, filled]).sort("row").drop("row"), problems


def _inherit(
    child: Row, parents: Parents, allowance: Allowance, problems: list[tuple[str, Problem]]
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
        problems.append(place)
        return {**child, "crossref": None}
    bibtex = child["bibtex"]
    if bibtex is not None:
        bibtex = insert_fields(_CROSSREF.sub("", str(bibtex)), _raw(gaps, str(child["type"])))
    return {**child, **gaps, "crossref": None, "bibtex": bibtex}


def _length(value: object) -> int:
    return sum(map(len, value)) if isinstance(value, list) else len(str(value))


def _raw(gaps: Row, kind: str) -> dict[str, str]:
    names = {"venue": "journal" if kind == "article" else "booktitle", "editors": "editor"}
    return {
        names.get(name, name): format_names(tuple(value))
        if isinstance(value, list)
        else text_to_latex(str(value))
        for name, value in gaps.items()
    }


# --- Cite keys --------------------------------------------------------------------------------


EARLIER_COLUMNS = {name: DOCUMENTS[name] for name in ("doc_id", "doi", "title", "year", "cite_key")}
"""The columns of earlier documents that `with_cite_keys` reads."""
SAME = (("doc_id", "title"), ("doc_id", "doi"), ("doi",), ("title", "year"))
"""Columns that identify a document of an earlier import, most reliable first: ids and records may
have changed."""


def with_cite_keys(
    table: pl.DataFrame, parts: Parts, before: Iterable[pl.DataFrame]
) -> pl.DataFrame:
    """Return the table with the citation key of the document that each record belongs to.

    Documents keep their earlier keys (``before``), unless a .bib file gives them another.
    """
    records = table.lazy().filter(pl.col("owner").is_not_null()).select(
        "row", "owner", "doc_id", "part", "at"
    ).collect()  # fmt: skip
    records = records.hstack(parts.take(records, WISHES))
    documents = wishes(records)
    rows = pl.concat([_hashed(piece) for piece in (empty_table(EARLIER_COLUMNS), *before)])
    documents = documents.join(
        earlier_keys(records, rows), on="owner", how="left", maintain_order="left"
    )
    keys = assign_cite_keys(documents.select("kept", "own", "in_bib", "made"))
    return table.join(
        documents.select("owner", cite_key=keys), on="owner", how="left", maintain_order="left"
    )


def wishes(records: pl.DataFrame) -> pl.DataFrame:
    """Return the citation keys that each document may get, by owner: its ``own`` key, those
    ``in_bib`` and a ``made`` one."""
    merged = pl.col("owner").is_duplicated()  # few are: grouping all takes three times as long
    first = (
        records.filter(merged)
        .group_by("owner")
        .agg(pl.exclude("in_bib").drop_nulls().first(), pl.col("in_bib").explode())
    )
    documents = pl.concat([records.filter(~merged), first.select(records.columns)]).sort("owner")
    return documents.with_columns(made=pl.coalesce("made", "poorer"))


def _hashed(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the documents with hashes in place of DOIs and titles, which are only compared."""
    title = pl.when(pl.col("title") != "").then(pl.col("title").hash(seed=0))
    doi = pl.when(pl.col("doi").is_not_null()).then(pl.col("doi").hash(seed=0))
    return documents.with_columns(title=title, doi=doi, year=pl.col("year").fill_null(0))


def _wanted(records: pl.DataFrame) -> pl.DataFrame:
    made = generate_keys(records)
    whole = pl.col("year").is_not_null() & (pl.col("authors").list.len() > 0)
    return _hashed(records).select(
        "doi", "title", "year",
        own=pl.col("keys").list.first(), in_bib=pl.concat_list(bib_key()),
        made=pl.when(whole).then(made), poorer=made,
    )  # fmt: skip


WISHES = Keys(("doi", *KEY_COLUMNS), _wanted)
"""The keys that `wishes` needs: the citation keys that a record suggests for its document, and the
columns that recognise an earlier document."""


def earlier_keys(
    records: pl.DataFrame, before: pl.DataFrame, same: Iterable[tuple[str, ...]] = SAME
) -> pl.DataFrame:
    """Return the earlier keys (``kept``) by ``owner``, the first record of a document. A key that
    several documents had goes to none."""
    before = before.filter(pl.col("cite_key").is_unique())
    items = [records.select("owner", kept=pl.lit(None, dtype=pl.String)).clear()]
    for names in same if before.height else ():
        theirs = before.unique(names, keep="none").select(*names, kept="cite_key")
        pairs = records.join(theirs, on=names).select("owner", "kept").unique()
        sure = ~pl.col("owner").is_duplicated() & ~pl.col("kept").is_duplicated()
        items.append(pairs.filter(sure))
        records = records.join(items[-1], on="owner", how="anti")
        before = before.join(items[-1], left_on="cite_key", right_on="kept", how="anti")
    return pl.concat(items)
