"""Documents that somebody will cite: the key to type for each, and all as a bibliography."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.collection.tables import row_to_document
from citebed.drafts.records import Draft
from citebed.errors import UnknownName
from citebed.records import Document
from citebed.retrieval.recommend.cite_keys import keys_for


class ToCite(NamedTuple):
    """A document to cite; ``key`` is what to type: the author's own, if it is ``in_bib``."""

    document: Document
    key: str
    in_bib: bool

    @property
    def row(self) -> dict[str, Any]:
        """What a list shows of it."""
        own = self.document
        return {
            "doc_id": own.doc_id, "key": self.key, "in_bib": self.in_bib, "title": own.title,
            "authors": list(own.authors), "year": own.year, "venue": own.venue or "",
            "doi": own.doi or "",
        }  # fmt: skip


def to_cite(
    collection: Collection,
    doc_ids: Sequence[str],
    libraries: Sequence[str] = (),
    drafts: Sequence[Draft] = (),
) -> list[ToCite]:
    """Documents by their ids, in this order, with the keys to type for them; those that are no
    longer in the collection are left out. ``libraries`` are the texts of the author's .bib files,
    ``drafts`` what will cite them."""
    wanted = pl.col("doc_id").is_in(list(doc_ids))
    rows = {row["doc_id"]: row for row in _rows(collection.scan_documents().filter(wanted))}
    found = [rows[name] for name in dict.fromkeys(doc_ids) if name in rows]
    keys, _ = keys_for([_card(row) for row in found], collection, libraries, drafts)
    return [ToCite(row_to_document(row), *keys[row["doc_id"]]) for row in found]


def _rows(documents: pl.LazyFrame) -> Iterable[dict[str, Any]]:
    return documents.collect().iter_rows(named=True)


def _card(row: dict[str, Any]) -> dict[str, Any]:
    texts = {name: row[name] or "" for name in ("title", "doi", "cite_key")}
    return {**row, **texts, **{name: tuple(row[name] or ()) for name in ("authors", "keys")}}


# --- As a bibliography ------------------------------------------------------------------------


@dataclass(frozen=True)
class CitingForm:
    """A form in which documents to cite are handed on: the ending of its file, its media type."""

    name: str
    title: str
    ending: str
    media_type: str
    write: Callable[[Sequence[ToCite]], str]


def _bibtex(cites: Sequence[ToCite]) -> str:
    from citebed.drafts.bibliography import entry_to_cite  # with the reader of BibTeX

    return "".join(f"{entry_to_cite(each.document, each.key)}\n\n" for each in cites)


def _ris(cites: Sequence[ToCite]) -> str:
    from citebed.collection.exporting.bibliographies import format_ris

    return format_ris(map(_as_known, cites))


def _csl(cites: Sequence[ToCite]) -> str:
    from citebed.collection.exporting.bibliographies import format_csl

    return format_csl(map(_as_known, cites))


def _as_known(each: ToCite) -> tuple[Document, str]:
    """A document by its key alone: the author's own tools know no other id of it."""
    return each.document._replace(doc_id=each.key), each.key


def _keys(cites: Sequence[ToCite]) -> str:
    return f"\\cite{{{','.join(each.key for each in cites)}}}\n" if cites else ""


CITING_FORMS = {
    form.name: form
    for form in (
        CitingForm("bibtex", "BibTeX", "bib", "application/x-bibtex", _bibtex),
        CitingForm("ris", "RIS", "ris", "application/x-research-info-systems", _ris),
        CitingForm("csl-json", "CSL-JSON", "json", "application/vnd.citationstyles.csl+json", _csl),
        CitingForm("keys", "\\cite{…}", "txt", "text/plain", _keys),
    )
}
"""By name."""


def cited_as(form: str, cites: Sequence[ToCite]) -> str:
    """Documents to cite, as the text of a file in one of the forms."""
    if form not in CITING_FORMS:
        raise UnknownName("form of citations", form, CITING_FORMS)
    return CITING_FORMS[form].write(cites)
