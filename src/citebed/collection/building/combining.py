"""One document made of several records: the richest, its gaps filled from the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.collection.building.parts import read_part, write_part
from citebed.collection.formats.bibtex import document_in, fields_of, with_fields, write_entry
from citebed.collection.tables import DOCUMENTS, RECORD, document_of_row

FILLED = (
    "authors", "editors", "year", "date", "venue", "volume", "number", "pages", "publisher",
    "doi", "arxiv", "url", "abstract", "keywords", "language",
)  # fmt: skip
_OPENING = r"^\s*@\s*[^\s{(]+\s*[{(][^,]*"
_BEST = [name for name in RECORD if name not in ("doc_id", "keys")]
_NUMBERED = {"row": pl.UInt32(), "identity": pl.UInt64(), "doubtful": pl.Boolean()}

Row = Mapping[str, Any]


class Bucket(NamedTuple):
    """Records on disk, all of each document's, to be made into documents under ``folder``.

    These are put into files by where their first record is: one for each ``span`` of rows.
    """

    number: int
    files: list[Path]
    folder: Path
    span: int


def combine_bucket(bucket: Bucket) -> list[tuple[int, Path]]:
    """Make the documents of a bucket; gives the number of each span and its file."""
    records = pl.concat([read_part(path) for path in bucket.files], rechunk=False)
    made = combine(records).with_columns(span=pl.col("row") // bucket.span)
    found = []
    for part in made.partition_by("span", maintain_order=True):
        number = int(part["span"][0])
        path = bucket.folder / f"made-{number}-{bucket.number}.arrow"
        write_part(path, part.drop("span"))
        found.append((number, path))
    return found


def combine(records: pl.DataFrame) -> pl.DataFrame:
    """The documents of records that have ``row``, ``identity`` and ``doubtful`` too, by ``row``.

    A document has the first record's id and place in the order. Records that differ in their key
    alone, as copies of a bibliography do, are looked at once.
    """
    records = records.sort("row").rechunk()
    distinct = records.with_columns(content=_content()).unique(
        ["identity", "content"], keep="first", maintain_order=True
    )
    alone = pl.len().over("identity") == 1
    made = [_made_of(list(group)) for _, group in _groups(distinct.filter(~alone))]
    columns = {"identity": pl.UInt64(), **{name: RECORD[name] for name in _BEST}}
    best = pl.concat([distinct.filter(alone).select(list(columns)), pl.DataFrame(made, columns)])
    documents = _names(records).join(best, on="identity", maintain_order="left")
    return documents.select(*DOCUMENTS, "row")


def _content() -> pl.Expr:
    """A number for what a record says, whatever its key."""
    lists = [name for name in FILLED if RECORD[name] == pl.List(pl.String())]
    texts = [pl.col(name) for name in ("type", "title", *FILLED) if name not in lists]
    joined = [pl.col(name).list.join("\x1f") for name in lists]
    body = pl.col("bibtex").str.replace(_OPENING, "")
    parts = [part.hash(seed=number) for number, part in enumerate((*texts, *joined, body))]
    return pl.struct(part.alias(str(at)) for at, part in enumerate(parts)).hash(seed=0)


def _groups(records: pl.DataFrame) -> Iterable[tuple[int, Iterable[Row]]]:
    rows = records.sort("identity", maintain_order=True).iter_rows(named=True)
    return itertools.groupby(rows, key=itemgetter("identity"))


def _names(records: pl.DataFrame) -> pl.DataFrame:
    """What each document goes by, and how many records it is made of."""
    every = pl.col("keys").explode(empty_as_null=False)
    grouped = records.group_by("identity", maintain_order=True).agg(
        pl.col("row", "doc_id").first(),
        keys=every.unique(maintain_order=True),
        names=pl.col("doc_id").append(every),
        records=pl.len().cast(pl.Int32),
        doubtful=pl.col("doubtful").any(),
    )
    return (
        with_aliases(grouped)
        .with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in ("read_as", "cite_key"))
        .with_columns(doubtful=doubtful_fields(pl.col("doubtful")))
    )


def doubtful_fields(doi: pl.Expr) -> pl.Expr:
    """The names of the fields that are in doubt."""
    none = pl.lit([], dtype=pl.List(pl.String))
    return pl.when(doi).then(pl.lit(["doi"], dtype=pl.List(pl.String))).otherwise(none)


def with_aliases(documents: pl.DataFrame) -> pl.DataFrame:
    """The documents with those of their ``names`` that are not the id as ``aliases``."""
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
    """The richest record with what it lacks from the others."""
    ranked = sorted(members, key=_richness, reverse=True)
    best = dict(ranked[0])
    for other in ranked[1:]:
        best.update({name: other[name] for name in FILLED if not best[name] and other[name]})
    if best["bibtex"] is not None and (missing := _missing(best["bibtex"], ranked[1:])):
        best["bibtex"] = with_fields(best["bibtex"], missing)
        # The entry is what will be pasted and exported: the fields are what it says.
        read = document_in(best["bibtex"])._asdict()
        best.update({name: read[name] for name in FILLED if read[name]})
    return {name: best[name] for name in ("identity", *_BEST)}


def _richness(record: Row) -> tuple[int, int, int]:
    filled = sum(bool(record[name]) for name in FILLED)
    return filled, len(record["abstract"] or ""), len(record["bibtex"] or "")


def _missing(bibtex: str, others: Iterable[Row]) -> dict[str, str]:
    """The fields that only the others' entries have."""
    mine, missing = fields_of(bibtex), dict[str, str]()
    for other in others:
        theirs = fields_of(other["bibtex"] or write_entry(document_of_row(other)))
        for name, value in theirs.items():
            if name not in mine and name != "crossref":
                missing.setdefault(name, value)
    return missing
