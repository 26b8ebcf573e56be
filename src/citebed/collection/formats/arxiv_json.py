"""arXiv's metadata as JSON Lines, as the snapshot on Kaggle has it."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from citebed.collection.formats.arxiv_atom import arxiv_document, published_as
from citebed.collection.formats.jsonfiles import cut_lines_or_document, json_records
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import JsonObject, as_text
from citebed.collection.formats.tagged import people_in
from citebed.records import Document, Problem
from citebed.text.identifiers import arxiv_of
from citebed.text.latex import latex_to_text
from citebed.text.names import name_from_parts
from citebed.text.normalise import date_in, filled, fold, iso_date, month_in, unique

_CREATED = re.compile(r"\b(\d{1,2}) ([A-Za-z]{3}) (\d{4})\b")


def _record(paper: JsonObject) -> Document | Problem:
    number = arxiv_of(paper.text("id") or "")
    if number is None:
        return paper.unknown("a paper of arXiv with its 'id'")
    date = _date(paper)
    found = arxiv_document(number, paper.text("title") or "", paper.text("abstract") or "")
    return published_as(found, paper.doi("doi"), paper.text("journal-ref"))._replace(
        authors=_authors(paper),
        year=int(date[:4]) if date else None,
        date=date,
        keywords=unique((paper.text("categories") or "").split()),
        line=paper.line,
    )


def _date(paper: JsonObject) -> str | None:
    """When the first version was submitted, else when the record was last changed."""
    first = next(iter(paper.objects("versions")), paper).text("created") or ""
    if (found := _CREATED.search(first)) is not None:
        return iso_date(int(found[3]), month_in(found[2]), int(found[1]))
    return date_in(paper.text("update_date"))


def _authors(paper: JsonObject) -> tuple[str, ...]:
    """The names in parts, else those in the line of authors; both are written in TeX."""
    parsed = filled(map(_name, paper.elements("authors_parsed")))
    return parsed or people_in(_plain(paper.text("authors")))


def _name(value: Any) -> str:
    parts = [_plain(as_text(part)) for part in value[:3]] if isinstance(value, list) else []
    return name_from_parts(*parts) if parts else ""


def _plain(text: str | None) -> str:
    return fold(latex_to_text(text or ""))


ARXIV_JSON = json_format(
    "arxiv-json",
    "arXiv metadata (JSON)",
    partial(json_records, into=frozenset()),
    _record,
    cut=cut_lines_or_document,
    or_whole=True,
)
