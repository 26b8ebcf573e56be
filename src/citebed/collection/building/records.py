"""Records on disk, in parts, since an import may read more than fits into memory.

Records stay on disk. This module makes their keys: hashes of what records of one document have in
common. The keys of ten million records fit into memory; only the records that need more keys get
them. A hash has 64 bits, so two different texts get the same hash about once in a million
collections of that size.
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
_LIBRARY = r"\.sqlite$|^zotero-api$"  # of a reference manager: has papers twice, as .bib files do
_PAGES = r"^(\d{1,9})(?:–(\d{1,9}))?$"


def keys_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return the first keys of every record: its id, and hashes of its DOI and arXiv id."""
    return records.select("doc_id", doi=hash_text(pl.col("doi")), arxiv=hash_text(pl.col("arxiv")))


class Keys(NamedTuple):
    """More keys, for the records that need them; ``of`` makes them from some ``columns``."""

    columns: tuple[str, ...]
    of: Callable[[pl.DataFrame], pl.DataFrame]


def _titles(records: pl.DataFrame) -> pl.DataFrame:
    plain = records.select(plain=plain_title(pl.col("title")))
    return plain.select(title=hash_text(pl.when(pl.col("plain") != "").then("plain")))


TITLES = Keys(("title",), _titles)
"""The hash of the folded ``title``; null if the title has no letters."""

SPELT = Keys(
    ("title",), lambda records: records.select(text="title", plain=plain_title(pl.col("title")))
)
"""The title as written (``text``), and folded (``plain``)."""


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
            same=hash_text(pl.when(pl.col("title") != "").then("alike")),
            number=hash_text(pl.lit("arxiv:") + number),
            curated=pl.col("bibtex").is_null() & ~pl.col("source").str.contains(_LIBRARY),
            undated=pl.col("year").is_null() & likely,
            who=hash_text(pl.when(likely).then(pl.concat_str(["plain", surnames], separator="|"))),
            keys=pl.when(likely).then(keys),
            **{name: _short(hash_text(plain_title(pl.col(name)))) for name in ("venue", "volume")},
            issue=_short(hash_text(plain_title(issue))),
            first=pl.col("pages").str.extract(_PAGES, 1).cast(pl.Int32),
            last=pl.col("pages").str.extract(_PAGES, 2).cast(pl.Int32),
        )
        .collect()
    )


DETAILS = Keys(
    (
        "doc_id", "keys", "title", "authors", "year", "venue", "volume", "number", "pages",
        "arxiv", "abstract", "bibtex", "source",
    ),
    _detailed,
)  # fmt: skip
"""Keys that decide whether records without a DOI are one document.

``same`` is equal for records that are alike in title, first author and year (`_alike`), and
``number`` for those with the same arXiv id and first author. ``who`` (title and all surnames) and
``keys`` (the citation keys) are for records whose title is long enough to identify them without a
year. The others are the place of publication.
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
"""Texts that link records: chains of shared texts connect all records of one document, whichever
rule merges them. So records can be merged without looking at any that they share no text with."""


def hash_text(text: pl.Expr) -> pl.Expr:
    """Return a number for each text, and null for null."""
    return pl.when(text.is_not_null()).then(text.hash(seed=0))


def _short(number: pl.Expr) -> pl.Expr:
    """Return half of a hash, enough to compare a few records."""
    return (number % 2**32).cast(pl.UInt32)


def _alike() -> pl.Expr:
    """Return a text that is equal for records of one document without a DOI."""
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
    """Return the family name of the first author, or "" without authors."""
    return plain_title(_family(authors.list.first().fill_null("")))


def _family(name: pl.Expr) -> pl.Expr:
    return name.str.split(",").list.first()


def _details(*names: str) -> pl.Expr:
    texts = {name: pl.col(name).fill_null("") for name in names}
    texts["venue"] = texts["venue"].str.to_lowercase()
    return pl.concat_str(list(texts.values()), separator="|")


# --- On disk ----------------------------------------------------------------------------------


ROOM = 512 << 20
"""The number of bytes of records to hold in memory."""
WHOLE = Keys(tuple(RECORD), lambda records: records)


class Parts:
    """The records of an import in files of some thousand rows, addressed by part and row.

    Parts stay in memory after reading while there is room.
    """

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self._folder = folder
        self._files = list(files)
        self._held: dict[int, pl.DataFrame] = {}
        self._room = ROOM

    def __len__(self) -> int:
        return len(self._files)

    def read(self, part: int, columns: Sequence[str] = tuple(RECORD)) -> pl.DataFrame:
        """Return the records of a part, or some of their columns."""
        path = self._files[part]
        if part not in self._held:
            size = path.stat().st_size
            if size > self._room:
                return read_ipc(path, columns)
            self._room -= size
            self._held[part] = read_ipc(path)
        return self._held[part].select(columns)

    def path(self, part: int) -> Path:
        return self._files[part]

    def add(self, records: pl.DataFrame, size: int) -> None:
        """Append records that take ``size`` bytes of memory; slices of a table keep more than their
        own bytes. Write a file only if memory has no room for them."""
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
        self._files[part] = self._folder / f"changed-{part}.arrow"
        write_ipc(self._files[part], records)
        if part in self._held:
            self._held[part] = records

    def take(self, places: pl.DataFrame, what: Keys = WHOLE) -> pl.DataFrame:
        """Return the records at some places (``part``, and row ``at`` in it), in that order, or the
        keys ``what`` of them."""
        wanted = places.select("part", "at").with_row_index("order")
        schema = {name: RECORD[name] for name in what.columns}
        items, order = [what.of(pl.DataFrame(schema=schema))], [wanted["order"].clear()]
        for part in wanted.partition_by("part", maintain_order=True):
            records = self.read(int(part["part"][0]), what.columns)
            items.append(what.of(records[part["at"]]))
            order.append(part["order"])
        records, places_taken = pl.concat(items, rechunk=False), pl.concat(order)
        # Taking rows from one chunk is ten times as fast.
        return records if places_taken.is_sorted() else records.rechunk()[places_taken.arg_sort()]
