"""Documents in citebed's own JSON Lines, read and written.

``year`` and ``date`` are each derived from the other, and ``doi`` from an id that is one, where
they are left out; a member that is there as ``null`` stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from citebed.collection.formats.jsonvalues import (
    Json,
    as_text,
    doi_of,
    float_of,
    keywords_of,
    list_of,
    names_of,
    text_of,
    year_of,
)
from citebed.records import Document, Link, Section
from citebed.text.normalise import (
    date_in,
    fold,
    iso_date,
    name_from_display,
    normalise_doi,
)

_LINK_KINDS = ("cites", "linked", "coupled", "cocited")


def _iso(text: str | None) -> str | None:
    """A date as it stands if it is ISO 8601, in any year; else what can be read in it."""
    if text and re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", text):
        parts = [int(part) for part in text.split("-")]
        if iso_date(*parts) == text:
            return text
    return date_in(text)


def year_and_date(obj: Json) -> tuple[int | None, str | None]:
    """Year and ISO date, each derived from the other where that is left out."""
    year, date = year_of(obj, "year"), _iso(text_of(obj, "date"))
    if year is None and date is not None and "year" not in obj:
        year = int(date[:4])
    return year, iso_date(year) if date is None and "date" not in obj else date


def doi_or_id(obj: Json, record_id: str) -> str | None:
    """The DOI, derived from the record's id where it is left out."""
    return doi_of(obj, "doi") if "doi" in obj else doi_of({"id": record_id}, "id")


def _section(value: Any) -> Section:
    if isinstance(value, dict):
        return Section(text_of(value, "heading") or "", text_of(value, "text") or "")
    return Section("", as_text(value) or "")


def _links(obj: Json) -> Iterator[Link]:
    """Links from objects or bare targets; a kind we do not know says no more than ``linked``."""
    for value in list_of(obj, "links"):
        link = value if isinstance(value, dict) else {"target": value}
        kind = text_of(link, "kind") or "cites"
        if (target := text_of(link, "target")) is not None:
            known = kind if kind in _LINK_KINDS else "linked"
            yield Link(target, known, float_of(link, "weight", 1.0))


def raw_of(obj: Json, name: str) -> str | None:
    """Text to the letter, blanks and line ends included, without what UTF-8 cannot hold."""
    value = obj.get(name)
    return value.encode("utf-8", "ignore").decode() or None if isinstance(value, str) else None


_PLAIN = ("venue", "volume", "number", "pages", "publisher", "url", "abstract", "language")


def document_from_json(line: int, doc_id: str, obj: Json) -> Document:
    """The document of an object that has the fields' names; wrong types count as unknown."""
    year, date = year_and_date(obj)
    return Document(
        doc_id=doc_id,
        type=fold((text_of(obj, "type") or "misc").lower()),
        title=text_of(obj, "title") or "",
        authors=names_of(obj, "authors"),
        editors=names_of(obj, "editors"),
        year=year,
        date=date,
        doi=doi_or_id(obj, doc_id),
        keywords=keywords_of(obj, "keywords"),
        bibtex=raw_of(obj, "bibtex"),
        crossref=text_of(obj, "crossref"),
        sections=tuple(map(_section, list_of(obj, "sections"))),
        links=tuple(_links(obj)),
        line=line,
        **{name: text_of(obj, name) for name in _PLAIN},
    )


def _name_out(name: str) -> str | dict[str, str]:
    """A name as text where it reads back as it is; else (an organisation) as ``literal``."""
    return name if name_from_display(name) == name else {"literal": name}


def document_to_json(doc: Document) -> dict[str, Any]:
    """The document as an object of our JSON Lines, without empty fields and ``line``.

    Read back it is the same document; where a field would be derived that the document does
    not have, it is written as ``null``.
    """
    defaults = Document._field_defaults
    fields = {name: value for name, value in doc._asdict().items() if name != "line"}
    out = {name: value for name, value in fields.items() if value and value != defaults.get(name)}
    for name in {"authors", "editors"} & out.keys():
        out[name] = [_name_out(person) for person in out[name]]
    if doc.keywords:
        out["keywords"] = list(doc.keywords)
    for name in {"sections", "links"} & out.keys():
        out[name] = [part._asdict() for part in out[name]]
    derived = {"year": doc.date, "date": doc.year, "doi": normalise_doi(doc.doc_id)}
    return out | {name: None for name, source in derived.items() if source and name not in out}
