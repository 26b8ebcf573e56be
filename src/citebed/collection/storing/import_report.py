"""What an import did, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from citebed.wording import printable


@dataclass(frozen=True)
class ImportReport:
    """What an import read, kept and left out; ``records`` counts the document records read,
    ``outside`` the citing paragraphs of sections that the rules make no queries of."""

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
    outside: int = 0

    def lines(self) -> list[tuple[str, str]]:
        """The report for people: a label and a sentence a line; nothing is left unsaid."""
        new, same = self.files - self.unchanged, self.unchanged
        files = f"{new:,} new or changed files, {same:,} unchanged"
        lines = [
            ("read", f"{self.records:,} records; {files}"),
            ("kept", f"{self.documents:,} documents, {self.merged:,} records merged into others"),
        ]
        if self.set_aside:
            total = sum(self.set_aside.values())
            parts = "; ".join(f"{reason} {count:,}" for reason, count in self.set_aside.items())
            lines.append(("set aside", f"{total:,}: {parts}"))
        if self.papers:
            lines.append(("citing", f"{self.papers:,} papers"))
        if self.outside:
            lines.append(("outside", f"{self.outside:,} citing paragraphs of other sections"))
        if self.queries:
            sets = (f"{count:,} {name}" for name, count in self.queries.items())
            lines.append(("queries", ", ".join(sets)))
        if self.missing:
            gone = f"{len(self.missing):,} sources are no longer there"
            lines.append(("gone", f"{gone}; --prune forgets them"))
        return lines + self._problem_lines()

    def _problem_lines(self) -> list[tuple[str, str]]:
        lines = []
        table = printable(self.folder / "import" / "problems.parquet")
        for kind in ("skipped", "mended", "ignored"):
            rows = self.problems.filter(pl.col("kind") == kind)
            for number, row in enumerate(rows.head(3).iter_rows(named=True)):
                label = f"{kind} {rows.height:,}" if number == 0 else ""
                lines.append((label, f"{row['source']}:{row['line']}: {row['what']}"))
            if rows.height > 3:
                lines.append(("", f"… and {rows.height - 3:,} more, in {table}"))
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
            *((("outside", "paragraphs", self.outside),) if self.outside else ()),
            *(("set aside", reason, count) for reason, count in self.set_aside.items()),
            *(("queries", name, count) for name, count in self.queries.items()),
            *(("problems", kind, count) for kind, count in counted(self.problems["kind"]).items()),
            ("gone", "sources", len(self.missing)),
        ]
        return [{"group": group, "name": name, "value": value} for group, name, value in rows]


def counted(values: pl.Series) -> dict[str, int]:
    """How often there is each value, the most frequent first."""
    return dict(values.value_counts(sort=True).iter_rows())
