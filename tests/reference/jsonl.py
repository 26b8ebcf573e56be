"""Documents as objects of our JSON Lines, written one by one."""

from __future__ import annotations

from typing import Any

from citebed.records import Document
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display


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
    for name in {"keywords", "keys"} & out.keys():
        out[name] = list(out[name])
    for name in {"sections", "links"} & out.keys():
        out[name] = [part._asdict() for part in out[name]]
    derived = {"year": doc.date, "date": doc.year, "doi": normalise_doi(doc.doc_id)}
    return out | {name: None for name, source in derived.items() if source and name not in out}
