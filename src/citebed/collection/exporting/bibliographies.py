"""Bibliographies: export all documents to one file of BibTeX, RIS or CSL-JSON.

BibTeX entries from the sources are written unchanged, except that commands which bibliographies do
not use become text. All other entries are written from the documents' fields and read back; notes
count the differences. A record has its document's citation key; a different id goes to the field
``citebed-id``, further keys to BibLaTeX's ``ids``.

RIS has no escapes, so texts are written as they are. RIS and CSL-JSON records are read back, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import starmap

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import BIBLIOGRAPHIC, Exporter, Output, write_lines
from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.bibtex import entry_to_document
from citebed.collection.formats.bibtex_scanner import NOT_RECORDS
from citebed.collection.formats.bibtex_writer import (
    COMMANDS,
    CONTROLS,
    describe_unknown_commands,
    escape_commands,
    insert_fields,
    parse_fields,
    parse_single_entry,
    place_fields,
    unknown_commands,
    write_entry,
)
from citebed.collection.formats.csl import CSL_JSON as CSL_FORMAT
from citebed.collection.formats.fields import find_arxiv_id
from citebed.collection.formats.tagged import RIS as RIS_FORMAT
from citebed.collection.formats.tagged import RIS_DOC_ID
from citebed.collection.names import INVALID_IN_KEY, export_keys
from citebed.collection.tables import row_to_document
from citebed.records import Document
from citebed.text.latex import text_to_latex
from citebed.text.normalise import unique
from citebed.wording import count, json_text

_LACKS = ("full text", "links", "aliases", "papers", "queries", "provenance")


def _differences(document: Document, read: Document) -> list[str]:
    """Return the fields in which a document differs from its record that was read back."""
    names = ("doc_id", *BIBLIOGRAPHIC)
    return [name for name in names if getattr(document, name) != getattr(read, name)]


def _notes(differing: Counter[str]) -> list[str]:
    """Return notes on fields that read back differently."""
    return [
        f"in {count(number, 'document')}, {name} changed when read back"
        for name, number in differing.items()
    ]


# --- BibTeX -----------------------------------------------------------------------------------


_MANY = 500
_OPENING = r"@\s*[A-Za-z][\w-]*\s*[{(]"
_NO_ENTRY = rf"(?i)@\s*(?:{'|'.join(sorted(NOT_RECORDS))})\s*[{{(]"
_KEY = r'^@\s*[A-Za-z][\w-]*\s*[{(]\s*([^,{}="\n]*?)\s*,'


def _write_bibtex(collection: Collection, output: Output) -> None:
    """Write all documents as BibTeX entries, in the collection's order."""
    documents = collection.documents
    ready = documents.select(_is_ready(collection).alias("ready")).to_series()
    documents = documents.with_columns(key=export_keys(documents["cite_key"]))
    entries = _Entries()
    others = documents.filter(~ready).select("doc_id", "key", "bibtex", "keys", *BIBLIOGRAPHIC)
    rows = (row for part in others.iter_slices(10_000) for row in part.iter_rows(named=True))
    made = [entries.add(row_to_document(row), row["key"]) for row in rows]
    others = others.select("doc_id", made=pl.Series(made, dtype=pl.String))
    lines = documents.with_columns(ready=ready).join(
        others, on="doc_id", how="left", maintain_order="left"
    )
    text = pl.when("ready").then("bibtex").otherwise("made").alias("entry")
    with output.open("documents.bib", documents.height) as file:
        write_lines(file, lines.select(text), end="\n\n")
    output.notes += entries.notes()


def _is_ready(collection: Collection) -> pl.Expr:
    """Return True for documents whose BibTeX entry can be written unchanged: it is their only
    record, has the citation key as key and id, and contains nothing harmful."""
    from_jsonl = pl.col("format").str.contains("jsonl", literal=True)
    from_elsewhere = collection.files.filter(from_jsonl)["source"]
    top = pl.col("source").str.split("!").list.first()
    entry = pl.col("bibtex")
    return (
        (entry.str.extract(_KEY, 1) == pl.col("cite_key"))
        & (pl.col("doc_id") == pl.col("cite_key"))
        & ~pl.col("cite_key").str.contains(INVALID_IN_KEY)
        & (pl.col("records") == 1)
        & ~entry.str.contains("citebed-id", literal=True)
        & (entry.str.count_matches(_OPENING) == 1)
        & ~entry.str.contains(_NO_ENTRY)
        & (entry.str.count_matches(r"\{") == entry.str.count_matches(r"\}"))
        & ~entry.str.contains(_harmful_pattern(collection.documents["bibtex"]))
        & ~top.is_in(from_elsewhere.to_list())
    ).fill_null(value=False)


def _harmful_pattern(entries: pl.Series) -> str:
    """Return a pattern of control characters and of the unusual commands in some entries."""
    every = entries.str.extract_all(r"\\[A-Za-z]+").explode().drop_nulls().unique()
    names = [name[1:] for name in every if name[1:] not in COMMANDS]
    named = "|".join(names if len(names) < _MANY else ["[A-Za-z]+"]) or "$^"
    return rf"\^\^|{CONTROLS}|\\(?:{named})(?:[^A-Za-z]|$)"


class _Entries:
    """Writes entries under their documents' citation keys and counts the differences."""

    def __init__(self) -> None:
        self._differs: Counter[str] = Counter()
        self._rewritten = 0
        self._strange: Counter[str] = Counter()

    def add(self, document: Document, key: str) -> str:
        self._strange.update(unknown_commands(document.bibtex or ""))
        given = parse_single_entry(document.bibtex)
        entry = _under_key(escape_commands(given.text), document, key) if given else ""
        read = _read(entry, key) if given else None
        if read is None or _differences(document, read):
            self._rewritten += document.bibtex is not None
            entry = _under_key(write_entry(document._replace(doc_id=key)), document, key)
            read = _read(entry, key)
        self._differs.update(["entry"] if read is None else _differences(document, read))
        return entry

    def notes(self) -> list[str]:
        """Return notes on differences and on rewritten entries."""
        notes = _notes(self._differs)
        if self._rewritten:
            entries = f"the given entry of {count(self._rewritten, 'document')}"
            notes.append(f"{entries} did not match the fields, so citebed wrote it from the fields")
        if self._strange:
            notes.append(describe_unknown_commands(self._strange))
        return notes


def _under_key(entry: str, document: Document, key: str) -> str:
    """The entry with this key; with the id, if that is another, and all other keys as fields."""
    stated = parse_fields(entry)
    ids = unique([*stated.get("ids", "").replace(",", " ").split(), *document.keys])
    others = ", ".join(name for name in ids if name != key)
    fields = {"citebed-id": text_to_latex(document.doc_id) if document.doc_id != key else ""}
    fields["ids"] = others if others != stated.get("ids") else ""
    return insert_fields(entry, fields, key=key)


def _read(entry: str, key: str) -> Document | None:
    """Return the document of a text that is one entry with this key and nothing else."""
    lone = parse_single_entry(entry)
    if lone is None or lone.text != entry or lone.key != key:
        return None
    return entry_to_document(lone)


BIBTEX = Exporter("bibtex", "BibTeX", _write_bibtex, file="documents.bib", lacks=_LACKS)


# --- RIS and CSL-JSON ---------------------------------------------------------------------------


Keyed = tuple[Document, str]
"""A document and its citation key."""


def format_ris(documents: Iterable[Keyed]) -> str:
    """Return documents as RIS under their citation keys."""
    return _joined(starmap(_ris_record, documents), RIS_FORMAT)


def format_csl(documents: Iterable[Keyed]) -> str:
    """Return documents as CSL-JSON under their citation keys."""
    return _joined(starmap(_csl_item, documents), CSL_FORMAT)


def _joined(texts: Iterable[str], format: Format) -> str:
    begin, between, end = ("[", ",\n", "]\n") if format is CSL_FORMAT else ("", "\r\n", "\r\n")
    whole = between.join(texts)
    return f"{begin}{whole}{end}" if whole or begin else ""


def _record_exporter(
    name: str, title: str, file: str, format: Format, text_of: Callable[[Document, str], str]
) -> Exporter:
    """Return an export format whose records are texts; each record is read back."""

    def write(collection: Collection, output: Output) -> None:
        wanted = collection.documents.select("doc_id", "cite_key", "keys", "bibtex", *BIBLIOGRAPHIC)
        slices = (part.iter_rows(named=True) for part in wanted.iter_slices(10_000))
        documents = [row_to_document(row) for rows in slices for row in rows]
        texts = list(map(text_of, documents, export_keys(wanted["cite_key"])))
        with output.open(file, len(documents)) as handle:
            handle.write(_joined(texts, format).encode())
        differing: Counter[str] = Counter()
        for document, text in zip(documents, texts, strict=True):
            differing.update(_changes(document, _joined([text], format), format))
        output.notes += _notes(differing)

    return Exporter(name, title, write, file=file, lacks=(*_LACKS[:3], "bibtex", *_LACKS[3:]))


def _changes(document: Document, text: str, format: Format) -> list[str]:
    """Return the fields of a document that its record loses or changes."""
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
"""The types of entries in RIS and in CSL."""
_OTHER = ("GEN", "document")
_GENRES = {"phdthesis": "PhD thesis", "mastersthesis": "Master's thesis"}


def _ris_record(document: Document, key: str) -> str:
    """Return a document as a record, from ``TY`` to ``ER``."""
    lines = [f"{tag}  - {value}" for tag, value in _tagged(document, key) if value]
    return "\r\n".join([*lines, "ER  - ", ""])


def _tagged(document: Document, key: str) -> Iterator[tuple[str, str | None]]:
    first, _, last = (document.pages or "").partition("–")
    yield "TY", _TYPES.get(document.type, _OTHER)[0]
    yield "ID", key
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
    yield "CY", document.place
    yield "ET", document.edition
    yield "SN", document.isbn
    yield "U5", f"{RIS_DOC_ID}{document.doc_id}" if document.doc_id != key else ""
    yield from (("N1", note) for note in _extra_notes(document, key))


def _ris_name(name: str) -> str:
    """Return ``Family, Given, Suffix``; a final comma marks a name without such parts."""
    family, *others = name.split(", ")
    return ", ".join((family, *reversed(others))) if others else f"{family},"


def _extra_notes(document: Document, key: str) -> Iterator[str]:
    """Yield notes as reference managers store them: an arXiv id, and further keys in the form of
    Better BibTeX."""
    if document.arxiv and find_arxiv_id(document.doi, document.url) != document.arxiv:
        yield f"arXiv:{document.arxiv}"
    yield from (f"tex.ids: {other}" for other in document.keys if other != key)


def _csl_item(document: Document, key: str) -> str:
    """Return a document as a CSL item without empty fields."""
    fields = place_fields(document)
    date = [int(part) for part in (document.date or "").split("-") if part]
    date = date or ([document.year] if document.year else [])
    item = {
        "id": key,
        "citation-key": key,
        "custom": {"citebed-id": document.doc_id} if document.doc_id != key else None,
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
        "publisher-place": document.place,
        "edition": document.edition,
        "ISBN": fields.get("isbn"),
        "ISSN": fields.get("issn"),
        "note": "\n".join(_extra_notes(document, key)),
    }
    return json_text({name: value for name, value in item.items() if value})


def _csl_name(name: str) -> dict[str, str]:
    """Return the parts of ``Family, Given`` or ``Family, Suffix, Given``, or a literal name."""
    family, *others = name.split(", ")
    if not others:
        return {"literal": family}
    parts = {"family": family, "given": others[-1]}
    return {**parts, "suffix": others[0]} if len(others) > 1 else parts


RIS = _record_exporter("ris", "RIS", "documents.ris", RIS_FORMAT, _ris_record)
CSL_JSON = _record_exporter("csl-json", "CSL-JSON", "documents.json", CSL_FORMAT, _csl_item)
