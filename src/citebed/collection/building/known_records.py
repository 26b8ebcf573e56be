"""The keys of all records that an import stores, so that the next import reads only a few records.

`import/keys.parquet` has a row for each record, in the order of sources: its outcome, and hashes of
everything by which an import compares records (links). An import can change a record only if it
shares a link with a new, changed or forgotten record, directly or through other records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from citebed._version import __version__
from citebed.collection.building.assembling import Decisions, decide, is_aside, resolve_crossrefs
from citebed.collection.building.combining import EARLIER_COLUMNS, WISHES
from citebed.collection.building.records import SHARED, Keys, Parts, hash_text
from citebed.collection.rules import Rules
from citebed.collection.storing.table_files import StoredTable, read_table, write_table
from citebed.collection.tables import IMPORT, KEYS, RECORD, SET_ASIDE, empty_table
from citebed.errors import CollectionError
from citebed.files.parquet import read_footer

NAME = f"{IMPORT}/keys"
SET_ASIDE_TABLE = f"{IMPORT}/set_aside"
MAX_RECORDS_WITH_KEYS = 2_000_000
"""An import of more records writes no keys: they take 80 bytes of memory each."""
_MAX_AFFECTED = 100_000
"""If more records can change, the import processes all records."""
_STAMP = "citebed"
_LINKS = ("doi", "work", "number", "id", "dated", "key", "parent")
_NUMBERED = r"(?:-\d+)+$"
"""The number at the end of ids and citation keys that several documents would have."""


def _stem(kind: str, name: pl.Expr) -> pl.Expr:
    return hash_text(pl.lit(f"{kind}:") + name.str.to_lowercase().str.replace(_NUMBERED, ""))


def _links(records: pl.DataFrame) -> pl.DataFrame:
    shared = SHARED.of(records.select(SHARED.columns))
    dated = pl.struct("title", pl.col("year").fill_null(0)).hash(seed=0)
    more = records.select(
        id=_stem("id", pl.col("doc_id")),
        parent=_stem("id", pl.col("crossref")),
        dated=pl.when(pl.col("title") != "").then(dated),
    )
    return shared.select(hash_text(pl.col(name)).alias(name) for name in shared.columns).hstack(
        more
    )


LINKS = Keys(tuple(dict.fromkeys((*SHARED.columns, "doc_id", "crossref"))), _links)
"""The links of records.

Two records share a link if they may be one document (`SHARED`), if they would have the same id
(``id``), if one may get the other's citation key (``dated``: title and year), or if one lends
fields to the other (``parent``).
"""


def _wished_key_links(records: pl.DataFrame) -> pl.Series:
    """The links of all citation keys that records may get."""
    keys = WISHES.of(records.select(WISHES.columns))
    wanted = keys.select(key=pl.concat_list("in_bib", "own", "made", "poorer")).explode("key")
    return wanted.select(_stem("key", pl.col("key"))).to_series()


def _values(links: pl.DataFrame) -> pl.Series:
    columns = (links[name].alias("link") for name in _LINKS if name in links.columns)
    return pl.concat(columns).drop_nulls()


def make_keys(decided: Decisions, latex: pl.Series) -> pl.DataFrame:
    """Return the table of keys; ``latex`` has a number for each document."""
    rows = decided.table
    counts = pl.zeros(rows.height, pl.Int32, eager=True)
    owners = rows.select((pl.col("owner") == pl.col("row")).arg_true()).to_series()
    named = rows.select(
        "owner", "size", "doubtful",
        source=pl.Series(decided.sources, dtype=pl.String).gather(rows["source"]),
        reason=pl.col("reason").cast(pl.String),
        key=_stem("key", pl.col("cite_key")),
        latex=counts.scatter(owners, latex),
    )  # fmt: skip
    return named.hstack(decided.parts.take(rows, LINKS)).select(list(KEYS))


def write_keys(
    folder: Path, keys: pl.DataFrame, documents: Path, aside: Path | None, rules: Rules
) -> None:
    """Write the table of keys of the records in two other tables, which were made by ``rules``."""
    write_table(folder / f"{NAME}.parquet", keys, KEYS, {_STAMP: _stamp(documents, aside, rules)})


def _stamp(documents: Path, aside: Path | None, rules: Rules) -> str:
    """Return what keys are valid for: these files, rules and versions."""
    digests = ("" if path is None else read_footer(path).digest for path in (documents, aside))
    made_by = hashlib.sha256(repr(rules).encode()).hexdigest()
    return " ".join(["2", __version__, f"polars-{pl.__version__}", made_by, *digests])


def read_known_records(folder: Path, rules: Rules) -> KnownRecords | None:
    """Return what the last import stored about a collection's records.

    Return ``None`` if the tables or ``rules`` have changed since: a user may edit `citebed.toml`.
    """
    path, documents, aside = (
        folder / f"{name}.parquet" for name in (NAME, "documents", SET_ASIDE_TABLE)
    )
    if not path.is_file() or not documents.is_file():
        return None
    try:
        stamp = _stamp(documents, aside if aside.is_file() else None, rules)
        if read_footer(path).metadata.get(_STAMP.encode()) != stamp.encode():
            return None
        known = KnownRecords(
            read_table(folder, NAME, KEYS),
            StoredTable(documents, "documents"),
            StoredTable(aside, SET_ASIDE_TABLE) if aside.is_file() else None,
        )
        return known if known.is_sound() else None
    except (CollectionError, ValueError):
        return None


@dataclass(frozen=True)
class KnownRecords:
    """The keys of all records, and the tables with these records."""

    keys: pl.DataFrame
    documents: StoredTable
    aside: StoredTable | None

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The keys with their ``row``, and the rows in the two tables: ``document``, ``aside``."""
        is_document = (pl.col("owner") == pl.col("row")).fill_null(value=False)
        return self.keys.with_row_index("row").with_columns(
            pl.when(is_now).then(is_now.cum_sum().cast(pl.Int64) - 1).alias(name)
            for name, is_now in (("document", is_document), ("aside", is_aside()))
        )

    def is_sound(self) -> bool:
        """Return True if the tables have as many rows as the keys say, and each owner begins a
        document."""
        owners = self.keys["owner"].drop_nulls()
        aside = 0 if self.aside is None else sum(self.aside.sizes)
        return (
            not self.keys["source"].null_count()
            and (owners < self.keys.height).all()
            and self.rows["document"].gather(owners).null_count() == 0
            and self.rows["document"].count() == sum(self.documents.sizes)
            and self.rows["aside"].count() == aside
        )

    def records(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return records as they were read."""
        is_single = pl.col("aside").is_null()
        single, others = rows.filter(is_single), rows.filter(~is_single)
        own = self.documents.take(single["document"])
        parts = [own.with_columns(doc_id=pl.coalesce("read_as", "doc_id"))]
        if self.aside is not None:
            parts.append(self.aside.take(others["aside"]))
        order = pl.concat([single["row"], others["row"]]).arg_sort()
        return pl.concat([part.select(list(RECORD)) for part in parts])[order]

    def take_documents(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the documents whose first record is in ``rows``."""
        return self.documents.take(rows["document"].drop_nulls())

    def excluded_records(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the records among ``rows`` that a rule excluded."""
        if self.aside is None:
            return empty_table(SET_ASIDE)
        return self.aside.take(rows.filter(pl.col("reason").is_not_null())["aside"])

    def find_linked(self, is_in: pl.Series, links: pl.Series) -> pl.Series:
        """Return which records have one of ``links``, or a link to a record that ``is_in`` marks,
        directly or through other records. The marked records are included."""
        new = self.rows.filter(is_in)
        while new.height or len(links):
            links = pl.concat(
                [links, _values(new), _wished_key_links(self.records(new))]
            ).drop_nulls()
            wanted = links.unique().implode()
            shares = pl.any_horizontal(pl.col(name).is_in(wanted) for name in _LINKS)
            found = is_in | self.keys.select(shares.fill_null(value=False)).to_series()
            owners = self.keys.filter(found)["owner"].drop_nulls().unique().implode()
            found |= self.keys["owner"].is_in(owners).fill_null(value=False)
            new, links = self.rows.filter(found & ~is_in), links.clear()
            is_in = found
            if is_in.sum() > _MAX_AFFECTED:
                break
        return is_in


@dataclass(frozen=True)
class Change:
    """The changes that an import makes.

    ``touched`` has the rows of the earlier records that are dropped or can change. ``decided`` has
    the decisions about the earlier records that can change and about the new ones. ``every`` has
    the keys of all records after the import: records in ``decided`` with their row there (``new``),
    the others with their rows in the tables before (``document``, ``aside``).
    """

    known: KnownRecords
    touched: pl.DataFrame
    decided: Decisions
    every: pl.DataFrame

    @property
    def documents(self) -> pl.DataFrame:
        """The rows of ``every`` that begin a document."""
        return self.every.filter(pl.col("owner") == pl.col("row"))

    @property
    def aside(self) -> pl.DataFrame:
        """The rows of ``every`` that are in the table of records set aside."""
        return self.every.filter(is_aside())

    def all_decisions(self) -> Decisions:
        names = self.every["source"].unique().sort()
        numbers = self.every["source"].cast(pl.Enum(names)).to_physical().cast(pl.UInt32)
        table = self.every.with_columns(source=numbers)
        return replace(self.decided, table=table, sources=names.to_list())

    def keys(self, latex: pl.Series) -> pl.DataFrame:
        """Return the table of keys; ``latex`` has a number for each document in ``decided``."""
        made = self.documents.filter(pl.col("new").is_not_null())["row"]
        return self.every.with_columns(self.every["latex"].scatter(made, latex))


def find_change(
    known: KnownRecords, fresh: Callable[[], Parts], is_dropped: pl.Expr, rules: Rules
) -> Change | None:
    """Decide what adding ``fresh`` records and dropping others changes; return ``None`` if too many
    records can change."""
    parts = fresh()
    count = len(parts)
    if sum(parts.read(number, ["doc_id"]).height for number in range(count)) > _MAX_AFFECTED:
        return None
    is_gone = known.keys.select(is_dropped).to_series()
    is_affected, earlier, problems = is_gone, known.rows.clear(), resolve_crossrefs(parts)
    while not (is_linked := known.find_linked(is_affected, _links_of(parts))).equals(is_affected):
        if is_linked.sum() > _MAX_AFFECTED:
            return None
        is_affected, earlier, parts = is_linked, known.rows.filter(is_linked & ~is_gone), fresh()
        records = known.records(earlier)
        parts.add(records, int(records.estimated_size()))
        problems = resolve_crossrefs(parts)  # records may be linked by borrowed fields
    touched = known.rows.filter(is_affected)
    keys = known.take_documents(touched).select(list(EARLIER_COLUMNS))
    decided = decide(parts, rules, count, [keys], whole=False)
    decided = replace(decided, problems=[*problems, *decided.problems])
    made = make_keys(decided, pl.Series(dtype=pl.Int32)).with_row_index("new")
    part, at = decided.table["part"], decided.table["at"]
    earlier_rows = earlier["row"].gather(at.set(part != count, None))
    first = known.keys.height
    made = made.with_columns(
        place=pl.coalesce(earlier_rows, "new"),
        row=pl.col("new") + first,
        owner=pl.col("owner") + first,
    )
    unchanged = known.rows.filter(~is_affected).with_columns(place="row")
    every = pl.concat([unchanged, made], how="diagonal")
    names = every["source"].unique().sort()
    every = every.sort(pl.col("source").cast(pl.Enum(names)), "place").with_row_index("now")
    new_rows = pl.zeros(first + made.height, pl.UInt32, eager=True).scatter(
        every["row"], every["now"]
    )
    return Change(
        known,
        touched,
        decided,
        every.with_columns(row="now", owner=new_rows.gather(every["owner"])).drop("now", "place"),
    )


def _links_of(parts: Parts) -> pl.Series:
    """Return the links of all records in ``parts``, and of the keys that they may get."""
    items = [pl.Series("link", dtype=pl.UInt64)]
    for number in range(len(parts)):
        items += [
            _values(LINKS.of(parts.read(number, LINKS.columns))),
            _wished_key_links(parts.read(number)),
        ]
    return pl.concat(items)
