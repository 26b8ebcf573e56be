"""What an export is: a named form, the files it wrote, and what that form could not hold."""

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
"""The query sets that an import makes from the citing papers; others came as files."""

BIBLIOGRAPHIC = Document._fields[1 : Document._fields.index("bibtex")]
"""The columns that describe a document, whatever it was read from."""


@dataclass(frozen=True, repr=False)
class ExportReport:
    """What was written: every file (relative to ``target``) with its number of records.

    ``notes`` says what the form does not hold and what reads back differently. For a form that
    is a single file, ``target`` is that file and ``files`` has its name.
    """

    form: str
    target: Path
    files: dict[str, int]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each file and for each note, for machines."""
        empty = {"form": self.form, "file": None, "records": None, "note": None}
        files = [{**empty, "file": name, "records": count} for name, count in self.files.items()]
        return files + [{**empty, "note": note} for note in self.notes]

    def lines(self) -> list[str]:
        """What was written and what was not, for people."""
        several = len(self.files) > 1 or self.target.name not in self.files
        what = [f"  {name}: {count:,}" for name, count in self.files.items()] if several else []
        total = "" if several else f" ({count(self.files[self.target.name], 'record')})"
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

    def write_jsonl(self, name: str, table: pl.DataFrame) -> Path:
        """Write a table as JSON Lines; gives where."""
        path = self.file(name, table.height)
        with path.open("wb") as file:
            table.write_ndjson(file)
        return path


@dataclass(frozen=True)
class Exporter:
    """A form to export to; ``file`` names its only file where it is not a folder of files.

    What is in ``lacks`` has no place in it; notes say so of what it is ``called``.
    """

    name: str
    title: str
    write: Callable[[Collection, Output], None]
    file: str = ""
    lacks: tuple[str, ...] = ()
    called: str = ""


def write_lines(file: IO[bytes], lines: pl.DataFrame, end: str = "\n") -> None:
    """Write a table of one text column as it stands, each value followed by ``end``."""
    lines.write_csv(file, include_header=False, quote_style="never", line_terminator=end)


# --- what a form cannot hold ------------------------------------------------------------------


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
    return f"where {count(number, 'query')} stood and what may not answer them is" if number else ""


def _of_documents(sentence: str, which: pl.Expr, table: str = "") -> _Part:
    """How many documents of a table a sentence speaks of; none is no sentence."""

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
    "aliases": _of_documents("the ids elsewhere (aliases) of {} are", _ALIASES),
    "bibtex": _of_documents("the BibTeX entry of {} is", pl.col("bibtex").count()),
    "fields": _of_documents("what documents have besides id, title and abstract is", pl.len()),
    "papers": _papers,
    "queries": _queries,
    "query details": _query_details,
    "provenance": lambda collection, _: (
        "where a document was read from (source, line, records) is" if collection.sources else ""
    ),
}


def left_out(collection: Collection, output: Output, exporter: Exporter) -> Iterator[str]:
    """A note for each part that the collection has and the form lacks."""
    for part in exporter.lacks:
        if what := _PARTS[part](collection, output):
            yield f"{what} not part of {exporter.called or exporter.title}"
