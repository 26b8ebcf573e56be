"""Export formats, their output, and reports on what a format cannot store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

from citebed.collection.collection import Collection
from citebed.records import Document
from citebed.wording import count, printable

DERIVED_SETS = ("paragraphs", "sentences")
"""The query sets that an import makes from citing papers; others come from files."""

BIBLIOGRAPHIC = Document._fields[1 : Document._fields.index("bibtex")]
"""The columns that describe a document in any format."""


@dataclass(frozen=True, repr=False)
class ExportReport:
    """The written files (relative to ``target``) with their numbers of records.

    ``notes`` say what the format does not contain and what reads back differently. For a format of
    one file, ``target`` is the file.
    """

    form: str
    target: Path
    files: dict[str, int]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def rows(self) -> list[dict[str, Any]]:
        """Return flat rows, one for each file and each note."""
        empty = {"form": self.form, "file": None, "records": None, "note": None}
        files = [{**empty, "file": name, "records": count} for name, count in self.files.items()]
        return files + [{**empty, "note": note} for note in self.notes]

    def lines(self) -> list[str]:
        """Return the report as lines for people."""
        several = len(self.files) > 1 or self.target.name not in self.files
        what = [f"  {name}: {count:,}" for name, count in self.files.items()] if several else []
        total = "" if several else f" ({count(self.files[self.target.name], 'record')})"
        wrote = f"wrote {printable(self.target)}{total}"
        return [wrote, *what, *(f"note: {note}" for note in self.notes)]


@dataclass
class Output:
    """The output of an export: the files and notes so far.

    ``query_sets`` are the sets to write; ``chosen`` is True if the user named them. ``draft`` is
    the folder to write to, or, if ``single``, the file.
    """

    draft: Path
    query_sets: tuple[str, ...]
    chosen: bool = False
    single: bool = False
    files: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def file(self, name: str, records: int) -> Path:
        """Return the path of a new file; create its folder and count its records."""
        path = self.draft if self.single else self.draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.files[name] = records
        return path

    def open(self, name: str, records: int) -> IO[bytes]:
        """Open a new file, because polars refuses paths that are not UTF-8."""
        return self.file(name, records).open("wb")

    def write_jsonl(self, name: str, table: pl.DataFrame) -> Path:
        """Write a table as JSON Lines; return the path."""
        path = self.file(name, table.height)
        with path.open("wb") as file:
            table.write_ndjson(file)
        return path


@dataclass(frozen=True)
class Exporter:
    """An export format; ``file`` is the name of its only file, or empty for a folder.

    ``lacks`` names what the format cannot store; notes report this under the name ``called``.
    """

    name: str
    title: str
    write: Callable[[Collection, Output], None]
    file: str = ""
    lacks: tuple[str, ...] = ()
    called: str = ""


def write_lines(file: IO[bytes], lines: pl.DataFrame, end: str = "\n") -> None:
    """Write a table of one text column without changes, each value followed by ``end``."""
    lines.write_csv(file, include_header=False, quote_style="never", line_terminator=end)


# --- What a format cannot store ---------------------------------------------------------------


_Part = Callable[[Collection, Output], str]


def _papers(collection: Collection, _: Output) -> str:
    papers, contexts = collection.papers.height, collection.contexts.height
    texts = f"the text of {count(papers, 'citing paper')} ({count(contexts, 'sentence')}) is"
    return texts if papers else ""


def _queries(collection: Collection, output: Output) -> str:
    names = output.query_sets or (() if output.chosen else collection.query_sets)
    return f"the queries and judgements ({', '.join(names)}) are" if names else ""


def _query_details(collection: Collection, output: Output) -> str:
    tables = [collection.queries(name) for name in output.query_sets]
    details = pl.any_horizontal(
        pl.col("exclude").list.len() > 0, pl.col("paper_id", "section", "before").is_not_null()
    )
    number = sum(int(table.select(details.sum()).item()) for table in tables)
    return f"the place and the exclusions of {count(number, 'query')} are" if number else ""


def _of_documents(sentence: str, which: pl.Expr, table: str = "") -> _Part:
    """Return a function that fills a sentence with the number of documents, if there are any."""

    def part(collection: Collection, _: Output) -> str:
        rows = getattr(collection, table).lazy() if table else collection.scan_documents()
        documents = int(rows.select(which).collect().item())
        return sentence.format(count(documents, "document")) if documents else ""

    return part


_OWNERS = pl.col("doc_id").drop_nulls().n_unique()
_ALIASES = (pl.col("aliases").list.len() > 0).sum()
_PARTS: dict[str, _Part] = {
    "full text": _of_documents("full text of {} is", _OWNERS, "sections"),
    "links": _of_documents("the links of {} are", _OWNERS, "links"),
    "aliases": _of_documents("the other ids (aliases) of {} are", _ALIASES),
    "bibtex": _of_documents("the BibTeX entry of {} is", pl.col("bibtex").count()),
    "fields": _of_documents("all fields except id, title and abstract are", pl.len()),
    "papers": _papers,
    "queries": _queries,
    "query details": _query_details,
    "provenance": lambda collection, _: (
        "the sources of documents (source, line, records) are" if collection.sources else ""
    ),
}


def describe_losses(collection: Collection, output: Output, exporter: Exporter) -> Iterator[str]:
    """Yield a note for each part of the collection that the format cannot store."""
    for part in exporter.lacks:
        if what := _PARTS[part](collection, output):
            yield f"{what} not part of {exporter.called or exporter.title}"
