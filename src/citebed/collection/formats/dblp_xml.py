"""DBLP's XML: the whole of ``dblp.xml``, or records of it.

Pages of people (``www``) are no publications: they are counted, not kept.
"""

from __future__ import annotations

import re
from functools import lru_cache

from citebed.collection.formats.fields import arxiv_id, cite_keys, document, links_to
from citebed.collection.formats.tagged import Entry
from citebed.collection.formats.xml import (
    Element,
    attribute,
    has_root,
    inner_text,
    local,
)
from citebed.collection.formats.xml_records import Names, xml_records
from citebed.records import Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display
from citebed.text.normalise import filled, iso_date, month_in, page_range, year_in

_PUBLICATIONS = (
    *("article", "inproceedings", "proceedings", "book", "incollection"),
    *("phdthesis", "mastersthesis", "data"),
)
_VENUE = {"book": "series", "proceedings": "series"}
_NUMBER = re.compile(r"\s\d{4}$")  # tells namesakes apart: Wei Wang 0001
_KEY = (
    r"\A<(?:[\w.-]+:)?dblp\b"
    r"|\A<(?:article|inproceedings|proceedings|book|incollection|www)\s[^<>]*\bkey\s*="
)


def _read(record: Element, line: int) -> Record:
    kind, key = local(record), attribute(record, "key")
    entry = Entry(line, {})
    for field in record:
        if text := inner_text(field):
            entry.fields.setdefault(local(field), []).append(text)
    title, addresses = entry.first("title"), entry.all("ee")
    doi = next(filter(None, map(normalise_doi, addresses)), None)
    year = year_in(entry.first("year"))
    return document(
        line,
        key,
        f"a record <{kind}> without a key",
        type="misc" if kind == "data" else kind,
        title=title[:-1] if title.endswith(".") and not title.endswith("..") else title,
        authors=filled(map(_name, entry.all("author"))),
        editors=filled(map(_name, entry.all("editor"))),
        year=year,
        date=iso_date(year, month_in(entry.first("month"))),
        venue=entry.first("journal", _VENUE.get(kind, "booktitle")),
        volume=entry.first("volume"),
        number=entry.first("number"),
        pages=page_range(entry.first("pages")),
        publisher=entry.first("publisher", "school"),
        doi=doi,
        arxiv=arxiv_id(doi, *addresses, entry.first("volume")),
        url=next(iter(addresses), None),
        crossref=entry.first("crossref"),
        keys=cite_keys([key]),
        links=links_to(cited for cited in entry.all("cite") if cited != "..."),
    )


@lru_cache(maxsize=1 << 15)
def _name(name: str) -> str:
    """A name without the number that tells namesakes apart."""
    return name_from_display(_NUMBER.sub("", name))


DBLP_XML = xml_records(
    *("dblp-xml", "DBLP XML", has_root("dblp", *_PUBLICATIONS, holding=_KEY)),
    Names(_PUBLICATIONS, ("dblp",), ("www", "person")),
    _read,
)
