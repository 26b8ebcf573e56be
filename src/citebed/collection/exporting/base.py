"""What an export is: a named form, the files it wrote, and what that form could not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

from citebed.collection.collection import Collection
from citebed.records import Document
from citebed.wording import printable

DERIVED_SETS = ("paragraphs", "sentences")
"""The query sets that an import makes from the citing papers; others came as files."""

BIBLIOGRAPHIC = Document._fields[1 : Document._fields.index("bibtex")]
"""The columns that describe a document, whatever it was read from."""


@dataclass(frozen=True)
class ExportReport:
    """What was written: every file (relative to ``target``) with its number of records.

    ``notes`` says what the form does not hold and what reads back differently. For a form that
    is a single file, ``target`` is that file and ``files`` has its name.
    """

    form: str
    target: Path
    files: dict[str, int]
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each file and for each note, for machines."""
        empty = {"form": self.form, "file": None, "records": None, "note": None}
        files = [{**empty, "file": name, "records": count} for name, count in self.files.items()]
        return files + [{**empty, "note": note} for note in self.notes]

    def lines(self) -> list[str]:
        """What was written and what was not, for people."""
        several = len(self.files) > 1 or self.target.name not in self.files
        what = [f"  {name}: {count:,}" for name, count in self.files.items()] if several else []
        total = "" if several else f" ({self.files[self.target.name]:,} records)"
        wrote = f"wrote {printable(self.target)}{total}"
        return [wrote, *what, *(f"note: {note}" for note in self.notes)]


@dataclass
class Output:
    """An export in the making: where its files go, and what is to be said about it.

    ``query_sets`` are the sets to write; ``chosen`` tells whether the user named them. Of a form
    that is a ``single`` file, ``draft`` is that file and not a folder.
    """

    draft: Path
    query_sets: tuple[str, ...]
    chosen: bool = False
    single: bool = False
    files: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def file(self, name: str, records: int) -> Path:
        """Where to write the file ``name``; its folder is made, its records are counted."""
        path = self.draft if self.single else self.draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.files[name] = records
        return path

    def open(self, name: str, records: int) -> IO[bytes]:
        """The file ``name`` to write to: polars takes no path that is not UTF-8, but any file."""
        return self.file(name, records).open("wb")


@dataclass(frozen=True)
class Exporter:
    """A form to export to; ``file`` names its only file where it is not a folder of files."""

    name: str
    title: str
    write: Callable[[Collection, Output], None]
    file: str = ""


def write_lines(file: IO[bytes], lines: pl.DataFrame, end: str = "\n") -> None:
    """Write a table of one text column as it stands, each value followed by ``end``."""
    lines.write_csv(file, include_header=False, quote_style="never", line_terminator=end)
