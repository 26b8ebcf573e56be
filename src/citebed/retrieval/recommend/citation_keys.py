"""Citation keys: what to type in a ``\\cite`` for each document, and documents as a bibliography.

The user's own key comes first, then the collection's; no key may mean something else in a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.collection.tables import row_to_document
from citebed.drafts.document_matching import Bibliography
from citebed.drafts.records import Draft
from citebed.errors import UnknownName
from citebed.records import Document
from citebed.retrieval.recommend.documents import Row, fill_row, make_work


def assign_keys(
    rows: Sequence[Row], collection: Collection, libraries: Sequence[str], drafts: Sequence[Draft]
) -> tuple[dict[str, tuple[str, bool]], list[str]]:
    """Return the key of each document by id, and whether it is in a .bib file (``libraries`` are
    their texts); and a note if the collection's key is used for another work."""
    works = {row["doc_id"]: make_work(row) for row in rows}
    mine = Bibliography()
    if libraries:
        from citebed.drafts.bibliography import bibliography_for  # reads BibTeX

        mine = bibliography_for(list(works.values()), libraries)
    others = {entry.key.lower(): entry for draft in drafts for entry in draft.cited.entries}
    if others:
        from citebed.drafts.document_matching import may_match

        pairs = ((work, others.get(work.key.lower())) for work in works.values())
        mine.reserve(
            [work.key for work, entry in pairs if not may_match(entry, work.title, work.doi)]
        )
    entries = {name: entry for name, work in works.items() if (entry := mine.find(work))}
    keys = {name: work.key for name, work in works.items() if name not in entries}
    taken = [name for name, key in keys.items() if not mine.is_free(key)]
    notes = []
    if taken:
        # The next number can be the key of another paper of the collection.
        own = pl.col("cite_key").str.to_lowercase()
        similar = pl.any_horizontal(own.str.starts_with(keys[name].lower()) for name in taken)
        known = collection.scan_documents().filter(similar).select("cite_key").collect()
        mine.reserve(known.to_series().to_list())
        listed = ", ".join(keys[name] for name in taken)
        notes.append(
            f"your draft or .bib file uses {listed} for another paper; the suggested key ends with "
            "a number"
            if len(taken) == 1
            else f"your draft or .bib file uses {listed} for other papers; the suggested keys end "
            "with a number"
        )
        keys |= {name: mine.take_key(keys[name]) for name in taken}
    keys |= {name: entry.key for name, entry in entries.items()}
    return {name: (key, name in entries) for name, key in keys.items()}, notes


# --- As a bibliography --------------------------------------------------------------------------


class CitationItem(NamedTuple):
    """A document to cite with its key; ``in_bib`` if the key comes from a .bib file."""

    document: Document
    key: str
    in_bib: bool

    @property
    def row(self) -> dict[str, Any]:
        """The item as a flat row."""
        own = self.document
        return {
            "doc_id": own.doc_id, "key": self.key, "in_bib": self.in_bib, "title": own.title,
            "authors": list(own.authors), "year": own.year, "venue": own.venue or "",
            "doi": own.doi or "",
        }  # fmt: skip


def citation_items(
    collection: Collection,
    doc_ids: Sequence[str],
    libraries: Sequence[str] = (),
    drafts: Sequence[Draft] = (),
) -> list[CitationItem]:
    """Return documents in the order of their ids with their keys, without removed documents.

    ``libraries`` are the texts of the author's .bib files, ``drafts`` the drafts that will cite.
    """
    wanted = pl.col("doc_id").is_in(list(doc_ids))
    table = collection.scan_documents().filter(wanted).collect()
    rows = {row["doc_id"]: row for row in table.iter_rows(named=True)}
    found = [rows[name] for name in dict.fromkeys(doc_ids) if name in rows]
    keys, _ = assign_keys(list(map(fill_row, found)), collection, libraries, drafts)
    return [CitationItem(row_to_document(row), *keys[row["doc_id"]]) for row in found]


class CitationFormat(NamedTuple):
    """A format for a list of citations: its title, the ending of its file, its media type."""

    title: str
    ending: str
    media_type: str


CITATION_FORMATS = {
    "bibtex": CitationFormat("BibTeX", "bib", "application/x-bibtex"),
    "ris": CitationFormat("RIS", "ris", "application/x-research-info-systems"),
    "csl-json": CitationFormat("CSL-JSON", "json", "application/vnd.citationstyles.csl+json"),
    "keys": CitationFormat("\\cite{…}", "txt", "text/plain"),
}


def format_citations(name: str, items: Sequence[CitationItem]) -> str:
    """Return documents to cite as the text of a file in a format."""
    # Other programs know a document only by its key.
    keyed = ((each.document._replace(doc_id=each.key), each.key) for each in items)
    match name:
        case "bibtex":
            from citebed.drafts.bibliography import entry_to_cite  # reads BibTeX

            return "".join(f"{entry_to_cite(each.document, each.key)}\n\n" for each in items)
        case "ris":
            from citebed.collection.exporting.bibliographies import format_ris

            return format_ris(keyed)
        case "csl-json":
            from citebed.collection.exporting.bibliographies import format_csl

            return format_csl(keyed)
        case "keys":
            return f"\\cite{{{','.join(each.key for each in items)}}}\n" if items else ""
    raise UnknownName("format of citations", name, CITATION_FORMATS)
