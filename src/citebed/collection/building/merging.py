"""Decide which records are one document, across all sources.

Two records are the same document if they have the same DOI and their titles agree. If at least one
of them has no DOI, they are the same document if they have the same arXiv id and first author, or
the same title (letters and digits only), first author's family name and year, unless their places
of publication differ. Titles of one or two words ("Editorial") must also agree in venue, volume and
pages. If the year is unknown, key, title and all surnames must be the same, or else the abstract;
the abstract also decides if the author is unknown.

Two different DOIs are two documents, even if the records look alike. So are two ids in one file of
a curated collection, which is anything but a BibTeX file or the library of a reference manager: in
those, the same paper often has two keys.

This module also compares titles and places of publication. A DOI, or a title with its author and
year, makes it likely that two records are one document. Titles with nothing in common, or another
issue with other pages, rule it out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

import polars as pl

from citebed.collection.building.records import DETAILS, SPELT, TITLES, Keys
from citebed.text.titles import alike, numbers

AGREEING = 0.5
"""The least similarity (`alike`) of two titles under one DOI that mean the same paper. A title with
typos, another spelling or a missing end keeps most of its trigrams; titles of different papers
share few."""
SHORT_AGREEING = 0.8
SHORTEST = 15
"""Folded titles of fewer letters ("Editorial", "Introduction") prove little if another title
contains them."""
MOST_TITLES = 60
"""A DOI with more titles does not identify a paper: it comes from an unedited template."""

_SUBTITLE = re.compile(r"(?:[:;.?!]|\s[-–—]|[–—])\s|\s*[\[(]")


class Title(NamedTuple):
    """A title as written, and folded to its letters and digits."""

    text: str
    plain: str


def titles_agree(left: Title, right: Title) -> bool:
    """Return True if two titles under one DOI mean one paper: nearly the same, or one within the
    other.

    Titles with different numbers (Part I and Part II) do not agree, even if they look alike.
    """
    if left.plain == right.plain:
        return True
    ours, theirs = set(numbers(left.text)), set(numbers(right.text))
    if not (ours <= theirs or theirs <= ours):
        return False
    short, long = sorted((left.plain, right.plain), key=len)
    if any(
        _letters(_SUBTITLE.split(one.text, maxsplit=1)[0]) == _letters(other.text) != ""
        for one, other in ((left, right), (right, left))
    ):
        return True
    if len(short) < SHORTEST:
        return alike(short, long) >= SHORT_AGREEING
    return short in long or alike(short, long) >= AGREEING


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def title_groups(titles: Sequence[Title]) -> list[int]:
    """Return a group number for each title; titles that agree, directly or through others, share
    it."""
    if len(titles) > MOST_TITLES:
        return list(range(len(titles)))
    owners = list(range(len(titles)))
    for later, title in enumerate(titles):
        for earlier in range(later):
            if owners[earlier] != owners[later] and titles_agree(titles[earlier], title):
                old, new = owners[later], owners[earlier]
                owners = [new if owner == old else owner for owner in owners]
    return owners


class Place(NamedTuple):
    """The place of publication: hashes of venue, volume and issue, and the first and last page.
    Unknown values are ``None``."""

    venue: int | None
    volume: int | None
    issue: int | None
    first: int | None
    last: int | None


def is_elsewhere(left: Place, right: Place) -> bool:
    """Return True if two places of publication cannot be the same.

    If the pages are known, the places are different if the pages do not overlap and the volume, the
    issue or the venue differs, or if both have the same venue. If a page range starts at 1, it may
    be a preprint's, so a difference of venues does not count. If pages are unknown, the places are
    different if they have the same venue but different issues.
    """
    issue = _differ(left.issue, right.issue)
    same_venue = left.venue is not None and left.venue == right.venue
    counted = 1 not in (left.first, right.first)
    venues = same_venue or (counted and _differ(left.venue, right.venue))
    if left.first is None or right.first is None:
        return issue and same_venue
    apart = (left.last or left.first) < right.first or (right.last or right.first) < left.first
    return apart and (issue or venues or _differ(left.volume, right.volume))


def _differ(left: int | None, right: int | None) -> bool:
    return left is not None and right is not None and left != right


def place_groups(places: Sequence[Place]) -> list[int]:
    """Return a group number for each place; places that can be the same share it.

    A place that fits several groups, because too little is known of it, gets a group of its own.
    """
    order = sorted(range(len(places)), key=lambda at: places[at].count(None))
    groups: list[list[Place]] = []
    numbers = [0] * len(places)
    for at in order:
        fitting = [
            number
            for number, group in enumerate(groups)
            if not any(is_elsewhere(places[at], other) for other in group)
        ]
        if len(fitting) != 1:
            fitting = [len(groups)]
            groups.append([])
        numbers[at] = fitting[0]
        groups[numbers[at]].append(places[at])
    return numbers


# --- Merging ----------------------------------------------------------------------------------


Look = Callable[[pl.Series, Keys], pl.DataFrame]
"""Returns more keys of the records in some rows."""


def identities(keys: pl.DataFrame, look: Look) -> pl.DataFrame:
    """Return ``identity``, a number that records of one document share, and ``doubtful``: whether
    other documents have the record's DOI.

    ``keys`` come from `keys_of`, with a column ``source``.
    """
    known = _with_titles(keys.select("source", "doi", "arxiv").with_row_index("row"), look)
    doi, doubtful = _parted_by_title(known, look)
    if doi.null_count():
        doi = _without_doi(known.with_columns(doi), look)
    return pl.DataFrame({"doubtful": doubtful, "identity": doi})


def _with_titles(keys: pl.DataFrame, look: Look) -> pl.DataFrame:
    """Add ``title``; it is null for unique DOIs if every record has a DOI."""
    if keys["doi"].null_count():
        return keys.hstack(look(keys["row"], TITLES))
    rows = keys.filter(pl.col("doi").is_duplicated())["row"]
    none = pl.repeat(None, keys.height, dtype=pl.UInt64, eager=True)
    return keys.with_columns(title=_changed(none, rows, look(rows, TITLES)["title"]))


def _changed(column: pl.Series, rows: pl.Series, values: pl.Series) -> pl.Series:
    """Return the column with other values in some rows."""
    column = column.clone()
    column.scatter(rows, values)
    return column


# --- one DOI on different papers ------------------------------------------------------------------


def _parted_by_title(keys: pl.DataFrame, look: Look) -> tuple[pl.Series, pl.Series]:
    """Replace a DOI that has several groups of agreeing titles by one number for each group. Also
    return which records this changes: they are doubtful."""
    named = keys.select("row", "doi", "title").drop_nulls("doi")
    distinct = named.drop_nulls("title").unique(["doi", "title"], keep="first", maintain_order=True)
    several = distinct.filter(pl.len().over("doi") > 1).sort("doi", maintain_order=True)
    several = several.with_columns(look(several["row"], SPELT))
    rows = several.select("doi", "row", "text", "plain").iter_rows()
    numbers: list[int] = []
    for _, group in itertools.groupby(rows, key=itemgetter(0)):
        members = list(group)
        firsts = title_groups([Title(text, plain) for _, _, text, plain in members])
        numbers += [members[number][1] for number in firsts]
    groups = several.select("doi", "title", group=pl.Series(numbers, dtype=pl.UInt32))
    doubtful = groups.filter(pl.col("group").n_unique().over("doi") > 1)
    unsure = pl.repeat(False, keys.height, dtype=pl.Boolean, eager=True)
    if doubtful.is_empty():
        return keys["doi"], unsure
    shared = (
        named.filter(pl.col("doi").is_in(doubtful["doi"].unique().implode()))
        .join(doubtful, on=["doi", "title"], how="left", maintain_order="left")
        .with_columns(group=pl.coalesce("group", pl.col("row") + keys.height))
        .select("row", split=pl.struct("doi", "group").hash(seed=0))
    )
    unsure = _changed(unsure, shared["row"], pl.Series([True]))
    return _changed(keys["doi"], shared["row"], shared["split"]), unsure


# --- without a DOI --------------------------------------------------------------------------------


def _without_doi(keys: pl.DataFrame, look: Look) -> pl.Series:
    """Return the ``doi`` of each record, or another number that the records of its document
    share."""
    # A record may be another's document if both have an arXiv id, or a title (or none) of which
    # one of its records lacks a DOI or has an arXiv id.
    title = pl.col("title").fill_null(0)
    some = (pl.col("doi").is_null() | pl.col("arxiv").is_not_null()).any().over(title)
    titled = (pl.len().over(title) > 1) & some
    likely = keys.filter(titled | (pl.col("arxiv").is_not_null() & (pl.len().over("arxiv") > 1)))
    known = likely.hstack(look(likely["row"], DETAILS))
    same = _undated_settled(known.select("who", "same", "undated", "keys"))
    # Records without a title, and records that a curated file keeps apart, stay separate.
    rows = known.select("row", "source", "curated", same)
    apart = pl.col("curated") & (pl.len().over("same", "source", "curated") > 1)
    alone = rows.with_row_index("at").filter(apart | pl.col("same").is_null())
    same = _changed(rows["same"], alone["at"], _itself(alone["row"]))
    same = _parted_by_place(known.select(same, *Place._fields))
    # The DOI of the record or of another one of its document, or else a number that they share.
    lent = (
        known.select("doi", same, "number")
        .lazy()
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
    return _changed(keys["doi"].fill_null(_itself(keys["row"])), likely["row"], lent)


def _itself(rows: pl.Series) -> pl.Series:
    """Return a number for each record that it shares with no other."""
    return pl.select(pl.struct(pl.lit("itself"), rows).hash(seed=0)).to_series()


def _undated_settled(keys: pl.DataFrame) -> pl.Series:
    """Give a record without a year the number (``same``) of another with the same key, title and
    surnames."""
    undated = keys.filter("undated")
    if undated.is_empty():
        return keys["same"]
    named = (
        keys.with_row_index("row")
        .drop_nulls("who")
        .join(undated.select("who").unique(), on="who", how="semi", maintain_order="left")
        .rename({"keys": "key"})
        .explode("key")
        .sort("undated", maintain_order=True)
    )
    first = named.unique(["who", "key"], keep="first", maintain_order=True)
    rows = (
        named.filter("undated")
        .join(first.select("who", "key", other="same"), on=["who", "key"], maintain_order="right")
        .unique("row", keep="first", maintain_order=True)
    )
    return _changed(keys["same"], rows["row"], rows["other"])


def _parted_by_place(keys: pl.DataFrame) -> pl.Series:
    """Give records that are alike but have different places of publication different numbers."""
    several = pl.any_horizontal(
        pl.col(name).min().over("same") != pl.col(name).max().over("same")
        for name in ("volume", "issue", "first")
    )
    alike = keys.with_row_index("row").filter(several).sort("same", maintain_order=True)
    parts: list[int] = []
    for _, group in itertools.groupby(alike.iter_rows(), key=itemgetter(1)):
        places = [Place(*row[2:]) for row in group]
        distinct = list(dict.fromkeys(places))
        numbers = dict(zip(distinct, place_groups(distinct), strict=True))
        parts += [numbers[place] for place in places]
    apart = alike.select("row", "same", part=pl.Series(parts, dtype=pl.UInt32)).filter(
        pl.col("part").n_unique().over("same") > 1
    )
    if apart.is_empty():
        return keys["same"]
    parted = apart.select(pl.struct("same", "part").hash(seed=0)).to_series()
    return _changed(keys["same"], apart["row"], parted)
