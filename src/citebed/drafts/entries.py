"""The BibTeX entry of a document for an author's own file: under the author's key, and short."""

from __future__ import annotations

from citebed.collection.formats.bibtex import fields_of, with_fields, write_entry
from citebed.collection.formats.bibtex_scan import head_of
from citebed.records import Document
from citebed.text.latex import text_to_latex

_SHORT = (
    *("author", "editor", "title", "subtitle", "booktitle", "journal", "journaltitle", "series"),
    *("edition", "volume", "number", "issue", "chapter", "pages", "publisher", "institution"),
    *("school", "organization", "howpublished", "type", "year", "date", "doi", "eprint"),
    *("eprinttype", "archiveprefix", "eprintclass", "primaryclass", "url"),
)
"""The fields that a reference is printed from."""


def entry_to_cite(document: Document, key: str, *, full: bool = False) -> str:
    """An entry under this key, with what a reference is printed from or, if ``full``, with all
    that the record came with."""
    bibtex = document.bibtex
    if full:
        whole = write_entry(document._replace(doc_id=key))
        return whole if bibtex is None else with_fields(bibtex, {}, key=key)
    head = head_of(bibtex) if bibtex else None
    kind = document.type if head is None else head.opening.strip("@{( \t\n").lower()
    given = fields_of(bibtex or write_entry(document))
    fields = {name: " ".join(given[name].split()) for name in _SHORT if given.get(name)}
    if document.year and not {"year", "date"} & fields.keys():
        fields["year"] = str(document.year)
    if document.doi:
        fields.setdefault("doi", text_to_latex(document.doi))
    if {"doi", "eprint"} & fields.keys():
        fields.pop("url", None)
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n{lines}}}"
