"""DBLP's XML: the whole of ``dblp.xml``, or records of it.

Pages of people (``www``) are no publications: they are counted, not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.fields import arxiv_id, cite_keys, links_to
from citebed.collection.formats.xml import (
    Element,
    attribute,
    children,
    inner_text,
    local,
    root_in,
    text_at,
)
from citebed.collection.formats.xml_records import xml_records
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display
from citebed.text.normalise import iso_date, month_in, page_range, unique, year_in
from citebed.wording import count

_PUBLICATIONS = (
    *("article", "inproceedings", "proceedings", "book", "incollection"),
    *("phdthesis", "mastersthesis", "data"),
)
_OTHERS = ("www", "person")
_NUMBER = re.compile(r"\s\d{4}$")  # tells namesakes apart: Wei Wang 0001
_KEY = re.compile(r"<(?:article|inproceedings|proceedings|book|incollection|www)\s[^<>]*\bkey\s*=")


def _sniff(head: str) -> bool:
    name, rest = root_in(head)
    return name == "dblp" or (name in _PUBLICATIONS and _KEY.match(rest) is not None)


def _read(record: Element, line: int) -> Iterator[Record]:
    kind, key = local(record), attribute(record, "key")
    if kind in _OTHERS:
        return
    title = text_at(record, "title")
    if not key:
        yield Problem(line, f"a record <{kind}> without a key")
        return
    links = [inner_text(e) for e in children(record, "ee")]
    doi = next(filter(None, map(normalise_doi, links)), None)
    year = year_in(text_at(record, "year"))
    yield Document(
        doc_id=key,
        type="misc" if kind == "data" else kind,
        title=title[:-1] if title.endswith(".") and not title.endswith("..") else title,
        authors=_people(record, "author"),
        editors=_people(record, "editor"),
        year=year,
        date=iso_date(year, month_in(text_at(record, "month"))),
        venue=_venue(record, kind),
        volume=text_at(record, "volume") or None,
        number=text_at(record, "number") or None,
        pages=page_range(text_at(record, "pages")) or None,
        publisher=text_at(record, "publisher") or text_at(record, "school") or None,
        doi=doi,
        arxiv=arxiv_id(doi, *links, text_at(record, "volume")),
        url=next(iter(links), None),
        crossref=text_at(record, "crossref") or None,
        keys=cite_keys([key]),
        links=links_to(key for key in map(inner_text, children(record, "cite")) if key != "..."),
        line=line,
    )


def _people(record: Element, role: str) -> tuple[str, ...]:
    """The names of a role, without the numbers that tell namesakes apart."""
    names = (_NUMBER.sub("", inner_text(person)) for person in children(record, role))
    return unique(map(name_from_display, names))


def _venue(record: Element, kind: str) -> str | None:
    within = "series" if kind in ("book", "proceedings") else "booktitle"
    return text_at(record, "journal") or text_at(record, within) or None


_RECORDS = xml_records(
    *("dblp-xml", "DBLP XML", _sniff),
    elements=(*_PUBLICATIONS, *_OTHERS),
    around=("dblp",),
    read=_read,
)
_OTHER_START = re.compile(rb"<(?:%s)[\s>]" % "|".join(_OTHERS).encode())


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The publications, then how many records were pages of people."""
    yield from _RECORDS.parse(chunk)
    if number := len(_OTHER_START.findall(chunk.data)):
        what = f"{count(number, 'page')} of people, which are no publications"
        yield Problem(chunk.line, what, "ignored")


DBLP_XML = replace(_RECORDS, parse=_parse)
