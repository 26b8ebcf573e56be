"""Build the documents of a collection from records on disk, with memory only for the records' keys.

citebed reads every record twice, in parts. The first time it reads keys and decides whether the
record becomes a document, merges into one or is set aside. The second time it writes the result.
Records of one document are collected in buckets on disk.

This module also counts the texts in which a LaTeX command seems to be left. The LaTeX reader leaves
the name of a command that it does not know (``\\foo bar`` becomes ``foo bar``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection.building.combining import (
    Bucket,
    combine_bucket,
    doubtful_fields,
    parents_of,
    with_aliases,
    with_cite_keys,
    with_crossrefs,
)
from citebed.collection.building.merging import identities
from citebed.collection.building.records import Parts, keys_of
from citebed.collection.names import strip_number
from citebed.collection.rules import Rules, check_languages, check_types, exclusion_reasons
from citebed.collection.tables import DOCUMENTS, RECORD, SET_ASIDE, read_ipc, write_ipc
from citebed.processes import run_all
from citebed.records import Problem
from citebed.text.identifiers import FreeIds
from citebed.text.latex import KNOWN_COMMANDS

SPAN = 50_000
"""The number of records in memory at a time."""
BUCKET = 50_000
MOST_BUCKETS = 64
MERGED = "merged with the same document"


@dataclass(frozen=True)
class Decisions:
    """The decision about each record: document, merged or set aside.

    ``table`` has a row for each record, in the order of the sources. It has the record's place in
    ``parts``, its ``source`` (an index into ``sources``) and, if a rule excludes it, the
    ``reason``. Other records have an ``owner`` (the row of the first record of the same document)
    and a ``size`` (the number of records of that document). ``doubtful`` marks records whose DOI
    other documents have too. In the row of an owner, ``doc_id`` is the id of the document.
    ``cite_key`` is the citation key of the document. ``problems`` has the problems of records by
    source.
    """

    parts: Parts
    table: pl.DataFrame
    sources: list[str]
    problems: list[tuple[str, Problem]] = field(default_factory=list)

    def spans(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield numbered slices of the table."""
        for number, start in enumerate(range(0, self.table.height, SPAN)):
            yield number, self.table[start : start + SPAN]


_READ_FIRST = (
    "doc_id", "type", "title", "doi", "arxiv", "abstract", "language", "source", "line",
)  # fmt: skip
"""The columns that rules and the first keys of records need."""


def decide(
    parts: Parts,
    rules: Rules,
    earlier: int,
    before: Iterable[pl.DataFrame] = (),
    *,
    whole: bool = True,
) -> Decisions:
    """Decide what becomes of each record.

    Parts from number ``earlier`` on have records of an earlier import, in the order of their lines.
    ``before`` has the documents of the earlier import, which keep their citation keys. Pass
    ``whole=False`` if ``parts`` do not have all records of the collection: then rules may name
    types and languages that no record here has.
    """
    problems = resolve_crossrefs(parts)
    numbers: dict[str, int] = {}
    types: set[str] = set()
    languages: set[str] = set()
    columns: dict[str, pl.DataType] = {
        "line": pl.Int32(),
        **dict.fromkeys(("source", "part", "at"), pl.UInt32()),
        "reason": pl.Categorical(),
    }
    keys = keys_of(pl.DataFrame(schema=dict(RECORD)))
    tables = [pl.concat([pl.DataFrame(schema=columns), keys], how="horizontal")]
    for part in range(len(parts)):
        records = parts.read(part, _READ_FIRST)
        types.update(records["type"].unique())
        languages.update(records["language"].drop_nulls().unique())
        named = {
            name: numbers.setdefault(name, len(numbers))
            for name in records["source"].unique(maintain_order=True)
        }
        line = pl.col("line") if part >= earlier else pl.lit(0, dtype=pl.Int32)
        place = records.select(
            line,
            source=pl.col("source").replace_strict(named, return_dtype=pl.UInt32),
            part=pl.lit(part, dtype=pl.UInt32),
            at=pl.int_range(pl.len(), dtype=pl.UInt32),
            reason=exclusion_reasons(records, rules).cast(pl.Categorical),
        )
        tables.append(pl.concat([place, keys_of(records)], how="horizontal"))
    if whole:
        check_types(rules, types)
        check_languages(rules, languages)
    index = _in_order(pl.concat(tables, how="diagonal", rechunk=True), list(numbers))
    table = with_cite_keys(_with_owners(index, parts), parts, before)
    return Decisions(parts, table, list(numbers), problems)


def _in_order(index: pl.DataFrame, sources: list[str]) -> pl.DataFrame:
    """Sort by the names of sources, and within a source in the order of reading."""
    order = sorted(range(len(sources)), key=sources.__getitem__)
    ranks = pl.Series(order, dtype=pl.UInt32).arg_sort()
    index = index.with_columns(rank=ranks.gather(index["source"]))
    place = index.select("rank", "line")
    is_sorted = place.equals(place.sort("rank", "line"))
    if not is_sorted:
        index = index.sort("rank", "line", maintain_order=True)
    return index.drop("rank", "line")


def resolve_crossrefs(parts: Parts) -> list[tuple[str, Problem]]:
    """Fill in the fields that BibTeX's ``crossref`` lends; return the problems by source."""
    named = [parts.read(part, ["crossref"])["crossref"].drop_nulls() for part in range(len(parts))]
    names = pl.concat([pl.Series(dtype=pl.String), *named]).str.to_lowercase().unique()
    problems: list[tuple[str, Problem]] = []
    if names.is_empty():
        return problems
    is_named = pl.col("doc_id").str.to_lowercase().is_in(names.implode())
    having = [
        part
        for part in range(len(parts))
        if parts.read(part, ["doc_id"]).select(is_named.any()).item()
    ]
    parents = parents_of(parts.read(part).filter(is_named) for part in having)
    for part, children in enumerate(named):
        if len(children):
            filled, refused = with_crossrefs(parts.read(part), parents)
            parts.replace(part, filled)
            problems += refused
    return problems


def _with_owners(index: pl.DataFrame, parts: Parts) -> pl.DataFrame:
    """Return the table of `Decisions`, from the keys of all records."""
    wanted = index if not index["reason"].count() else index.filter(pl.col("reason").is_null())

    same = identities(wanted, lambda rows, what: parts.take(wanted[rows], what))
    table = index.select("part", "at", "source", "reason", "doc_id").with_row_index("row")
    if wanted.height == index.height:
        table = table.hstack(same)
    else:
        rows = table.filter(pl.col("reason").is_null()).select("row").hstack(same)
        table = table.join(rows, on="row", how="left", maintain_order="left")
    is_kept = pl.col("identity").is_not_null()
    table = table.with_columns(
        owner=pl.when(is_kept).then(pl.col("row").first().over("identity")),
        size=pl.when(is_kept).then(pl.len().over("identity").cast(pl.UInt32)),
    )
    # Add a number to the ids of different documents with the same id, except for the first.
    is_owner = pl.col("owner") == pl.col("row")
    owners = table.lazy().filter(is_owner).select("row", "doc_id").collect()
    fresh = fresh_ids(owners)
    if fresh.is_empty():
        return table
    return (
        table.join(fresh, on="row", how="left", maintain_order="left")
        .with_columns(doc_id=pl.coalesce("fresh", "doc_id"))
        .drop("fresh")
    )


def fresh_ids(owners: pl.DataFrame) -> pl.DataFrame:
    """Return new ids (``fresh``) by ``row`` for documents that share a ``doc_id``. The first of
    them keeps it."""
    twice = owners.filter(pl.col("doc_id").is_duplicated())
    if twice.is_empty():
        return owners.select("row", fresh="doc_id").clear()
    names = twice["doc_id"].unique()
    numbered = owners.filter(
        (strip_number(pl.col("doc_id")) != pl.col("doc_id"))
        & strip_number(pl.col("doc_id")).is_in(names.implode())
    )
    ids = FreeIds([*numbered["doc_id"], *names])
    fresh = [ids.take(name, owner=name) for name in twice["doc_id"]]
    return twice.select("row", fresh=pl.Series(fresh, dtype=pl.String))


# --- writing --------------------------------------------------------------------------------------


def documents(decided: Decisions, folder: Path, workers: int) -> Iterator[pl.DataFrame]:
    """Yield the documents, span by span; files of merged documents go under ``folder``."""
    made = _combined(decided, folder, workers)
    names = decided.table.select("doc_id", "cite_key")
    for number, span in decided.spans():
        single = span.filter(pl.col("size") == 1)
        parts = [singles(decided.parts.take(single), single)]
        several_of = map(read_ipc, made.get(number, ()))
        parts += [several(read, names[read["row"]]) for read in several_of]
        yield pl.concat(parts).sort("row").select(list(DOCUMENTS))


def singles(records: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the documents made of one record each; ``rows`` are their rows of the decided
    table."""
    read_as = pl.col("doc_id")
    named = records.with_columns(
        rows["row"],
        names=pl.concat_list(read_as, "keys"),
        read_as=pl.when(read_as != rows["doc_id"]).then(read_as),
        doc_id=rows["doc_id"],
        cite_key=rows["cite_key"],
        records=pl.lit(1, dtype=pl.Int32),
        doubtful=doubtful_fields(pl.lit(rows["doubtful"])),
    )
    return with_aliases(named).select(*DOCUMENTS, "row")


def several(made: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return the documents made of several records, under their ``names`` in the collection."""
    doc_id, key = names["doc_id"], names["cite_key"]
    renamed = pl.col("doc_id") != doc_id
    more = pl.concat_list("doc_id", "aliases").list.unique(maintain_order=True)
    return made.with_columns(
        doc_id=doc_id,
        cite_key=key,
        aliases=pl.when(renamed).then(more).otherwise("aliases"),
        read_as=pl.when(renamed).then("doc_id"),
    )


def set_aside(decided: Decisions) -> Iterator[pl.DataFrame]:
    """Yield the records set aside, span by span, with the reason and the document that has them."""
    ids = decided.table["doc_id"]
    for _, span in decided.spans():
        rows = span.filter(is_aside())
        kept_as = ids.gather(rows["owner"])
        yield told_aside(decided.parts.take(rows), rows["reason"].cast(pl.String), kept_as)


def is_aside() -> pl.Expr:
    """Select records that are excluded or merged."""
    return pl.col("reason").is_not_null() | (pl.col("size") > 1)


def told_aside(records: pl.DataFrame, reason: pl.Series, kept_as: pl.Series) -> pl.DataFrame:
    """Return records set aside, with the reason and the id of the document that has them."""
    return records.with_columns(
        reason=pl.lit(reason.fill_null(MERGED)), kept_as=pl.lit(kept_as)
    ).select(list(SET_ASIDE))


def _combined(decided: Decisions, folder: Path, workers: int) -> dict[int, list[Path]]:
    """Return the files of merged documents, by the span of their first record."""
    total = int(decided.table.select((pl.col("size") > 1).sum()).item())
    if not total:
        return {}
    count = min(MOST_BUCKETS, -(-total // BUCKET))
    folder.mkdir()
    buckets = [Bucket(number, [], folder, SPAN) for number in range(count)]
    for number, span in decided.spans():
        rows = span.filter(pl.col("size") > 1)
        records = decided.parts.take(rows).hstack(rows.select("row", "identity", "doubtful"))
        for part in records.with_columns(bucket=pl.col("identity") % count).partition_by("bucket"):
            bucket = buckets[int(part["bucket"][0])]
            path = folder / f"bucket-{bucket.number}-{number}.arrow"
            write_ipc(path, part.drop("bucket"))
            bucket.files.append(path)
    filled = [bucket for bucket in buckets if bucket.files]
    target = f"{combine_bucket.__module__}:{combine_bucket.__name__}"
    made: Iterable[list[tuple[int, Path]]] = map(combine_bucket, filled)
    if count > 1:
        made = run_all(target, filled, workers, lambda bucket, run: [run(bucket)])
    spans: dict[int, list[Path]] = {}
    for written in made:
        for span_number, path in written:
            spans.setdefault(span_number, []).append(path)
    return spans


# --- LaTeX that is left -----------------------------------------------------------------------


TELLTALES = (
    "ifmmode", "textquote", "textbackslash", "textasci", "textsuperscript", "textsubscript",
    "textbf", "textit", "textrm", "textsc", "texttt", "textsf", "textless", "textgreater",
    "textendash", "textemdash", "textellipsis", "textregistered", "texttrademark", "textdegree",
    "mathrm", "mathbf", "mathcal", "mathbb", "mathit", "mathsf", "mathfrak", "mathscr",
    "ensuremath", "operatorname", "boldsymbol", "leqslant", "geqslant", "varepsilon", "cprime",
    "noopsort", "vphantom",
)  # fmt: skip
"""Names of commands, or parts of names, that occur in no ordinary text."""

FIELDS = ("title", "authors", "venue", "abstract")
_COMMAND = r"\\[A-Za-z]{3,}\s*\{?"
_SHOWN = 20


def latex_left(documents: pl.LazyFrame) -> pl.DataFrame:
    """Return a row for each text with LaTeX left: ``doc_id``, ``source``, ``line``, ``field`` and
    an excerpt (``text``)."""
    texts = documents.select(
        "doc_id", "source", "line", "title", "venue", "abstract", "bibtex",
        authors=pl.col("authors").list.join("; "),
    )  # fmt: skip
    telling = pl.any_horizontal(
        pl.col(name).str.contains("|".join(TELLTALES)).fill_null(value=False) for name in FIELDS
    )
    raw = pl.col("bibtex").str.replace_all("\\\\", " ", literal=True).str.extract_all(_COMMAND)
    bare = pl.element().filter(~pl.element().str.ends_with("{")).str.strip_chars("\\ \t\r\n")
    known = pl.element().is_in(sorted(KNOWN_COMMANDS))
    doubtful = (
        texts.with_columns(telling=telling)
        .filter(pl.col("telling") | pl.col("bibtex").str.contains(_COMMAND))
        .with_columns(
            names=raw.list.eval(bare).list.eval(
                pl.element().filter(~known).unique(maintain_order=True)
            )
        )
        .filter(pl.col("telling") | (pl.col("names").list.len() > 0))
        .drop("bibtex")
        .collect()
    )
    left = [text for row in doubtful.iter_rows(named=True) for text in _left_in(row)]
    schema = {"doc_id": pl.String(), "source": pl.String(), "line": pl.Int64()}
    return pl.DataFrame(left, {**schema, "field": pl.String(), "text": pl.String()})


def _left_in(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a document that contain a telltale or the name of an unknown command."""
    words = "|".join([*TELLTALES, *(row["names"] or ())])
    pattern = re.compile(words)
    place = {name: row[name] for name in ("doc_id", "source", "line")}
    left = []
    for name in FIELDS:
        if match := pattern.search(row[name] or ""):
            start, end = max(0, match.start() - _SHOWN), match.end() + _SHOWN
            left.append({**place, "field": name, "text": match.string[start:end]})
    return left


class LatexLeft:
    """Counts the texts with LaTeX left: in all (``texts``) and in each document (``counts``)."""

    def __init__(self) -> None:
        self.texts = 0
        self.counts = pl.Series(dtype=pl.Int32)

    def count_texts(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the pieces unchanged, and count their texts."""
        for piece in pieces:
            left = latex_left(piece.lazy()).group_by("doc_id").len("count")
            self.texts += int(left["count"].sum())
            ids = piece.select("doc_id").join(left, on="doc_id", how="left", maintain_order="left")
            self.counts = self.counts.append(ids["count"].fill_null(0).cast(pl.Int32))
            yield piece
