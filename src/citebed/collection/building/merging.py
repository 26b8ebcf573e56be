"""Which records are one document, from however many sources they were read.

Two records are the same document when they have the same DOI and their titles agree; or, when at
least one of them has no DOI, the same arXiv id and first author, or the same title (letters and
digits only), first author's family name and year, unless they stand in different places. A title of
one or two words ("Editorial") must agree in venue, volume and pages too. Where the year is unknown,
key, title and all surnames must be the same; failing that, or where the author is unknown, the
abstract. Two different DOIs are two documents, however alike they look; so are two ids in one file
of a curated collection (anything but a BibTeX file, where the same paper under two keys is an
everyday slip).

When titles agree, and when two places of publication cannot be the same.

A DOI, or a title with its author and year, makes two records likely to be one document. Titles that
have nothing in common, or another issue and other pages, say that they are not.
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
"""How alike (`alike`) titles under one DOI are that mean the same paper: spelt, cut or typed
otherwise they keep most of their trigrams, and titles of different papers share few."""
SHORT_AGREEING = 0.8
SHORTEST = 15
"""Folded titles of fewer letters ("Editorial", "Introduction") say too little when they stand in
another."""
MOST_TITLES = 60
"""A DOI that more titles have is no paper's: it stands in a form that nobody filled in."""

_SUBTITLE = re.compile(r"(?:[:;.?!]|\s[-–—]|[–—])\s|\s*[\[(]")


class Title(NamedTuple):
    """A title as it is written, and folded to its letters and digits."""

    text: str
    plain: str


def titles_agree(left: Title, right: Title) -> bool:
    """Whether two titles under one DOI are of one paper: nearly the same, or one within the other.

    Titles that count otherwise (Part I and Part II) do not agree, however alike they are.
    """
    if left.plain == right.plain:
        return True
    ours, theirs = set(numbers(left.text)), set(numbers(right.text))
    if not (ours <= theirs or theirs <= ours):
        return False
    short, long = sorted((left.plain, right.plain), key=len)
    if _same_but_subtitle(left, right):
        return True
    if len(short) < SHORTEST:
        return alike(short, long) >= SHORT_AGREEING
    return short in long or alike(short, long) >= AGREEING


def _same_but_subtitle(left: Title, right: Title) -> bool:
    """Whether one is the other without what follows a colon."""
    return any(
        _letters(_SUBTITLE.split(one.text, maxsplit=1)[0]) == _letters(other.text) != ""
        for one, other in ((left, right), (right, left))
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def title_groups(titles: Sequence[Title]) -> list[int]:
    """A number for each title, the same for those that agree, directly or by way of others."""
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
    """Where a record was published: numbers that stand for venue, volume and issue, and the first
    and last page; what is not known is ``None``."""

    venue: int | None
    volume: int | None
    issue: int | None
    first: int | None
    last: int | None


def is_elsewhere(left: Place, right: Place) -> bool:
    """Whether two places cannot be one: other pages of another volume or issue, or where both
    venues are known; or, where pages are not known, another issue of the same venue.

    Pages from 1 on may be those of a preprint, whatever it is said to have appeared in.
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
    """A number for each place, the same for those that can be one.

    One that could be several, since it says too little, is none of them.
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
"""Gives more keys of the records in some rows."""


def identities(keys: pl.DataFrame, look: Look) -> pl.DataFrame:
    """``identity``, a number equal for records of one document, and ``doubtful``: whether other
    documents have the record's DOI. ``keys`` are as `keys_of` gives them, with ``source``."""
    known = _with_titles(keys.select("source", "doi", "arxiv").with_row_index("row"), look)
    doi, doubtful = _parted_by_title(known, look)
    if doi.null_count():
        doi = _without_doi(known.with_columns(doi), look)
    return pl.DataFrame({"doubtful": doubtful, "identity": doi})


def _with_titles(keys: pl.DataFrame, look: Look) -> pl.DataFrame:
    """With ``title``, which says nothing where every record has a DOI that no other has."""
    if keys["doi"].null_count():
        return keys.hstack(look(keys["row"], TITLES))
    rows = keys.filter(pl.col("doi").is_duplicated())["row"]
    none = pl.repeat(None, keys.height, dtype=pl.UInt64, eager=True)
    return keys.with_columns(title=_changed(none, rows, look(rows, TITLES)["title"]))


def _changed(column: pl.Series, rows: pl.Series, values: pl.Series) -> pl.Series:
    """The column with other values in some rows."""
    column = column.clone()
    column.scatter(rows, values)
    return column


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


def _parted_by_title(keys: pl.DataFrame, look: Look) -> tuple[pl.Series, pl.Series]:
    """Another ``doi`` for each group of titles that agree, where one DOI has several, and which
    are such: these are doubtful."""
    named = keys.select("row", "doi", "title").drop_nulls("doi")
    distinct = named.drop_nulls("title").unique(["doi", "title"], keep="first", maintain_order=True)
    several = distinct.filter(pl.len().over("doi") > 1)
    groups = _title_groups(several, look)
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


def _title_groups(several: pl.DataFrame, look: Look) -> pl.DataFrame:
    """For each DOI and title the ``group`` of titles that agree with it, of the first one's row."""
    several = several.sort("doi", maintain_order=True)
    several = several.with_columns(look(several["row"], SPELT))
    rows = several.select("doi", "row", "text", "plain").iter_rows()
    numbers: list[int] = []
    for _, group in itertools.groupby(rows, key=itemgetter(0)):
        members = list(group)
        firsts = title_groups([Title(text, plain) for _, _, text, plain in members])
        numbers += [members[number][1] for number in firsts]
    groups = pl.Series(numbers, dtype=pl.UInt32)
    return several.select("doi", "title", group=groups)


# --- without a DOI --------------------------------------------------------------------------------


def _without_doi(keys: pl.DataFrame, look: Look) -> pl.Series:
    """The ``doi`` of each record or what else it shares with others of its document."""
    likely = keys.filter(_may_be_another())
    known = likely.hstack(look(likely["row"], DETAILS))
    same = _undated_settled(known.select("who", "same", "undated", "keys"))
    same = _parted_by_file(known.select("row", "source", "curated", same))
    same = _parted_by_place(known.select(same, *Place._fields))
    lent = _lent(known.select("doi", same, "number"))
    return _changed(keys["doi"].fill_null(_itself(keys["row"])), likely["row"], lent)


def _may_be_another() -> pl.Expr:
    """Whether a record shares its title, or lack of one, with others of which one may take a DOI
    or lend it; or its arXiv id."""
    title = pl.col("title").fill_null(0)
    some = (pl.col("doi").is_null() | pl.col("arxiv").is_not_null()).any().over(title)
    titled = (pl.len().over(title) > 1) & some
    return titled | (pl.col("arxiv").is_not_null() & (pl.len().over("arxiv") > 1))


def _itself(rows: pl.Series) -> pl.Series:
    """What a record has in common with no other."""
    return pl.select(pl.struct(pl.lit("itself"), rows).hash(seed=0)).to_series()


def _undated_settled(keys: pl.DataFrame) -> pl.Series:
    """A record without a year is ``same`` as another of its key, title and authors' surnames."""
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


def _parted_by_file(keys: pl.DataFrame) -> pl.Series:
    """Records that their own file tells apart, and those without a title, are ``same`` as none."""
    apart = pl.col("curated") & (pl.len().over("same", "source", "curated") > 1)
    alone = keys.with_row_index("at").filter(apart | pl.col("same").is_null())
    return _changed(keys["same"], alone["at"], _itself(alone["row"]))


def _parted_by_place(keys: pl.DataFrame) -> pl.Series:
    """Records that are alike but stand in different places are not the ``same``."""
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
