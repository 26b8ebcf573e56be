"""Records on disk, in parts: what an import reads is more than there may be memory for.

What tells one record from another, in few bytes: hashes of what must be the same.

Records stay on disk. Which of them are one document is found with these, of which there is room
for ten million in memory; what only some records need is made for these alone. A hash has 64 bits,
so two that differ are the same about once in a million collections of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.collection.tables import RECORD, read_ipc, write_ipc
from citebed.text.titles import plain_title

_FEW_WORDS = pl.col("title").str.count_matches(r"\S+") < 3
_AUTHORLESS = pl.col("authors").list.len() == 0
_PAGES = r"^(\d{1,9})(?:–(\d{1,9}))?$"


def keys_of(records: pl.DataFrame) -> pl.DataFrame:
    """What every record is first known by: its id, and what stands for DOI and arXiv id."""
    return records.select("doc_id", doi=_hash(pl.col("doi")), arxiv=_hash(pl.col("arxiv")))


class Keys(NamedTuple):
    """More keys, for those records that need them: made ``of`` some of their ``columns``."""

    columns: tuple[str, ...]
    of: Callable[[pl.DataFrame], pl.DataFrame]


def _titles(records: pl.DataFrame) -> pl.DataFrame:
    plain = records.select(plain=plain_title(pl.col("title")))
    return plain.select(title=_hash(pl.when(pl.col("plain") != "").then("plain")))


TITLES = Keys(("title",), _titles)
"""``title`` stands for the folded title; unknown where that has no letter."""

SPELT = Keys(
    ("title",), lambda records: records.select(text="title", plain=plain_title(pl.col("title")))
)
"""The title as it is written (``text``), and folded (``plain``)."""


def _detailed(records: pl.DataFrame) -> pl.DataFrame:
    likely = ~_FEW_WORDS & ~_AUTHORLESS
    surnames = pl.col("authors").list.eval(plain_title(_family(pl.element()))).list.join("+")
    keys = pl.concat_list("doc_id", "keys").list.eval(
        pl.element().str.to_lowercase().unique().hash()
    )
    number = pl.col("arxiv") + "|" + first_author(pl.col("authors"))
    issue = pl.when(pl.col("number").str.contains(r"\d")).then("number")
    return (
        records.lazy()
        .with_columns(plain=plain_title(pl.col("title")))
        .with_columns(alike=_alike())
        .select(
            same=_hash(pl.when(pl.col("title") != "").then("alike")),
            number=_hash(pl.lit("arxiv:") + number),
            curated=pl.col("bibtex").is_null(),
            undated=pl.col("year").is_null() & likely,
            who=_hash(pl.when(likely).then(pl.concat_str(["plain", surnames], separator="|"))),
            keys=pl.when(likely).then(keys),
            **{name: _short(_hash(plain_title(pl.col(name)))) for name in ("venue", "volume")},
            issue=_short(_hash(plain_title(issue))),
            first=pl.col("pages").str.extract(_PAGES, 1).cast(pl.Int32),
            last=pl.col("pages").str.extract(_PAGES, 2).cast(pl.Int32),
        )
        .collect()
    )


DETAILS = Keys(
    (
        "doc_id", "keys", "title", "authors", "year", "venue", "volume", "number", "pages",
        "arxiv", "abstract", "bibtex",
    ),
    _detailed,
)  # fmt: skip
"""What tells whether records without a DOI are one document.

``same`` is equal for records that are alike in title, first author and year (`_alike`), ``number``
for those of one arXiv id and first author. ``who`` and ``keys`` are for those that have enough of a
title to be known without a year: title with all surnames, and each of the cite keys. The rest is
the place of publication.
"""


def _shared(records: pl.DataFrame) -> pl.DataFrame:
    first = first_author(pl.col("authors"))
    likely = ~_FEW_WORDS & ~_AUTHORLESS
    work = pl.when(likely).then(pl.concat_str(["plain", first], separator="|")).otherwise(_alike())
    return (
        records.lazy()
        .with_columns(plain=plain_title(pl.col("title")))
        .select(
            doi=pl.lit("doi:") + pl.col("doi"),
            work=pl.lit("work:") + pl.when(pl.col("title") != "").then(work),
            number=pl.lit("arxiv:") + pl.col("arxiv") + "|" + first,
        )
        .collect()
    )


SHARED = Keys(
    ("title", "authors", "year", "venue", "volume", "pages", "doi", "arxiv", "abstract"), _shared
)
"""Texts of which records of one document have one in common at least, whatever rule says that they
are one; so which of those that have are one is decided without any others."""


def _hash(text: pl.Expr) -> pl.Expr:
    """A number for each text; unknown where that is."""
    return pl.when(text.is_not_null()).then(text.hash(seed=0))


def _short(number: pl.Expr) -> pl.Expr:
    """Half of a hash, for what is compared within few records."""
    return (number % 2**32).cast(pl.UInt32)


def _alike() -> pl.Expr:
    """What records of one document have in common where a DOI does not tell."""
    vague = pl.col("year").is_null() | _AUTHORLESS
    return pl.concat_str(
        [
            "plain",
            first_author(pl.col("authors")),
            pl.col("year").cast(pl.String).fill_null(""),
            pl.when(_FEW_WORDS).then(_details("venue", "volume", "pages")).otherwise(pl.lit("")),
            pl.when(vague).then(_details("abstract", "venue", "pages")).otherwise(pl.lit("")),
        ],
        separator="|",
    )


def first_author(authors: pl.Expr) -> pl.Expr:
    """The family name of the first author, empty where there is none."""
    return plain_title(_family(authors.list.first().fill_null("")))


def _family(name: pl.Expr) -> pl.Expr:
    return name.str.split(",").list.first()


def _details(*names: str) -> pl.Expr:
    texts = {name: pl.col(name).fill_null("") for name in names}
    texts["venue"] = texts["venue"].str.to_lowercase()
    return pl.concat_str(list(texts.values()), separator="|")


# --- On disk ----------------------------------------------------------------------------------


ROOM = 512 << 20
"""So many bytes of records are held in memory."""
WHOLE = Keys(tuple(RECORD), lambda records: records)


class Parts:
    """The records of an import as files of some thousand rows, found by part and row.

    Those that were read are held in memory as long as there is room.
    """

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self._folder = folder
        self._files = list(files)
        self._held: dict[int, pl.DataFrame] = {}
        self._room = ROOM

    def __len__(self) -> int:
        return len(self._files)

    def read(self, part: int, columns: Sequence[str] = tuple(RECORD)) -> pl.DataFrame:
        """The records of a part, or some columns of them."""
        path = self._files[part]
        if part not in self._held:
            size = path.stat().st_size
            if size > self._room:
                return read_ipc(path, columns)
            self._room -= size
            self._held[part] = read_ipc(path)
        return self._held[part].select(columns)

    def path(self, part: int) -> Path:
        """Where a part is."""
        return self._files[part]

    def add(self, records: pl.DataFrame, size: int) -> None:
        """Put records behind the others; they take up ``size`` bytes, more than their own where
        they are some rows of a table. Where there is room, no file is written."""
        if records.is_empty():
            return
        path = self._folder / f"earlier-{len(self)}.arrow"
        if size > self._room:
            write_ipc(path, records)
        else:
            self._room -= size
            self._held[len(self)] = records
        self._files.append(path)

    def replace(self, part: int, records: pl.DataFrame) -> None:
        """Put changed records in place of a part."""
        self._files[part] = self._folder / f"changed-{part}.arrow"
        write_ipc(self._files[part], records)
        if part in self._held:
            self._held[part] = records

    def take(self, places: pl.DataFrame, what: Keys = WHOLE) -> pl.DataFrame:
        """The records at some places (``part`` and ``at``, their row there), in that order, or
        what is made of them."""
        wanted = places.select("part", "at").with_row_index("order")
        schema = {name: RECORD[name] for name in what.columns}
        items, order = [what.of(pl.DataFrame(schema=schema))], [wanted["order"].clear()]
        for part in wanted.partition_by("part", maintain_order=True):
            records = self.read(int(part["part"][0]), what.columns)
            items.append(what.of(records[part["at"]]))
            order.append(part["order"])
        records, places_taken = pl.concat(items, rechunk=False), pl.concat(order)
        # In one chunk rows are taken out ten times as quickly.
        return records if places_taken.is_sorted() else records.rechunk()[places_taken.arg_sort()]
