"""One RIS file with all documents, for reference managers.

RIS knows no escapes, so a text is written as it is. Each record is read back at once: what differs
then is counted and told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, Output, check_texts, documents_of
from citebed.collection.formats.fields import arxiv_id
from citebed.collection.formats.ris import RIS as FORMAT
from citebed.records import Document

FILE = "documents.ris"
_TYPES = {
    "article": "JOUR",
    "inproceedings": "CPAPER",
    "proceedings": "CONF",
    **dict.fromkeys(("incollection", "inbook"), "CHAP"),
    "book": "BOOK",
    **dict.fromkeys(("phdthesis", "mastersthesis", "thesis"), "THES"),
    **dict.fromkeys(("techreport", "report"), "RPRT"),
    "unpublished": "UNPB",
    "online": "ELEC",
    "patent": "PAT",
    "dataset": "DATA",
    "software": "COMP",
}
_OTHER = "GEN"


def write_ris(collection: Collection, output: Output) -> None:
    """All documents as RIS records, in the collection's order."""
    documents = list(documents_of(collection))
    texts = [ris_record(document) for document in documents]
    with output.open(FILE, len(documents)) as file:
        file.writelines(f"{text}\r\n".encode() for text in texts)
    output.notes += check_texts(zip(documents, texts, strict=True), FORMAT)


def ris_record(document: Document) -> str:
    """A document as a record, from ``TY`` to ``ER``."""
    lines = [f"{tag}  - {value}" for tag, value in _tagged(document) if value]
    return "\r\n".join([*lines, "ER  - ", ""])


def _tagged(document: Document) -> Iterator[tuple[str, str | None]]:
    first, _, last = (document.pages or "").partition("–")
    yield "TY", _TYPES.get(document.type, _OTHER)
    yield "ID", document.doc_id
    yield "TI", document.title
    yield from (("AU", _name(name)) for name in document.authors)
    yield from (("A2", _name(name)) for name in document.editors)
    yield "PY", str(document.year or "")
    yield "DA", (document.date or "").replace("-", "/") if "-" in (document.date or "") else ""
    yield "T2", document.venue
    yield "VL", document.volume
    yield "IS", document.number
    yield "SP", first
    yield "EP", last
    yield "PB", document.publisher
    yield "M3", "Master's thesis" if document.type == "mastersthesis" else ""
    yield "DO", document.doi
    yield "UR", document.url
    yield "AB", document.abstract
    yield from (("KW", word) for word in document.keywords)
    yield "LA", document.language
    yield from (("N1", note) for note in notes_of(document))


def notes_of(document: Document) -> Iterable[str]:
    """What reference managers keep as notes: an arXiv id, and keys that are not the id."""
    if document.arxiv and arxiv_id(document.doi, document.url) != document.arxiv:
        yield f"arXiv:{document.arxiv}"
    yield from (f"Citation Key: {key}" for key in document.keys if key != document.doc_id)


def _name(name: str) -> str:
    """``Family, Given, Suffix``; a comma at the end says that a name has no such parts."""
    family, *others = name.split(", ")
    return ", ".join((family, *reversed(others))) if others else f"{family},"


RIS = Exporter(
    "ris",
    "RIS",
    write_ris,
    file=FILE,
    lacks=("full text", "links", "aliases", "bibtex", "papers", "queries", "provenance"),
)
