"""The report of an import, for people and for programs: the outcome of its records and files.

An import without any result raises an error with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from citebed.collection.building.assembling import Decisions
from citebed.collection.formats.bibtex import ONLY_STRINGS
from citebed.collection.tables import IMPORT, Frames, count_values
from citebed.errors import CitebedError
from citebed.records import Problem
from citebed.wording import count, list_first, printable

_MOST_FILES = 3
_NAMES = {
    "doi": "by DOI",
    "id": "by id",
    "arxiv": "by arXiv id",
    "title": "by title",
    "preprint": "as preprint or published version (title and first author are the same)",
}
_OUTCOME_WORDS = {
    "other": "merged with others",
    "within": "merged among themselves",
    "aside": "set aside",
}


@dataclass(frozen=True)
class ImportReport:
    """The numbers of read, kept and excluded records and files of an import.

    ``records`` counts the document records of all files, and ``outside`` the citing paragraphs of
    each section without queries. ``outcomes`` describes the result for each new or changed file.
    ``together`` does so for all of them together, if the collection had other files before.
    ``formats`` counts files by format. ``new_problems`` are the ``problems`` that no earlier import
    reported.

    ``elsewhere`` has sources that the user did not name and whose path is unknown, so that pruning
    cannot check them. ``resolved`` counts references by how citebed found them. ``doubtful`` counts
    documents with a DOI that documents with other titles have too. ``latex_left`` counts texts in
    which the name of a LaTeX command seems to be left. ``met`` counts all records that the readers
    met, and ``others`` the records of anything but documents. ``damaged`` are files that keep their
    earlier records, and what is wrong with them.
    """

    folder: Path
    files: int
    unchanged: int
    records: int
    documents: int
    merged: int
    set_aside: dict[str, int]
    papers: int
    queries: dict[str, int]
    problems: pl.DataFrame
    missing: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    outcomes: list[tuple[str, str]] = field(default_factory=list)
    new_problems: pl.DataFrame = field(default_factory=pl.DataFrame)
    outside: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    resolved: dict[str, int] = field(default_factory=dict)
    doubtful: int = 0
    latex_left: int = 0
    met: int = 0
    forgotten_papers: list[str] = field(default_factory=list)
    others: int = 0
    together: str = ""
    damaged: dict[str, str] = field(default_factory=dict)

    @property
    def account(self) -> dict[str, int]:
        """The counts of all records by what became of them.

        Each record that a reader met is a document, a record merged into another, an excluded
        record, a record of something else (a citing paper, query, judgement or reference list), or
        a problem. If one is ``missing``, that is a bug.
        """
        counts = {
            "documents": self.documents,
            "merged": self.merged,
            "excluded": sum(self.set_aside.values()),
            "others": self.others,
            "problems": self.problems.filter(kind="skipped").height,
        }
        return {"met": self.met, **counts, "missing": self.met - sum(counts.values())}

    def lines(self) -> list[tuple[str, str]]:
        """Return the report for people: lines of a label and a sentence."""
        new, same = self.files - self.unchanged, self.unchanged
        files = count(new, "new or changed file") + (f", {same:,} unchanged" if same else "")
        records, others = count(self.records, "record"), count(self.others, "other")
        read = f"{records} of documents, {others}" if self.others else records
        merged = count(self.merged, "record")
        lines = [
            ("read", f"{read}; {files if self.files else 'no file was named'}"),
            *self._outcome_lines(),
            ("kept", f"{count(self.documents, 'document')}, {merged} merged into others"),
        ]
        total = f"{sum(self.set_aside.values()):,}"
        aside = "; ".join(f"{reason} {number:,}" for reason, number in self.set_aside.items())
        account = self.account
        missing = account.pop("missing")
        counts = ", ".join(f"{number:,} {name}" for name, number in account.items())
        resolved = ", ".join(f"{_NAMES[name]} {number:,}" for name, number in self.resolved.items())
        paragraphs = count(sum(self.outside.values()), "citing paragraph")
        sections = [f"{printable(n) or 'none'} {number:,}" for n, number in self.outside.items()]
        sets = (f"{number:,} {name}" for name, number in self.queries.items())
        for there, label, text in (
            (self.set_aside, "set aside", f"{total}: {aside}"),
            (
                missing,
                "bug",
                f"the counts do not add up ({counts}): a bug in citebed; please report it",
            ),
            (
                self.doubtful,
                "doubtful",
                f"{count(self.doubtful, 'document')} with a DOI that other titles have too;"
                " citebed lint shows them",
            ),
            (
                self.latex_left,
                "LaTeX",
                f"{count(self.latex_left, 'text')} in which a LaTeX command seems to be left;"
                " citebed lint --only latex-remains shows them",
            ),
            (self.papers, "citing", count(self.papers, "paper")),
            (
                self.resolved,
                "references",
                f"{sum(self.resolved.values()):,} found in the collection: {resolved}",
            ),
            (self.outside, "outside", f"{paragraphs} of other sections: {list_first(sections, 3)}"),
            (self.queries, "queries", ", ".join(sets)),
            (self.forgotten, "forgot", list_first(self.forgotten, 3)),
            (
                self.forgotten_papers,
                "forgot",
                f"{count(len(self.forgotten_papers), 'paper')}:"
                f" {list_first(self.forgotten_papers, 3)}",
            ),
            (
                self.elsewhere,
                "elsewhere",
                f"citebed cannot check {list_first(self.elsewhere, 3)};"
                " name the path to prune it, or forget it",
            ),
            (
                self.missing,
                "gone",
                f"no longer there: {list_first(self.missing, 3)}; --prune forgets such sources",
            ),
        ):
            lines += [(label, text)] if there else []
        return lines + self._problem_lines()

    def _outcome_lines(self) -> list[tuple[str, str]]:
        """Return a line for each file if there are few. Otherwise count the files by format and, if
        the collection had other files before, say what became of all new ones."""
        if len(self.outcomes) <= _MOST_FILES:
            return [("", f"{name}: {what}") for name, what in self.outcomes]
        formats = (f"{name or 'none'} {number:,}" for name, number in self.formats.items())
        lines = [("taken for", ", ".join(formats)), ("new", self.together)]
        return [line for line in lines if line[1]]

    def _problem_lines(self) -> list[tuple[str, str]]:
        lines = []
        table = printable(self.folder / "import" / "problems.parquet")
        for kind in ("skipped", "mended", "ignored"):
            rows = self.new_problems.filter(pl.col("kind") == kind)
            for number, row in enumerate(rows.head(3).iter_rows(named=True)):
                label = f"{kind} {rows.height:,}" if number == 0 else ""
                lines.append((label, f"{row['source']}:{row['line']}: {row['what']}"))
            if rows.height > 3:
                lines.append(("", f"… and {rows.height - 3:,} more, in {table}"))
        if before := self.problems.height - self.new_problems.height:
            lines.append(
                ("before", f"{count(before, 'problem')} reported by earlier imports, in {table}")
            )
        return lines

    def rows(self) -> list[dict[str, object]]:
        """Return the report for programs: flat rows of ``group``, ``name`` and ``value``."""
        rows: list[tuple[str, str, int]] = [
            ("read", "files", self.files),
            ("read", "unchanged files", self.unchanged),
            ("read", "records", self.records),
            ("kept", "documents", self.documents),
            ("kept", "merged records", self.merged),
            ("kept", "papers", self.papers),
            ("kept", "doubtful DOIs", self.doubtful),
            ("kept", "texts with LaTeX left", self.latex_left),
            *(("references", f"by {name}", number) for name, number in self.resolved.items()),
            *((("outside", "paragraphs", sum(self.outside.values())),) if self.outside else ()),
            *(("set aside", reason, count) for reason, count in self.set_aside.items()),
            *(("queries", name, count) for name, count in self.queries.items()),
            *(
                ("problems", kind, count)
                for kind, count in count_values(self.problems["kind"]).items()
            ),
            ("gone", "sources", len(self.missing)),
            ("forgotten", "sources", len(self.forgotten)),
            *(("account", name, number) for name, number in self.account.items()),
            *((("forgotten", "papers", len(self.forgotten_papers)),) * bool(self.forgotten_papers)),
        ]
        return [{"group": group, "name": name, "value": value} for group, name, value in rows]


# --- What an import must come to --------------------------------------------------------------


def check_has_records(report: ImportReport, frames: Frames, named: Collection[str]) -> None:
    """Raise an error if an import keeps no document of its records, or finds nothing in its
    files."""
    if report.records and not report.documents:
        reasons = "; ".join(f"{why} {number:,}" for why, number in report.set_aside.items())
        what = f"of {count(report.records, 'record')} none would be kept: {reasons}"
        raise CitebedError(f"{what}. Nothing was changed; give other rules.")
    sources = frames[f"{IMPORT}/sources"]
    useful = set(sources.filter(pl.col("records") > 0)["source"])
    if not useful:
        raise CitebedError(
            _explain_empty_import(report, named) or "nothing would be left. Nothing was changed."
        )
    copies = set(named) - set(sources["source"])  # their contents were read before
    lenders = report.problems.filter(pl.col("what") == ONLY_STRINGS)["source"]
    if named and not copies and useful.isdisjoint(named) and lenders.is_in(list(named)).sum() == 0:
        raise CitebedError(_explain_empty_import(report, named))


def _explain_empty_import(report: ImportReport, named: Collection[str]) -> str:
    """Return why the named files gave no records, if known."""
    top = pl.col("source").str.split("!").list.first()
    rows = report.problems.filter(top.is_in(list(named)))
    if not named or rows.is_empty():
        return "" if not named else "nothing was imported: the named sources have no records."
    first = rows.row(0, named=True)
    place = first["source"] if first["kind"] == "ignored" else f"{first['source']}:{first['line']}"
    more = f" (and {rows.height - 1:,} more)" if rows.height > 1 else ""
    reads = "citebed reads BibTeX, RIS, CSL-JSON and more, see its page on formats"
    return f"nothing was imported: {place}: {first['what'].rstrip('.')}{more}. {reads}."


# --- What became of records and files ---------------------------------------------------------


Files = dict[str, dict[str, int]]
"""Counts for each file: its ``own`` documents, records merged ``within`` it, records merged with
records of ``other`` files, and records set ``aside``."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of all records: the number of records, documents, excluded records by reason, and
    doubtful documents; and the counts by file."""

    records: int
    documents: int
    set_aside: dict[str, int]
    doubtful: int
    files: Files
    problems: list[tuple[str, Problem]] = field(default_factory=list)


def count_outcome(decided: Decisions) -> Outcome:
    """Count what became of the records."""
    table = decided.table
    return Outcome(
        records=table.height,
        documents=table["owner"].drop_nulls().n_unique(),
        set_aside=count_values(table["reason"].cast(pl.String)),
        doubtful=table.filter("doubtful")["owner"].n_unique(),
        files=count_by_file(decided),
        problems=decided.problems,
    )


def count_by_file(decided: Decisions) -> Files:
    """Count what became of the records of each file."""
    names = sorted({name.partition("!")[0] for name in decided.sources})
    files = {name: number for number, name in enumerate(names)}
    numbers = [files[name.partition("!")[0]] for name in decided.sources]
    file = pl.Series("file", numbers, dtype=pl.UInt32).gather(decided.table["source"])
    table = decided.table.select("row", "owner", "size", file)
    if table.is_empty():
        return {}
    inside = pl.col("file").min().over("owner") == pl.col("file").max().over("owner")
    several = (pl.col("size") > 1).fill_null(value=False)
    first = pl.col("owner") == pl.col("row")
    counts = (
        table.with_columns(inside=inside)
        .group_by("file")
        .agg(
            own=((pl.col("size") == 1) | (several & pl.col("inside") & first)).sum(),
            within=(several & pl.col("inside") & ~first).sum(),
            other=(several & ~pl.col("inside")).sum(),
            aside=pl.col("owner").is_null().sum(),
        )
    )
    return {names[row.pop("file")]: row for row in counts.iter_rows(named=True)}


Read = list[dict[str, object]]
"""A row for each file that was read."""


def describe_files(
    files: Files, read: Read, copies: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Describe what became of each file that was read; ``copies`` are pairs of equal files."""
    items = [(name, f"the same as {other}, which was read") for name, other in copies]
    for row in read:
        form = f" ({row['format']})" if row["format"] else ""
        items.append((str(row["source"]), _describe_outcome(files, [row], "its") + form))
    return sorted(items)


def describe_all_files(files: Files, read: Read) -> str:
    """Describe what became of all read files; return "" if the collection has no others."""
    new = {str(row["source"]) for row in read}
    everything = files.keys() <= new
    return (
        ""
        if everything
        else f"{count(len(read), 'file')}: {_describe_outcome(files, read, 'their')}"
    )


def _describe_outcome(files: Files, read: Read, whose: str) -> str:
    counts = [files.get(str(row["source"]), {}) for row in read]
    totals = {name: sum(file.get(name, 0) for file in counts) for name in ("own", *_OUTCOME_WORDS)}
    own = totals.pop("own")
    parts = [f"{number:,} {_OUTCOME_WORDS[name]}" for name, number in totals.items() if number]
    if parts and own:
        parts = [f"{count(own, 'document')} of {whose} own", *parts]
    records = sum(int(str(row["records"])) for row in read)
    return ", ".join([count(records, "record"), *parts])
