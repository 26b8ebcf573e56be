"""One CSL-JSON file with all documents, for Zotero, Pandoc and other processors of citations.

Each item is read back at once: what differs then is counted and told.
"""

from __future__ import annotations

from typing import Any

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, Output, check_texts, documents_of
from citebed.collection.exporting.ris import notes_of
from citebed.collection.formats.csl import CSL_JSON as FORMAT
from citebed.records import Document
from citebed.wording import json_text

FILE = "documents.json"
_TYPES = {
    "article": "article-journal",
    "inproceedings": "paper-conference",
    **dict.fromkeys(("incollection", "inbook"), "chapter"),
    **dict.fromkeys(("book", "proceedings"), "book"),
    **dict.fromkeys(("phdthesis", "mastersthesis", "thesis"), "thesis"),
    **dict.fromkeys(("techreport", "report"), "report"),
    "unpublished": "manuscript",
    "online": "webpage",
    "patent": "patent",
    "dataset": "dataset",
    "software": "software",
}
_OTHER = "document"
_GENRES = {"phdthesis": "PhD thesis", "mastersthesis": "Master's thesis"}


def write_csl_json(collection: Collection, output: Output) -> None:
    """All documents as the items of one array, in the collection's order."""
    documents = list(documents_of(collection))
    texts = [json_text(csl_item(document)) for document in documents]
    with output.open(FILE, len(documents)) as file:
        file.write(("[" + ",\n".join(texts) + "]\n").encode())
    pairs = zip(documents, (f"[{text}]" for text in texts), strict=True)
    output.notes += check_texts(pairs, FORMAT)


def csl_item(document: Document) -> dict[str, Any]:
    """A document as a CSL item; what is not known has no place in it."""
    date = [int(part) for part in (document.date or "").split("-") if part]
    item = {
        "id": document.doc_id,
        "type": _TYPES.get(document.type, _OTHER),
        "genre": _GENRES.get(document.type),
        "title": document.title,
        "author": [_name(name) for name in document.authors],
        "editor": [_name(name) for name in document.editors],
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
        "note": "\n".join(notes_of(document)),
    }
    return {name: value for name, value in item.items() if value}


def _name(name: str) -> dict[str, str]:
    """``Family, Given`` or ``Family, Suffix, Given`` in its parts; any other is a literal."""
    family, *others = name.split(", ")
    if not others:
        return {"literal": family}
    parts = {"family": family, "given": others[-1]}
    return {**parts, "suffix": others[0]} if len(others) > 1 else parts


CSL_JSON = Exporter(
    "csl-json",
    "CSL-JSON",
    write_csl_json,
    file=FILE,
    lacks=("full text", "links", "aliases", "bibtex", "papers", "queries", "provenance"),
)
