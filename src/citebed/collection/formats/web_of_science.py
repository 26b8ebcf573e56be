"""Web of Science's tagged export (``.ciw``, ``savedrecs.txt``): records from ``PT`` to ``ER``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, cut_after, read_text, with_newlines
from citebed.collection.formats.fields import arxiv_id, links_to, made_up_id, one_word
from citebed.collection.formats.tagged import (
    Entry,
    blocks,
    date_in_words,
    entry_of,
    pages_of,
    people,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.normalise import iso_date, year_in

_HEAD = re.compile(r"\s*(?:FN [^\n]*\nVR \d|PT [JBSPC]\n[A-Z][A-Z0-9] )")
_TAG = re.compile(r"([A-Z][A-Z0-9])(?: (.*)|[ \t]*)$")
_START = re.compile(r"PT(?: |$)")
NO_END = "record without an ER line: taken to end where it stops"
_END = re.compile(rb"(?:^|\n)ER[ \t]*\r?\n")
_AROUND = frozenset(("FN", "VR", "EF", "ER"))
_TYPES = {"J": "article", "B": "book", "S": "incollection", "C": "inproceedings"}
_CITED_DOI = re.compile(r"\bDOI \[?(10\.[^\s,\]]+)")
# A value goes on in lines of its own: as a list where each is one, else as running text.
LISTS = frozenset(("AU", "AF", "BE", "ED", "CA", "BF", "CR"))


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a file; a record without its ``ER`` is kept and noted."""
    text, problems = read_text(chunk)
    yield from problems
    for line, lines in blocks(with_newlines(text).split("\n"), _START, chunk.line):
        pairs = list(_pairs(lines))
        tags = [tag for tag, _ in pairs]
        if _START.match(lines[0]):
            end = tags.index("ER") if "ER" in tags else len(tags)
            yield wos_document(entry_of(line, pairs[:end]))
            if end == len(tags):
                yield Problem(line, NO_END, "mended")
            tags = tags[end:]
        if lost := [tag for tag in tags if tag not in _AROUND]:
            yield Problem(line, f"field {lost[0]} outside of a record: no PT line before it")


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Tags and values; indented lines go on with the value before them."""
    tag = ""
    values: list[str] = []
    for line in [*lines, "ER"]:
        match = _TAG.match(line)
        if match is None:
            values.append(line.strip())
            continue
        if tag in LISTS:
            yield from ((tag, value) for value in values)
        elif tag:
            yield tag, " ".join(values)
        tag, values = match[1], [match[2] or ""]


def wos_document(entry: Entry) -> Document | Problem:
    """The document of a record, or of a row whose columns are named by the same tags."""
    title = entry.first("TI")
    authors = people(entry.all("AF") or entry.all("AU")) + tuple(entry.all("CA"))
    editors = people(entry.all("BE", "ED"))
    year = year_in(entry.first("PY"))
    date = date_in_words(f"{entry.first('PD')} {year}") if year else None
    doi = normalise_doi(entry.first("DI", "D2"))
    doc_id = one_word(entry.first("UT")) or doi or made_up_id(authors or editors, year, title)
    if not doc_id:
        return Problem(entry.line, "record without title, author or identifier")
    return Document(
        doc_id=doc_id,
        type=_type(entry),
        title=title,
        authors=authors,
        editors=editors,
        year=year,
        date=date or iso_date(year),
        venue=entry.first("SO", "SE", "J9", "CT") or None,
        volume=entry.first("VL") or None,
        number=entry.first("IS") or None,
        pages=pages_of(entry.first("BP"), entry.first("EP")) or entry.first("AR") or None,
        publisher=entry.first("PU") or None,
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=entry.first("AB") or None,
        keywords=entry.keywords("DE", "ID"),
        language=entry.first("LA") or None,
        links=links_to(_cited(entry)),
        line=entry.line,
    )


def _type(entry: Entry) -> str:
    """The entry type of ``PT``; a paper of a conference in a book or series is one of it."""
    kind = _TYPES.get(entry.first("PT")[:1], "misc")
    in_proceedings = "proceedings paper" in entry.first("DT").lower() or entry.first("CT")
    return "inproceedings" if in_proceedings and kind != "article" else kind


def _cited(entry: Entry) -> Iterator[str | None]:
    """The DOIs of the cited references; those that have none are not kept."""
    for reference in entry.all("CR"):
        if (match := _CITED_DOI.search(reference)) is not None:
            yield normalise_doi(match[1])


WEB_OF_SCIENCE = Format(
    "web-of-science",
    "Web of Science records (.ciw)",
    lambda head: _HEAD.match(with_newlines(head)) is not None,
    _parse,
    cut_after(_END),
)
