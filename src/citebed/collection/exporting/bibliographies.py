"""Bibliographies: all documents in one file of BibTeX, of RIS or of CSL-JSON.

An entry that was read from BibTeX is written as it was, but for commands that bibliographies do not
use, which are written as text and told. All others are written from the
document's fields, and read back at once: what differs then is counted and told. Where the id is
nothing to type (a DOI, a number) but the document has a cite key, the entry stands under that;
further keys stand in BibLaTeX's ``ids``.

RIS knows no escapes, so a text is written as it is. CSL-JSON is for Zotero, Pandoc and other
processors of citations. Their records are read back, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import BIBLIOGRAPHIC, Exporter, Output, write_lines
from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.bibtex import (
    document_of,
    entry_of,
    fields_of,
    lone_entry,
    with_fields,
    write_entry,
)
from citebed.collection.formats.bibtex_entry import (
    COMMANDS,
    CONTROLS,
    NOT_RECORDS,
    note_of_strange,
    strange_commands,
)
from citebed.collection.formats.csl import CSL_JSON as CSL_FORMAT
from citebed.collection.formats.fields import arxiv_id
from citebed.collection.formats.ris import RIS as RIS_FORMAT
from citebed.collection.tables import document_of_row
from citebed.records import Document
from citebed.text.identifiers import FreeIds
from citebed.text.latex import text_to_latex
from citebed.text.normalise import unique
from citebed.wording import count, json_text

_LACKS = ("full text", "links", "aliases", "papers", "queries", "provenance")


def _differences(document: Document, read: Document) -> list[str]:
    """The fields in which a document differs from what was read of it."""
    names = ("doc_id", *BIBLIOGRAPHIC)
    return [name for name in names if getattr(document, name) != getattr(read, name)]


def _notes(differing: Counter[str]) -> list[str]:
    """What reads back differently, for people."""
    return [
        f"{name} of {count(number, 'document')} reads back differently"
        for name, number in differing.items()
    ]


# --- BibTeX -----------------------------------------------------------------------------------


_MANY = 500
_OPENING = r"@\s*[A-Za-z][\w-]*\s*[{(]"
_NO_ENTRY = rf"(?i)@\s*(?:{'|'.join(sorted(NOT_RECORDS))})\s*[{{(]"
_KEY = r'^@\s*[A-Za-z][\w-]*\s*[{(]\s*([^,{}="\n]*?)\s*,'


def _write_bibtex(collection: Collection, output: Output) -> None:
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
    with output.open("documents.bib", documents.height) as file:
        write_lines(file, lines.select(text), end="\n\n")
    output.notes += entries.notes()
    if same := int(documents["doc_id"].str.to_lowercase().is_duplicated().sum()):
        keys = count(same, "key")
        output.notes.append(f"{keys} differ in case only, which BibTeX does not tell apart")


def _is_ready(collection: Collection) -> pl.Expr:
    """Whether the entry can be written as it is: read from BibTeX, alone, under this id, and
    without anything that would have to be made harmless."""
    from_jsonl = pl.col("format").str.contains("jsonl", literal=True)
    from_elsewhere = collection.files.filter(from_jsonl)["source"]
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
        & ~top.is_in(from_elsewhere.to_list())
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
        has_entry = document.bibtex is not None
        fits = not has_entry or lone_entry(document.bibtex) is not None
        fits = fits and read is not None and not _differences(document, read[1])
        if read is None or not fits or not self._keys.is_free(read[0], owner=own):
            self._rewritten += has_entry
            entry = _with_keys(write_entry(document), document)
            read = _read(entry)
        if read is None:
            self._differs["entry"] += 1
            return entry
        self._differs.update(_differences(document, read[1]))
        fresh = self._keys.take(read[0], owner=own)  # the id then stands in a field
        kind, _, rest = entry.partition("{")
        return entry if fresh == read[0] else f"{kind}{{{fresh}{rest[len(read[0]) :]}"

    def notes(self) -> list[str]:
        """What reads back differently, and which entries are not those that were given."""
        notes = _notes(self._differs)
        if self._rewritten:
            entries = f"the given entry of {count(self._rewritten, 'document')}"
            notes.append(f"{entries} did not fit the fields; written from the fields")
        if self._strange:
            notes.append(note_of_strange(self._strange))
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
    lone = lone_entry(entry)
    return None if lone is None or lone.text != entry else (lone.key, document_of(lone))


BIBTEX = Exporter("bibtex", "BibTeX", _write_bibtex, file="documents.bib", lacks=_LACKS)


# --- RIS and CSL-JSON ---------------------------------------------------------------------------


def ris_text(documents: Iterable[Document]) -> str:
    """A file of RIS, under the ids of the documents."""
    return _joined(map(_ris_record, documents), RIS_FORMAT)


def csl_text(documents: Iterable[Document]) -> str:
    """A file of CSL-JSON, under the ids of the documents."""
    return _joined(map(_csl_item, documents), CSL_FORMAT)


def _joined(texts: Iterable[str], format: Format) -> str:
    begin, between, end = ("[", ",\n", "]\n") if format is CSL_FORMAT else ("", "\r\n", "\r\n")
    whole = between.join(texts)
    return f"{begin}{whole}{end}" if whole or begin else ""


def _reread(
    name: str, title: str, file: str, format: Format, text_of: Callable[[Document], str]
) -> Exporter:
    """A form whose records are texts, joined by what is between them in a file; each is read back
    at once."""

    def write(collection: Collection, output: Output) -> None:
        wanted = collection.documents.select("doc_id", "keys", *BIBLIOGRAPHIC)
        slices = (part.iter_rows(named=True) for part in wanted.iter_slices(10_000))
        documents = [document_of_row(row) for rows in slices for row in rows]
        texts = [text_of(document) for document in documents]
        with output.open(file, len(documents)) as handle:
            handle.write(_joined(texts, format).encode())
        differing: Counter[str] = Counter()
        for document, text in zip(documents, texts, strict=True):
            differing.update(_changes(document, _joined([text], format), format))
        output.notes += _notes(differing)

    return Exporter(name, title, write, file=file, lacks=(*_LACKS[:3], "bibtex", *_LACKS[3:]))


def _changes(document: Document, text: str, format: Format) -> list[str]:
    """What is lost of a document in the text that was written of it."""
    records = format.parse(Chunk(text.encode(), ""))
    read = [record for record in records if isinstance(record, Document)]
    if len(read) != 1:
        return ["record"]
    lost = not set(document.keys) <= set(read[0].keys)
    return _differences(document, read[0]) + ["cite keys"] * lost


_TYPES = {
    "article": ("JOUR", "article-journal"),
    "inproceedings": ("CPAPER", "paper-conference"),
    "proceedings": ("CONF", "book"),
    **dict.fromkeys(("incollection", "inbook"), ("CHAP", "chapter")),
    "book": ("BOOK", "book"),
    **dict.fromkeys(("phdthesis", "mastersthesis", "thesis"), ("THES", "thesis")),
    **dict.fromkeys(("techreport", "report"), ("RPRT", "report")),
    "unpublished": ("UNPB", "manuscript"),
    "online": ("ELEC", "webpage"),
    "patent": ("PAT", "patent"),
    "dataset": ("DATA", "dataset"),
    "software": ("COMP", "software"),
}
"""What RIS and CSL call each type of entry."""
_OTHER = ("GEN", "document")
_GENRES = {"phdthesis": "PhD thesis", "mastersthesis": "Master's thesis"}


def _ris_record(document: Document) -> str:
    """A document as a record, from ``TY`` to ``ER``."""
    lines = [f"{tag}  - {value}" for tag, value in _tagged(document) if value]
    return "\r\n".join([*lines, "ER  - ", ""])


def _tagged(document: Document) -> Iterator[tuple[str, str | None]]:
    first, _, last = (document.pages or "").partition("–")
    yield "TY", _TYPES.get(document.type, _OTHER)[0]
    yield "ID", document.doc_id
    yield "TI", document.title
    yield from (("AU", _ris_name(name)) for name in document.authors)
    yield from (("A2", _ris_name(name)) for name in document.editors)
    yield "PY", str(document.year or "")
    yield "DA", (document.date or "").replace("-", "/") if "-" in (document.date or "") else ""
    yield "T2", document.venue
    yield "VL", document.volume
    yield "IS", document.number
    yield "SP", first
    yield "EP", last
    yield "PB", document.publisher
    yield "M3", _GENRES["mastersthesis"] if document.type == "mastersthesis" else ""
    yield "DO", document.doi
    yield "UR", document.url
    yield "AB", document.abstract
    yield from (("KW", word) for word in document.keywords)
    yield "LA", document.language
    yield from (("N1", note) for note in _notes_of(document))


def _ris_name(name: str) -> str:
    """``Family, Given, Suffix``; a comma at the end says that a name has no such parts."""
    family, *others = name.split(", ")
    return ", ".join((family, *reversed(others))) if others else f"{family},"


def _notes_of(document: Document) -> Iterator[str]:
    """What reference managers keep as notes: an arXiv id, and keys that are not the id."""
    if document.arxiv and arxiv_id(document.doi, document.url) != document.arxiv:
        yield f"arXiv:{document.arxiv}"
    yield from (f"Citation Key: {key}" for key in document.keys if key != document.doc_id)


def _csl_item(document: Document) -> str:
    """A document as a CSL item; what is not known has no place in it."""
    date = [int(part) for part in (document.date or "").split("-") if part]
    item = {
        "id": document.doc_id,
        "type": _TYPES.get(document.type, _OTHER)[1],
        "genre": _GENRES.get(document.type),
        "title": document.title,
        "author": [_csl_name(name) for name in document.authors],
        "editor": [_csl_name(name) for name in document.editors],
        "issued": {"date-parts": [date]} if date else None,
        "container-title": document.venue,
        "volume": document.volume,
        "issue": document.number,
        "page": (document.pages or "").replace("–", "-"),
        "publisher": document.publisher,
        "DOI": document.doi,
        "URL": document.url,
        "abstract": document.abstract,
        "keyword": "; ".join(document.keywords),
        "language": document.language,
        "note": "\n".join(_notes_of(document)),
    }
    return json_text({name: value for name, value in item.items() if value})


def _csl_name(name: str) -> dict[str, str]:
    """``Family, Given`` or ``Family, Suffix, Given`` in its parts; any other is a literal."""
    family, *others = name.split(", ")
    if not others:
        return {"literal": family}
    parts = {"family": family, "given": others[-1]}
    return {**parts, "suffix": others[0]} if len(others) > 1 else parts


RIS = _reread("ris", "RIS", "documents.ris", RIS_FORMAT, _ris_record)
CSL_JSON = _reread("csl-json", "CSL-JSON", "documents.json", CSL_FORMAT, _csl_item)
