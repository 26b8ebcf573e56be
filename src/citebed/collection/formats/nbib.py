"""PubMed's tagged format (``.nbib``, MEDLINE): records from ``PMID-`` to a blank line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.collection.formats.fields import arxiv_id, made_up_id
from citebed.collection.formats.tagged import (
    Entry,
    blocks,
    date_in_words,
    entry_of,
    full_pages,
    people,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display
from citebed.text.normalise import filled, unique

_HEAD = re.compile(r"\s*PMID- [^\n]*\n(?:[A-Z]{2,4} *- |      )[^\n]*\n")
_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
_START = re.compile(r"PMID- ")
_DOI = re.compile(r"(10\.\S+)\s+\[doi\]", re.IGNORECASE)
_TYPES = {
    "book chapter": "incollection",
    "book": "book",
    "congress": "inproceedings",
    "preprint": "misc",
}


def pubmed_id(number: str) -> str:
    """What a paper of PubMed goes by here, and in the references that only name its number."""
    return f"pmid:{number}"


def pubmed_title(title: str) -> str:
    """A title without PubMed's full stop, and without the brackets of one that was translated."""
    title = title[:-1] if title.endswith(".") and not title.endswith("..") else title
    return title[1:-1] if title.startswith("[") and title.endswith("]") else title


def pubmed_type(names: list[str], in_book: bool) -> str:
    """The BibTeX entry type of PubMed's publication types."""
    found = (_TYPES[name.lower()] for name in names if name.lower() in _TYPES)
    return next(found, "incollection" if in_book else "article")


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a file; lines before the first record are told."""
    text, problems = read_text(chunk)
    yield from problems
    for line, lines in blocks(with_newlines(text).split("\n"), _START, chunk.line):
        if _START.match(lines[0]):
            yield _document(entry_of(line, _pairs(lines)))
        elif any(_TAG.match(each) for each in lines):
            yield Problem(line, "a record without its PMID line: expected 'PMID- number'")


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Tags and values; a line that begins with blanks goes on with the value before it."""
    tag, values = "", list[str]()
    for line in lines:
        match = _TAG.match(line)
        if match is None:
            values.append(line.strip())
        else:
            yield tag, " ".join(values)
            tag, values = match[1], [match[2]]
    yield tag, " ".join(values)


def _document(entry: Entry) -> Document | Problem:
    number = entry.first("PMID")
    title = pubmed_title(entry.first("TI", "BTI"))
    authors = people(entry.all("FAU")) or tuple(map(_short_name, entry.all("AU")))
    authors += tuple(entry.all("CN"))
    date = date_in_words(entry.first("DP"))
    doi = _doi(entry)
    doc_id = pubmed_id(number) if number.isdecimal() else doi
    doc_id = doc_id or made_up_id(authors, date[:4] if date else None, title)
    if not doc_id:
        return Problem(entry.line, "a record without a number, a title or an author")
    in_book = bool(entry.first("BTI")) and bool(entry.first("TI"))
    return Document(
        doc_id=doc_id,
        type=pubmed_type(entry.all("PT"), in_book),
        title=title,
        authors=filled(authors),
        editors=people(entry.all("FED") or entry.all("ED")),
        year=int(date[:4]) if date else None,
        date=date,
        venue=(entry.first("BTI") if in_book else entry.first("JT", "TA")) or None,
        volume=entry.first("VI") or None,
        number=entry.first("IP") or None,
        pages=full_pages(entry.first("PG")),
        publisher=entry.first("PB") or None,
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=" ".join(entry.all("AB")) or None,
        keywords=_keywords(entry),
        language=entry.first("LA") or None,
        line=entry.line,
    )


def _short_name(name: str) -> str:
    """``Muster, AB`` of ``Muster AB``, as PubMed abbreviates."""
    family, _, initials = name.rpartition(" ")
    return f"{family}, {initials}" if family and initials.isupper() else name_from_display(name)


def _doi(entry: Entry) -> str | None:
    found = (_DOI.search(value) for value in entry.all("LID", "AID", "SO"))
    return next(filter(None, (normalise_doi(match[1]) for match in found if match)), None)


def _keywords(entry: Entry) -> tuple[str, ...]:
    """The authors' own keywords, then the headings of MeSH without their subheadings."""
    headings = (heading.replace("*", "").partition("/")[0] for heading in entry.all("MH"))
    return unique([word.strip("* ") for word in entry.all("OT")] + list(headings))


def _cut(data: bytes) -> int:
    """The start of the last record, since only the next one shows where it ends."""
    return data.rfind(b"\nPMID- ") + 1


NBIB = Format(
    "nbib",
    "PubMed records (.nbib, MEDLINE)",
    lambda head: _HEAD.match(with_newlines(head)) is not None,
    _parse,
    _cut,
)
