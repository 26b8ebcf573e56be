"""Read the document properties and the XMP metadata of a PDF file."""

from __future__ import annotations

import ctypes
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from citebed.text.identifiers import doi_in, normalise_doi

_LONGEST = 20_000
_PACKETS, _PACKET_BYTES = 50, 60_000
_DOI = re.compile(
    rb"(?:prism|pdfx|crossmark|jav):doi(?:>|=\")\s{0,9}([^<\"]{1,200})"
    rb"|<dc:identifier>[^<]{0,40}?(10\.\d{4,9}/[^<]{1,200})",
    re.IGNORECASE,
)
_ITEM = re.compile(rb"<rdf:li[^>]{0,80}>([^<]{1,400})</rdf:li>")


@dataclass(frozen=True)
class Properties:
    """Title, authors and DOI according to the file. They may name a program or another paper."""

    title: str = ""
    authors: str = ""
    """As in the file, for example ``Ann Author and Bob Writer``."""
    doi: str | None = None


def read_properties(document: pypdfium2.PdfDocument, data: bytes = b"") -> Properties:
    """Return the properties of a PDF; ``data`` is the file's content, which may include XMP."""
    title, author, subject, doi = (
        _read_property(document, name) for name in (b"Title", b"Author", b"Subject", b"doi")
    )
    people: list[str] = []
    stated: set[str | None] = set()
    for packet in _xmp_packets(data):
        stated |= {normalise_doi(_text(each[1] or each[2])) for each in _DOI.finditer(packet)}
        names = _ITEM.findall(packet.partition(b"<dc:creator>")[2].partition(b"</dc:creator>")[0])
        people = max(people, list(map(_text, names)), key=len)
    stated.discard(None)
    # Pictures and other papers in the file may have XMP metadata with DOIs of their own.
    dois = [
        normalise_doi(doi),
        doi_in(title),
        doi_in(subject),
        *(stated if len(stated) == 1 else ()),
    ]
    return Properties(
        title[:_LONGEST],
        "; ".join(people)[:_LONGEST] if len(people) > 1 else author[:_LONGEST],
        next(filter(None, dois), None),
    )


def _xmp_packets(data: bytes) -> Iterator[bytes]:
    at = -1
    for _ in range(_PACKETS):
        at = data.find(b"<x:xmpmeta", at + 1)
        if at < 0:
            return
        yield data[at : at + _PACKET_BYTES].partition(b"</x:xmpmeta>")[0]


def _read_property(document: pypdfium2.PdfDocument, name: bytes) -> str:
    # `get_metadata_value` fails if the text contains half of a surrogate pair.
    length = pdfium.FPDF_GetMetaText(document, name, None, 0)
    buffer = ctypes.create_string_buffer(max(length, 2))
    pdfium.FPDF_GetMetaText(document, name, buffer, length)
    return buffer.raw[:-2].decode("utf-16-le", "replace").strip()


def _text(item: bytes) -> str:
    return " ".join(html.unescape(item.decode("utf-8", "replace")).split())
