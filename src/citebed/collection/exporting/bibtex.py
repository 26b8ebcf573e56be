"""One BibTeX file with all documents, each under a key of its own.

An entry that was read from BibTeX is written as it was, but for commands that bibliographies do not
use, which are written as text and told. All others are written from the
document's fields, and read back at once: what differs then is counted and told. Where the id is
nothing to type (a DOI, a number) but the document has a cite key, the entry stands under that;
further keys stand in BibLaTeX's ``ids``.
"""

from __future__ import annotations

from collections import Counter

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import (
    BIBLIOGRAPHIC,
    Exporter,
    Output,
    differences,
    told,
    write_lines,
)
from citebed.collection.formats.bibtex import (
    document_of,
    entry_of,
    fields_of,
    lone_entry,
    with_fields,
    write_entry,
)
from citebed.collection.formats.bibtex_entry import NOT_RECORDS
from citebed.collection.formats.bibtex_safety import (
    COMMANDS,
    CONTROLS,
    strange_commands,
    told_of_strange,
)
from citebed.collection.tables import document_of_row
from citebed.records import Document
from citebed.text.identifiers import FreeIds
from citebed.text.latex import text_to_latex
from citebed.text.normalise import unique
from citebed.wording import count

FILE = "documents.bib"
_MANY = 500
_OPENING = r"@\s*[A-Za-z][\w-]*\s*[{(]"
_NO_ENTRY = rf"(?i)@\s*(?:{'|'.join(sorted(NOT_RECORDS))})\s*[{{(]"
_KEY = r'^@\s*[A-Za-z][\w-]*\s*[{(]\s*([^,{}="\n]*?)\s*,'


def write_bibtex(collection: Collection, output: Output) -> None:
    """All documents as BibTeX entries, in the collection's order."""
    documents = collection.documents
    ready = documents.select(_is_ready(collection).alias("ready")).to_series()
    entries = _Entries(documents["doc_id"])
    others = documents.filter(~ready).select("doc_id", "bibtex", "keys", *BIBLIOGRAPHIC)
    rows = (row for part in others.iter_slices(10_000) for row in part.iter_rows(named=True))
    made = [entries.add(document_of_row(row)) for row in rows]
    others = others.select("doc_id", made=pl.Series(made, dtype=pl.String))
    lines = documents.with_columns(ready=ready).join(
        others, on="doc_id", how="left", maintain_order="left"
    )
    text = pl.when("ready").then("bibtex").otherwise("made").alias("entry")
    with output.open(FILE, documents.height) as file:
        write_lines(file, lines.select(text), end="\n\n")
    output.notes += entries.notes()
    if same := int(documents["doc_id"].str.to_lowercase().is_duplicated().sum()):
        keys = count(same, "key")
        output.notes.append(f"{keys} differ in case only, which BibTeX does not tell apart")


def _is_ready(collection: Collection) -> pl.Expr:
    """Whether the entry can be written as it is: read from BibTeX, alone, under this id, and
    without anything that would have to be made harmless."""
    from_jsonl = pl.col("format").str.contains("jsonl", literal=True)
    given = collection.files.filter(from_jsonl)["source"]
    top = pl.col("source").str.split("!").list.first()
    entry = pl.col("bibtex")
    return (
        (entry.str.extract(_KEY, 1) == pl.col("doc_id"))
        & (pl.col("records") == 1)
        & ~entry.str.contains("citebed-id", literal=True)
        & (entry.str.count_matches(_OPENING) == 1)
        & ~entry.str.contains(_NO_ENTRY)
        & (entry.str.count_matches(r"\{") == entry.str.count_matches(r"\}"))
        & ~entry.str.contains(_to_be_changed(collection.documents["bibtex"]))
        & ~top.is_in(given.to_list())
    ).fill_null(value=False)


def _to_be_changed(entries: pl.Series) -> str:
    """A pattern of what is not written as it is: strange commands among those there are, and
    control characters."""
    every = entries.str.extract_all(r"\\[A-Za-z]+").explode().drop_nulls().unique()
    names = [name[1:] for name in every if name[1:] not in COMMANDS]
    named = "|".join(names if len(names) < _MANY else ["[A-Za-z]+"]) or "$^"
    return rf"\^\^|{CONTROLS}|\\(?:{named})(?:[^A-Za-z]|$)"


class _Entries:
    """Entries that are put together here; the key is the id where BibTeX can hold that."""

    def __init__(self, ids: pl.Series) -> None:
        self._keys = FreeIds(ids)
        self._differs: Counter[str] = Counter()
        self._rewritten = 0
        self._strange: Counter[str] = Counter()

    def add(self, document: Document) -> str:
        """The entry of one more document."""
        self._strange.update(strange_commands(document.bibtex or ""))
        entry = _with_keys(entry_of(document), document)
        read = _read(entry)
        own = document.doc_id
        is_given = document.bibtex is not None
        fits = not is_given or lone_entry(document.bibtex) is not None
        fits = fits and read is not None and not differences(document, read[1])
        if read is None or not fits or not self._keys.is_free(read[0], owner=own):
            self._rewritten += is_given
            entry = _with_keys(write_entry(document), document)
            read = _read(entry)
        if read is None:
            self._differs["entry"] += 1
            return entry
        self._differs.update(differences(document, read[1]))
        fresh = self._keys.take(read[0], owner=own)  # the id then stands in a field
        kind, _, rest = entry.partition("{")
        return entry if fresh == read[0] else f"{kind}{{{fresh}{rest[len(read[0]) :]}"

    def notes(self) -> list[str]:
        """What reads back differently, and which entries are not those that were given."""
        notes = told(self._differs)
        if self._rewritten:
            given = f"the given entry of {count(self._rewritten, 'document')}"
            notes.append(f"{given} did not fit the fields; written from the fields")
        if self._strange:
            notes.append(told_of_strange(self._strange))
        return notes


def _with_keys(entry: str, document: Document) -> str:
    """The entry with all keys of the document, under one of them if the id is none."""
    read = _read(entry)
    missing = [key for key in document.keys if read and key not in read[1].keys]
    if not missing:
        return entry
    key = None if document.doc_id in document.keys else missing.pop(0)
    ids = unique([*fields_of(entry).get("ids", "").replace(",", " ").split(), *missing])
    named = {"citebed-id": text_to_latex(document.doc_id)} if key else {}
    return with_fields(entry, {**named, "ids": ", ".join(ids)}, key=key)


def _read(entry: str) -> tuple[str, Document] | None:
    """Key and document of a text that is one entry and nothing else."""
    found = lone_entry(entry)
    return None if found is None or found.text != entry else (found.key, document_of(found))


BIBTEX = Exporter(
    "bibtex",
    "BibTeX",
    write_bibtex,
    file=FILE,
    lacks=("full text", "links", "aliases", "papers", "queries", "provenance"),
)
