"""From records on disk to the documents of a collection, in memory that grows by the record's keys.

Every record is read in parts: once for its keys, of which it is decided what it is (a document, a
part of one, or set aside), and again to be written as that. Records of one document are brought
together on disk, in buckets by what they have in common.

Texts of documents in which the name of a LaTeX command seems to be left are counted: a command that
is not known leaves its name behind (``\\foo bar`` is ``foo bar``), and a reader that goes wrong
leaves more. This looks at what came out, beside what was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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
from citebed.records import Problem
from citebed.text.identifiers import FreeIds
from citebed.text.latex import KNOWN_COMMANDS

SPAN = 50_000
"""So many records are in memory at a time."""
BUCKET = 50_000
MOST_BUCKETS = 64
MERGED = "merged with the same document"

Crew = Callable[[str, Iterable[object]], Iterable[Any]]
"""Runs jobs for a target ("module:function") in several processes, and gives their answers."""


@dataclass(frozen=True)
class Decided:
    """What becomes of each record.

    ``table`` has a row for each, in the order of sources: its place in ``parts``, its ``source`` (a
    number of ``sources``), the ``reason`` why a rule sets it aside, else the ``owner``, the row of
    the first record of its document, the number of records (``size``) of that, ``doubtful`` if
    other documents have its DOI, ``doc_id``: of an owner, that of the document, and the document's
    ``cite_key``. ``problems`` is what there is to say of records, by source.
    """

    parts: Parts
    table: pl.DataFrame
    sources: list[str]
    problems: list[tuple[str, Problem]] = field(default_factory=list)

    def spans(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Slices of the table, numbered."""
        for number, start in enumerate(range(0, self.table.height, SPAN)):
            yield number, self.table[start : start + SPAN]


_READ_FIRST = (
    "doc_id", "type", "title", "doi", "arxiv", "abstract", "language", "source", "line",
)  # fmt: skip
"""What rules look at, and what records are first known by."""


def decide(
    parts: Parts,
    rules: Rules,
    earlier: int,
    before: Iterable[pl.DataFrame] = (),
    *,
    whole: bool = True,
) -> Decided:
    """Decide what becomes of each record.

    From the part ``earlier`` on they are of an earlier import, where their lines tell their order;
    the documents that there were ``before`` keep their cite keys. If these are not the ``whole`` of
    the records, rules may name types and languages that only others have.
    """
    problems = resolve_crossrefs(parts)
    numbers: dict[str, int] = {}
    types: set[str] = set()
    languages: set[str] = set()
    tables = [_empty_index()]
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
    return Decided(parts, table, list(numbers), problems)


def _empty_index() -> pl.DataFrame:
    place: dict[str, pl.DataType] = {
        "line": pl.Int32(),
        **dict.fromkeys(("source", "part", "at"), pl.UInt32()),
        "reason": pl.Categorical(),
    }
    keys = keys_of(pl.DataFrame(schema=dict(RECORD)))
    return pl.concat([pl.DataFrame(schema=place), keys], how="horizontal")


def _in_order(index: pl.DataFrame, sources: list[str]) -> pl.DataFrame:
    """By the names of sources; within one as it was read."""
    order = sorted(range(len(sources)), key=sources.__getitem__)
    ranks = pl.Series(order, dtype=pl.UInt32).arg_sort()
    index = index.with_columns(rank=ranks.gather(index["source"]))
    place = index.select("rank", "line")
    is_sorted = place.equals(place.sort("rank", "line"))
    if not is_sorted:
        index = index.sort("rank", "line", maintain_order=True)
    return index.drop("rank", "line")


def resolve_crossrefs(parts: Parts) -> list[tuple[str, Problem]]:
    """Fill in what BibTeX's ``crossref`` lends; what there is to say of it, by source."""
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
    """The table of `Decided`, from the keys of all records."""
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
    return _renamed(table)


def _renamed(table: pl.DataFrame) -> pl.DataFrame:
    """Different documents under one id: all but the first get a number behind it."""
    is_owner = pl.col("owner") == pl.col("row")
    owners = table.lazy().filter(is_owner).select("row", "doc_id").collect()
    rows = fresh_ids(owners)
    if rows.is_empty():
        return table
    return (
        table.join(rows, on="row", how="left", maintain_order="left")
        .with_columns(doc_id=pl.coalesce("fresh", "doc_id"))
        .drop("fresh")
    )


def fresh_ids(owners: pl.DataFrame) -> pl.DataFrame:
    """The ids (``fresh``) of those documents of which several have one ``doc_id``, by ``row``; the
    first one's is that."""
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


def documents(decided: Decided, folder: Path, crew: Crew) -> Iterator[pl.DataFrame]:
    """The documents, span by span; those of several records are made under ``folder``."""
    made = _combined(decided, folder, crew)
    names = decided.table.select("doc_id", "cite_key")
    for number, span in decided.spans():
        single = span.filter(pl.col("size") == 1)
        parts = [singles(decided.parts.take(single), single)]
        several_of = map(read_ipc, made.get(number, ()))
        parts += [several(read, names[read["row"]]) for read in several_of]
        yield pl.concat(parts).sort("row").select(list(DOCUMENTS))


def singles(records: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The documents of one record each; ``rows`` say what becomes of these."""
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
    """The documents that were made of several records, under their ``names`` in the collection."""
    doc_id, key = names["doc_id"], names["cite_key"]
    renamed = pl.col("doc_id") != doc_id
    more = pl.concat_list("doc_id", "aliases").list.unique(maintain_order=True)
    return made.with_columns(
        doc_id=doc_id,
        cite_key=key,
        aliases=pl.when(renamed).then(more).otherwise("aliases"),
        read_as=pl.when(renamed).then("doc_id"),
    )


def set_aside(decided: Decided) -> Iterator[pl.DataFrame]:
    """The records that are no documents of their own, span by span: why, and what they are kept
    as."""
    ids = decided.table["doc_id"]
    for _, span in decided.spans():
        rows = span.filter(is_aside())
        kept_as = ids.gather(rows["owner"])
        yield told_aside(decided.parts.take(rows), rows["reason"].cast(pl.String), kept_as)


def is_aside() -> pl.Expr:
    """Whether a record is no document of its own."""
    return pl.col("reason").is_not_null() | (pl.col("size") > 1)


def told_aside(records: pl.DataFrame, reason: pl.Series, kept_as: pl.Series) -> pl.DataFrame:
    """Records that are set aside, with why and what they are kept as."""
    return records.with_columns(
        reason=pl.lit(reason.fill_null(MERGED)), kept_as=pl.lit(kept_as)
    ).select(list(SET_ASIDE))


def _combined(decided: Decided, folder: Path, crew: Crew) -> dict[int, list[Path]]:
    """The files of documents made of several records, by the span of their first record."""
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
    made = map(combine_bucket, filled) if count == 1 else crew(target, filled)
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
"""Names of commands that no text has otherwise, in part or whole."""

FIELDS = ("title", "authors", "venue", "abstract")
_COMMAND = r"\\[A-Za-z]{3,}\s*\{?"
_SHOWN = 20


def latex_left(documents: pl.LazyFrame) -> pl.DataFrame:
    """A row for each such text: ``doc_id``, ``source``, ``line``, ``field``, and some of it."""
    texts = documents.select(
        "doc_id", "source", "line", "title", "venue", "abstract", "bibtex",
        authors=pl.col("authors").list.join("; "),
    )  # fmt: skip
    telling = pl.any_horizontal(
        pl.col(name).str.contains("|".join(TELLTALES)).fill_null(value=False) for name in FIELDS
    )
    doubtful = (
        texts.with_columns(telling=telling)
        .filter(pl.col("telling") | pl.col("bibtex").str.contains(_COMMAND))
        .with_columns(names=_unknown_commands())
        .filter(pl.col("telling") | (pl.col("names").list.len() > 0))
        .drop("bibtex")
        .collect()
    )
    left = [text for row in doubtful.iter_rows(named=True) for text in _left_in(row)]
    schema = {"doc_id": pl.String(), "source": pl.String(), "line": pl.Int64()}
    return pl.DataFrame(left, {**schema, "field": pl.String(), "text": pl.String()})


def _unknown_commands() -> pl.Expr:
    """The commands of an entry that would leave their names: not known, and no brace behind them.

    Two backslashes are a line's end or part of a Windows path.
    """
    raw = pl.col("bibtex").str.replace_all("\\\\", " ", literal=True).str.extract_all(_COMMAND)
    bare = pl.element().filter(~pl.element().str.ends_with("{")).str.strip_chars("\\ \t\r\n")
    known = pl.element().is_in(sorted(KNOWN_COMMANDS))
    return raw.list.eval(bare).list.eval(pl.element().filter(~known).unique(maintain_order=True))


def _left_in(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a document with a telltale, or the name of a command that is not known."""
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
    """How many such ``texts`` there are in documents that pass by in pieces, and in each of them
    (``counts``)."""

    def __init__(self) -> None:
        self.texts = 0
        self.counts = pl.Series(dtype=pl.Int32)

    def counted(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The pieces as they are."""
        for piece in pieces:
            left = latex_left(piece.lazy()).group_by("doc_id").len("count")
            self.texts += int(left["count"].sum())
            ids = piece.select("doc_id").join(left, on="doc_id", how="left", maintain_order="left")
            self.counts = self.counts.append(ids["count"].fill_null(0).cast(pl.Int32))
            yield piece
