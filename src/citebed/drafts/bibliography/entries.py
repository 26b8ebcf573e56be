"""The BibTeX entry of a document for an author's own file: under the author's key, and short."""

from __future__ import annotations

import re

from citebed.collection.formats.bibtex import lone_entry, with_fields, write_entry
from citebed.collection.formats.bibtex_safety import harmless_entry
from citebed.records import Document
from citebed.text.latex import text_to_latex
from citebed.text.normalise import ENTITY_PATTERN, entity_to_text

_SHORT = (
    *("author", "editor", "title", "subtitle", "booktitle", "journal", "journaltitle", "series"),
    *("edition", "volume", "number", "issue", "chapter", "pages", "publisher", "institution"),
    *("school", "organization", "howpublished", "type", "year", "date", "doi", "eprint"),
    *("eprinttype", "archiveprefix", "eprintclass", "primaryclass", "url"),
)
"""The fields that a reference is printed from."""


def entry_to_cite(document: Document, key: str, *, full: bool = False) -> str:
    """An entry under this key, with what a reference is printed from or, if ``full``, with all
    that the record came with; commands that bibliographies do not use are text in it."""
    return harmless_entry(_entry(document, key, full))


def _entry(document: Document, key: str, full: bool) -> str:
    own = lone_entry(document.bibtex)
    if full:
        whole = write_entry(document._replace(doc_id=key))
        return whole if own is None else with_fields(own.text, {}, key=key)
    entry = own or lone_entry(write_entry(document))
    kind, given = (entry.type, entry.fields) if entry else ("misc", {})
    fields = {name: _typeset(name, given[name]) for name in _SHORT if given.get(name)}
    if document.year and not {"year", "date"} & fields.keys():
        fields["year"] = str(document.year)
    if document.doi and not (own and "doi" in fields):
        fields["doi"] = _verbatim(document.doi)
    if {"doi", "eprint"} & fields.keys():
        fields.pop("url", None)
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{kind}{{{key},\n{lines}}}"


_ADDRESSES = frozenset(("doi", "eprint", "url"))
_BARE = re.compile(rf"(?<!\\)(?:{ENTITY_PATTERN}|[&#%])")


def _typeset(name: str, raw: str) -> str:
    """A field that LaTeX can print: publishers leave ``&amp;`` and bare ``&`` in theirs.

    Addresses are printed as they stand.
    """
    value = " ".join(raw.split())
    if name in _ADDRESSES or "\\url" in value or "\\href" in value:
        return value
    return _BARE.sub(lambda found: text_to_latex(entity_to_text(found[0])), value)


def _verbatim(doi: str) -> str:
    """A DOI as packages for references want it: without LaTeX, but for what ends the field."""
    return text_to_latex(doi) if re.search(r"[{}\\%]", doi) else doi
