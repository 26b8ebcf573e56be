"""The cite keys of an import's documents: those that they had before, and new ones."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from citebed.collection.building.keys import Keys
from citebed.collection.building.parts import Parts
from citebed.collection.cite_keys import MADE_OF, author_year_keys, cite_keys_of
from citebed.collection.tables import DOCUMENTS, empty

BEFORE = {name: DOCUMENTS[name] for name in ("doc_id", "doi", "title", "year", "cite_key")}
"""What is asked of the documents that were there before."""
_SAME = (("doc_id", "title"), ("doc_id", "doi"), ("doi",), ("title", "year"))
"""What tells that a document is one of before, surest first: ids and records may have changed."""


def with_cite_keys(
    table: pl.DataFrame, parts: Parts, before: Iterable[pl.DataFrame]
) -> pl.DataFrame:
    """The table of what becomes of records, with the key of the document that each belongs to.

    Documents keep the keys that they had ``before``, whatever else was imported since.
    """
    records = table.lazy().filter(pl.col("owner").is_not_null()).select(
        "row", "owner", "doc_id", "part", "at"
    ).collect()  # fmt: skip
    records = records.hstack(parts.take(records, _WANTED))
    merged = pl.col("owner").is_duplicated()  # few are: to group all takes three times as long
    first = records.filter(merged).group_by("owner").agg(pl.all().drop_nulls().first())
    documents = pl.concat([records.filter(~merged), first.select(records.columns)]).sort("owner")
    documents = documents.with_columns(made=pl.coalesce("made", "poorer"))
    told = pl.concat([_told(piece) for piece in (empty(BEFORE), *before)])
    documents = documents.join(_kept(records, told), on="owner", how="left", maintain_order="left")
    keys = cite_keys_of(documents.select("kept", "given", "made"))
    return table.join(
        documents.select("owner", cite_key=keys), on="owner", how="left", maintain_order="left"
    )


def _told(documents: pl.DataFrame) -> pl.DataFrame:
    """Documents with their DOIs and titles as short numbers, which is all that is compared."""
    title = pl.when(pl.col("title") != "").then(pl.col("title").hash(seed=0))
    doi = pl.when(pl.col("doi").is_not_null()).then(pl.col("doi").hash(seed=0))
    return documents.with_columns(title=title, doi=doi, year=pl.col("year").fill_null(0))


def _wanted(records: pl.DataFrame) -> pl.DataFrame:
    made = author_year_keys(records)
    whole = pl.col("year").is_not_null() & (pl.col("authors").list.len() > 0)
    return _told(records).select(
        "doi", "title", "year",
        given=pl.col("keys").list.first(), made=pl.when(whole).then(made), poorer=made,
    )  # fmt: skip


_WANTED = Keys(("doi", *MADE_OF), _wanted)


def _kept(records: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """The keys of before (``kept``) by the first records (``owner``) of the documents of now."""
    found = [records.select("owner", kept=pl.lit(None, dtype=pl.String)).clear()]
    for names in _SAME if before.height else ():
        theirs = before.unique(names, keep="none").select(*names, kept="cite_key")
        pairs = records.join(theirs, on=names).select("owner", "kept").unique()
        sure = ~pl.col("owner").is_duplicated() & ~pl.col("kept").is_duplicated()
        found.append(pairs.filter(sure))
        records = records.join(found[-1], on="owner", how="anti")
        before = before.join(found[-1], left_on="cite_key", right_on="kept", how="anti")
    return pl.concat(found)
