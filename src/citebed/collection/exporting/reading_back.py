"""Reading back what was written: which fields of how many documents come back differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import BIBLIOGRAPHIC
from citebed.collection.formats.base import Chunk, Format
from citebed.collection.tables import document_of_row
from citebed.records import Document
from citebed.wording import count


def documents_of(collection: Collection) -> Iterator[Document]:
    """All documents in the collection's order, with what a bibliography holds."""
    wanted = collection.documents.select("doc_id", "keys", *BIBLIOGRAPHIC)
    for part in wanted.iter_slices(10_000):
        yield from map(document_of_row, part.iter_rows(named=True))


def differences(document: Document, read: Document) -> list[str]:
    """The fields in which a document differs from what was read of it."""
    names = ("doc_id", *BIBLIOGRAPHIC)
    return [name for name in names if getattr(document, name) != getattr(read, name)]


def read_of(text: str, format: Format) -> Document | None:
    """The one document that a text is read as, and nothing where it is not one."""
    read = [each for each in format.parse(Chunk(text.encode(), "")) if isinstance(each, Document)]
    return read[0] if len(read) == 1 else None


def told(found: Counter[str]) -> list[str]:
    """What reads back differently, as notes for people."""
    return [
        f"{name} of {count(number, 'document')} reads back differently"
        for name, number in found.items()
    ]


def check_texts(pairs: Iterable[tuple[Document, str]], format: Format) -> list[str]:
    """The notes about documents and the texts that were written of them."""
    found: Counter[str] = Counter()
    for document, text in pairs:
        read = read_of(text, format)
        if read is None:
            found["record"] += 1
            continue
        lost = not set(document.keys) <= set(read.keys)
        found.update(differences(document, read) + ["cite keys"] * lost)
    return told(found)
