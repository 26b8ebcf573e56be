"""What an import did, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.wording import count, printable

_MOST_FILES = 3
_NAMES = {
    "doi": "by DOI",
    "id": "by id",
    "arxiv": "by arXiv id",
    "title": "by title",
    "preprint": "as preprint or published version (title and first author are the same)",
}


class Account(NamedTuple):
    """Every record that a reader met, of all sources, is one of these: a document, one that was
    merged into another, one that a rule excluded, another than a document's (a citing paper, a
    query, a judgement, a list of references), or a located problem."""

    met: int
    documents: int
    merged: int
    excluded: int
    others: int
    problems: int

    @property
    def missing(self) -> int:
        """How many records are none of that; any but 0 is a bug of ours."""
        return self.met - sum(self[1:])

    def told(self) -> str:
        """The mismatch, to be reported."""
        parts = ", ".join(f"{number:,} {name}" for name, number in self._asdict().items())
        return f"the account does not add up ({parts}): a bug of citebed's; please report it"


_NOTHING = Account(0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class ImportReport:
    """What an import read, kept and left out; ``records`` counts the document records of all files,
    ``outside`` the citing paragraphs of each section that the rules make no queries of.

    ``outcomes`` says what became of each file that is new or has changed, ``together`` what became
    of all of them where others were there before, ``formats`` how many were taken for each;
    ``new_problems`` are those of the ``problems`` that no earlier import has told of. Sources
    ``elsewhere`` were not named, so that pruning could not tell whether they are still there.
    ``resolved`` counts the references found by each name of a document.
    ``doubtful`` documents have a DOI that others have too, under other titles; in ``latex_left``
    texts the name of a LaTeX command seems to be left. The ``account`` tells what became of every
    record.
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
    account: Account = _NOTHING
    together: str = ""

    def lines(self) -> list[tuple[str, str]]:
        """The report for people: a label and a sentence a line; nothing is left unsaid."""
        new, same = self.files - self.unchanged, self.unchanged
        files = count(new, "new or changed file") + (f", {same:,} unchanged" if same else "")
        files = files if self.files else "no file was named"
        merged = count(self.merged, "record")
        lines = [
            ("read", f"{self._records_told()}; {files}"),
            *self._outcome_lines(),
            ("kept", f"{count(self.documents, 'document')}, {merged} merged into others"),
        ]
        if self.set_aside:
            total = sum(self.set_aside.values())
            parts = "; ".join(f"{reason} {count:,}" for reason, count in self.set_aside.items())
            lines.append(("set aside", f"{total:,}: {parts}"))
        if self.account.missing:
            lines.append(("bug", self.account.told()))
        if self.doubtful:
            shared = f"{count(self.doubtful, 'document')} with a DOI that other titles have too"
            lines.append(("doubtful", f"{shared}; citebed lint shows them"))
        if self.latex_left:
            texts = f"{count(self.latex_left, 'text')} in which a LaTeX command seems to be left"
            lines.append(("LaTeX", f"{texts}; citebed lint --only latex-remains shows them"))
        if self.papers:
            lines.append(("citing", count(self.papers, "paper")))
        if self.resolved:
            lines.append(("references", self._references_found()))
        if self.outside:
            lines.append(("outside", self._sections_outside()))
        if self.queries:
            sets = (f"{count:,} {name}" for name, count in self.queries.items())
            lines.append(("queries", ", ".join(sets)))
        if self.forgotten:
            lines.append(("forgot", _some(self.forgotten)))
        if self.elsewhere:
            unknown = f"not known whether there: {_some(self.elsewhere)}"
            lines.append(("elsewhere", f"{unknown}; name such a path to prune it, or forget it"))
        if self.missing:
            gone = f"no longer there: {_some(self.missing)}"
            lines.append(("gone", f"{gone}; --prune forgets such sources"))
        return lines + self._problem_lines()

    def _records_told(self) -> str:
        """How many records are of documents, and how many of something else, if any."""
        if not (others := self.account.others):
            return count(self.records, "record")
        return f"{count(self.records, 'record')} of documents, {count(others, 'other')}"

    def _references_found(self) -> str:
        """How many references were found, and by which of a document's names."""
        by = ", ".join(f"{_NAMES[name]} {number:,}" for name, number in self.resolved.items())
        return f"{sum(self.resolved.values()):,} found in the collection: {by}"

    def _sections_outside(self) -> str:
        """How many paragraphs, and of which sections: one may have been misspelt."""
        paragraphs = count(sum(self.outside.values()), "citing paragraph")
        sections = [
            f"{printable(name) or 'none'} {number:,}" for name, number in self.outside.items()
        ]
        return f"{paragraphs} of other sections: {_some(sections)}"

    def _outcome_lines(self) -> list[tuple[str, str]]:
        """A line a file, where these are few, else how many are in each format and, if others
        were there before, what became of them all; what was wrong is told further below."""
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
                ("before", f"{count(before, 'problem')} told at earlier imports, in {table}")
            )
        return lines

    def rows(self) -> list[dict[str, object]]:
        """The report for programs: flat rows of ``group``, ``name`` and ``value``."""
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
            *(("problems", kind, count) for kind, count in counted(self.problems["kind"]).items()),
            ("gone", "sources", len(self.missing)),
            ("forgotten", "sources", len(self.forgotten)),
            *(("account", name, number) for name, number in self.account._asdict().items()),
            ("account", "missing", self.account.missing),
        ]
        return [{"group": group, "name": name, "value": value} for group, name, value in rows]


def counted(values: pl.Series) -> dict[str, int]:
    """How often there is each value, the most frequent first."""
    return dict(values.value_counts(sort=True).iter_rows())


def _some(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
