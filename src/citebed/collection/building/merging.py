"""Which records are one document, from however many sources they were read.

Two records are the same document when they have the same DOI and their titles agree; or, when at
least one of them has no DOI, the same arXiv id and first author, or the same title (letters and
digits only), first author's family name and year, unless they stand in different places. A title of
one or two words ("Editorial") must agree in venue, volume and pages too. Where the year is unknown,
key, title and all surnames must be the same; failing that, or where the author is unknown, the
abstract. Two different DOIs are two documents, however alike they look; so are two ids in one file
of a curated collection (anything but a BibTeX file, where the same paper under two keys is an
everyday slip).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from operator import itemgetter

import polars as pl

from citebed.collection.building.agreeing import Place, Title, place_groups, title_groups

Titles = Callable[[pl.Series], pl.DataFrame]
"""Gives ``text`` and ``plain`` (folded), the titles of the records in some rows."""


def identities(keys: pl.DataFrame, titles: Titles) -> pl.DataFrame:
    """``identity``, a number equal for records of one document, and ``doubtful``: whether other
    documents have the record's DOI. ``keys`` are as `keys_of` gives them, with ``source``."""
    keys = _told_by_title(keys.with_row_index("row"), titles)
    if keys["doi"].null_count():
        known = _told_by_place(_told_by_file(_undated_settled(keys)))
        keys = keys.with_columns(doi=_lent(known))
    return keys.select("doubtful", identity="doi")


def _lent(known: pl.DataFrame) -> pl.Series:
    """The DOI of each record, one that another of its document has, or what else they share."""
    return (
        known.lazy()
        .with_columns(
            known=pl.col("doi").drop_nulls().first().over("same"),
            number=pl.coalesce("number", pl.col("number").drop_nulls().first().over("same")),
        )
        .with_columns(
            lent=pl.when(pl.col("number").is_not_null()).then(
                pl.col("doi").drop_nulls().first().over("number")
            )
        )
        .select(pl.coalesce("doi", "known", "lent", "number", "same"))
        .collect()
        .to_series()
    )


# --- one DOI on different papers ------------------------------------------------------------------


def _told_by_title(keys: pl.DataFrame, titles: Titles) -> pl.DataFrame:
    """The keys with another ``doi`` for each group of titles that agree, where one DOI has several;
    such DOIs are ``doubtful``."""
    named = keys.drop_nulls("doi").select("row", "doi", "title")
    distinct = named.drop_nulls("title").unique(["doi", "title"], keep="first", maintain_order=True)
    several = distinct.filter(pl.len().over("doi") > 1)
    groups = _title_groups(several, titles)
    doubtful = groups.filter(pl.col("group").n_unique().over("doi") > 1)
    if doubtful.is_empty():
        return keys.with_columns(doubtful=pl.lit(value=False))
    shared = (
        named.filter(pl.col("doi").is_in(doubtful["doi"].unique().implode()))
        .join(doubtful, on=["doi", "title"], how="left", maintain_order="left")
        .with_columns(group=pl.coalesce("group", pl.col("row") + keys.height))
        .select("row", split=pl.struct("doi", "group").hash(seed=0))
    )
    return (
        keys.join(shared, on="row", how="left", maintain_order="left")
        .with_columns(doi=pl.coalesce("split", "doi"), doubtful=pl.col("split").is_not_null())
        .drop("split")
    )


def _title_groups(several: pl.DataFrame, titles: Titles) -> pl.DataFrame:
    """For each DOI and title the ``group`` of titles that agree with it, of the first one's row."""
    several = several.sort("doi", maintain_order=True)
    several = several.with_columns(titles(several["row"]))
    rows = several.select("doi", "row", "text", "plain").iter_rows()
    numbers: list[int] = []
    for _, group in itertools.groupby(rows, key=itemgetter(0)):
        members = list(group)
        found = title_groups([Title(text, plain) for _, _, text, plain in members])
        numbers += [members[number][1] for number in found]
    groups = pl.Series(numbers, dtype=pl.UInt32)
    return several.select("doi", "title", group=groups)


# --- without a DOI --------------------------------------------------------------------------------


def _undated_settled(keys: pl.DataFrame) -> pl.DataFrame:
    """A record without a year is ``same`` as another of its key, title and authors' surnames."""
    undated = keys.filter("undated")
    if undated.is_empty():
        return keys
    named = (
        keys.drop_nulls("who")
        .join(undated.select("who").unique(), on="who", how="semi", maintain_order="left")
        .select("row", "who", "same", "undated", key="keys")
        .explode("key")
        .sort("undated", maintain_order=True)
    )
    first = named.unique(["who", "key"], keep="first", maintain_order=True)
    found = (
        named.filter("undated")
        .join(first.select("who", "key", other="same"), on=["who", "key"], maintain_order="right")
        .unique("row", keep="first", maintain_order=True)
    )
    return (
        keys.join(found.select("row", "other"), on="row", how="left", maintain_order="left")
        .with_columns(same=pl.coalesce("other", "same"))
        .drop("other")
    )


def _told_by_file(keys: pl.DataFrame) -> pl.DataFrame:
    """Records that their own file tells apart, and those without a title, are ``same`` as none."""
    told_apart = pl.col("curated") & (pl.col("curated").sum().over("same", "source") > 1)
    itself = pl.struct(pl.lit("itself"), "row").hash(seed=0)
    alone = told_apart | pl.col("same").is_null()
    return keys.with_columns(same=pl.when(alone).then(itself).otherwise("same"))


def _told_by_place(keys: pl.DataFrame) -> pl.DataFrame:
    """Records that are alike but stand in different places are not the ``same``."""
    several = pl.any_horizontal(
        pl.col(name).min().over("same") != pl.col(name).max().over("same")
        for name in ("volume", "issue", "first")
    )
    alike = keys.filter(several).select("row", "same", *Place._fields)
    alike = alike.sort("same", maintain_order=True)
    if alike.is_empty():
        return keys
    parts: list[int] = []
    for _, group in itertools.groupby(alike.iter_rows(), key=itemgetter(1)):
        places = [Place(*row[2:]) for row in group]
        distinct = list(dict.fromkeys(places))
        numbers = dict(zip(distinct, place_groups(distinct), strict=True))
        parts += [numbers[place] for place in places]
    part = pl.Series("part", parts, dtype=pl.UInt32)
    found = alike.select("row", told=pl.struct("same", part).hash(seed=0))
    told_apart = alike.with_columns(part).filter(pl.col("part").n_unique().over("same") > 1)
    found = found.join(told_apart.select("row"), on="row", how="semi")
    return (
        keys.join(found, on="row", how="left", maintain_order="left")
        .with_columns(same=pl.coalesce("told", "same"))
        .drop("told")
    )
