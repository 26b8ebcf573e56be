"""RIS, the tagged format that reference managers and publishers write.

A record runs from ``TY  - JOUR`` to ``ER  -``. Written by many hands, so read with patience:
one blank or a tab instead of two blanks, lower-case tags, wrapped lines, a missing ``ER``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from citebed.collection.formats.base import Chunk, Format, cut_after, of_text, with_newlines
from citebed.collection.formats.fields import (
    arxiv_id,
    best_date,
    bibtex_type,
    cite_keys,
    date_in_words,
    document,
    made_up_id,
    no_doi,
    one_word,
    pages_of,
    people,
)
from citebed.collection.formats.tagged import NO_END, Entry
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import doi_of, normalise_doi
from citebed.text.normalise import fold, html_to_text, year_before_1, year_in
from citebed.text.regex import compile_regex

_TYPES = {
    **dict.fromkeys(("JOUR", "EJOUR", "MGZN", "NEWS"), "article"),
    **dict.fromkeys(("CONF", "CPAPER"), "inproceedings"),
    **dict.fromkeys(("CHAP", "ECHAP"), "incollection"),
    **dict.fromkeys(("BOOK", "EBOOK"), "book"),
    "THES": "phdthesis",
    "RPRT": "techreport",
    "UNPB": "unpublished",
}
_KNOWN_TAGS = (
    "A[1-4BDNUV]|BT|C[1-8ANPTY]|D[ABIOP]|E[DPRT]|I[DS]|J[12AFO]|KW|L[1-4ABK]|M[1-3]|N[12V]|OP"
    "|P[BPY]|R[INP]|S[ENPTV]|T[123AITY]|U[1-5R]|V[LO]|Y[12]"
)
# Where the two blanks of the standard are missing only a known tag is one.
_ONE_BLANK = rf"(?<={_KNOWN_TAGS})[ \t]{{1,2}}(?=-[ \t\r\n]|-\Z)"
_TAG = rf"\n(PMC?ID(?=  )|[A-Z][A-Z0-9])(?:  |{_ONE_BLANK})-[ \t]*+"
_UPPER, _ANY_CASE = compile_regex(_TAG), compile_regex(_TAG, re.IGNORECASE)
_OF_RECORDS = {"TI", "T1", "AU", "A1", "DO", "PY", "Y1"}
_NEXT_RECORD = re.compile(r"\n(?=(?:TY|ty)(?:  -|[ \t]{1,2}-(?:[ \t\r\n]|\Z)))")
_TYPE_LINE = re.compile(
    r"^(?:TY|ty)[ \t]{1,2}-[ \t]*[A-Za-z]{2,20}(?:[ /-][A-Za-z/]{2,20}){0,3}[ \t]*\r?$",
    re.MULTILINE,
)
_TAG_LINE = re.compile(r"[A-Za-z][A-Za-z0-9][ \t]{1,2}-|[A-Z]{2,6}  -")
RIS_DOC_ID = "citebed-id: "
"""Before the document's id in ``U5``, where that is not the citation key."""
_END_LINE = re.compile(rb"(?:^|\n)(?:ER|er)[ \t]{1,2}-[^\n]*\n")


def sniff(head: str) -> bool:
    """Whether a ``TY`` line stands near the start and is followed by another tagged line.

    Publishers put a few lines of their own first; up to 20 are let pass.
    """
    head = with_newlines(head)
    match = _TYPE_LINE.search(head)
    if match is None or head.count("\n", 0, match.start()) > 20:
        return False
    rest = head[match.end() : match.end() + 4096].split("\n")
    following = next((line for line in rest if line.strip()), None)
    return following is not None and _TAG_LINE.match(following) is not None


@of_text
def _parse(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of a RIS file; a record without its ``ER`` is kept and noted."""
    line = chunk.line - 1
    for block in _NEXT_RECORD.split("\n" + text):
        yield from _records(block, line)
        line += block.count("\n") + 1


def _records(block: str, line: int) -> Iterator[Record]:
    """What stands between two ``TY`` lines, or before the first, which is no record.

    Lower case counts as a tag only if the record began so: an abstract may well have a line
    ``is - as seen - …``.
    """
    lower = block.startswith("ty")
    parts = (_ANY_CASE if lower else _UPPER).split("\n" + block)
    tags, values = parts[1::2], parts[2::2]
    if lower:
        tags = [tag.upper() for tag in tags]
    if tags[:1] == ["TY"]:
        end = tags.index("ER") if "ER" in tags else len(tags)
        entry = _entry(tags[:end], values[:end], line)
        record = _document(entry)
        yield record
        yield from no_doi(record, entry.first("DO"))
        if end == len(tags):
            yield Problem(line, NO_END, "mended")
        tags, values = tags[end + 1 :], values[end + 1 :]
    if any(tag != "ER" for tag in tags):
        first = next(at for at, tag in enumerate(tags) if tag != "ER")
        line += block.count("\n") - "\n".join(values[first:]).count("\n")
        what = f"field {tags[first]} outside of a record: no TY line before it"
        # Ovid writes a field or two of a record behind its ER.
        yield Problem(line, what, "skipped" if _OF_RECORDS & set(tags) else "mended")


def _entry(tags: list[str], values: list[str], line: int) -> Entry:
    """The record of these tags and values, once the values are clean."""
    joined = f" {' '.join(values)} "
    marked = "<" in joined or "&" in joined or "  " in joined  # two blanks: an empty value
    if marked or not (joined.isascii() and joined.isprintable()):
        values = [_clean(value, tag == "KW") for tag, value in zip(tags, values, strict=True)]
    fields: dict[str, list[str]] = {}
    for tag, value in zip(tags, values, strict=True):
        if tag in fields:
            fields[tag].append(value)
        elif value:
            fields[tag] = [value]
    return Entry(line, fields)


# Venues, publishers, names and keywords recur thousands of times in a bibliography.
@lru_cache(maxsize=1 << 14)
def _clean(value: str, is_list: bool) -> str:
    """Plain text of a value; the lines of a list (EndNote's keywords) have ``;`` between them."""
    return ";".join(map(html_to_text, value.split("\n"))) if is_list else html_to_text(value)


# --- Documents ------------------------------------------------------------------------------


def _document(entry: Entry) -> Document | Problem:
    """The document of a record; one that has no title, author or identifier is skipped."""
    named = entry.first("TY")
    kind = _TYPES.get(named.partition(" ")[0].upper()) or bibtex_type(named)
    if kind == "phdthesis" and "master" in entry.first("M3").lower():
        kind = "mastersthesis"
    own_title, in_book = (("BT",), ()) if kind == "book" else ((), ("BT",))
    title = entry.first("TI", "T1", "CT", *own_title, "ST")
    authors = _people(entry.all("AU", "A1"))
    editors = _people(entry.all("A2", "ED") or entry.all("A3"))
    date, doi = _date(entry), _doi(entry)
    ours = entry.first("U5").removeprefix(RIS_DOC_ID) if RIS_DOC_ID in entry.first("U5") else ""
    doc_id = ours or entry.first("ID") or doi or entry.first("AN")
    if not doc_id and (authors or editors or title):
        doc_id = made_up_id(authors or editors, date[:4] if date else "", title)
    return document(
        *(entry.line, one_word(doc_id)),
        type=kind,
        title=title,
        authors=authors,
        editors=editors,
        date=date,
        year=None if date else year_before_1(entry.first("PY", "Y1", "DA").strip(" /")),
        venue=entry.first("T2", "JF", "JO", *in_book, "C3", "J2", "JA"),
        volume=entry.first("VL"),
        number=entry.first("IS"),
        pages=pages_of(entry.first("SP"), entry.first("EP")),
        publisher=entry.first("PB"),
        doi=doi,
        arxiv=arxiv_id(doi, *entry.all("UR", "M1", "AN", "N1", "T2", "JO", "JF")),
        url=entry.first("UR", "LK").partition(" ")[0],
        abstract=" ".join(entry.all("AB") or entry.all("N2")),
        keywords=entry.keywords("KW"),
        language=entry.first("LA"),
        place=entry.first("CY", "PP"),
        edition=entry.first("ET"),
        isbn=entry.first("SN"),
        keys=cite_keys(ids=entry.all("ID"), notes=entry.all("N1", "U1", "M1")),
    )


_PRINTED_NAME = re.compile(r"(?<!\w)\w\.|[;,]|\b(?:van|von|der|den|ten|ter|zu|zur|bin|ibn)\b")


def _people(values: list[str]) -> tuple[str, ...]:
    """Names; one without a comma is a group's (``World Bank``), unless it has initials or a
    particle (``van``)."""
    return tuple(
        name
        for value in values
        for name in (people([value]) if _PRINTED_NAME.search(value) else (fold(value),))
        if name
    )


def _date(entry: Entry) -> str | None:
    """The most exact date; EndNote's ``DA  - Mar 1`` is a day of the year in ``PY``."""
    date = best_date(*entry.all("PY", "Y1", "DA"))
    day = entry.first("DA")
    if date is None or len(date) > 4 or not day or year_in(day):
        return date
    return date_in_words(f"{day} {date}") or date


def _doi(entry: Entry) -> str | None:
    """The DOI under ``DO``, else one that is the whole of a link or a word of ``M3``."""
    stated = (doi_of(value) for value in entry.all("DO"))
    links = (normalise_doi(word) for value in entry.all("UR", "L3") for word in value.split())
    return next(filter(None, (*stated, *links, *map(doi_of, entry.all("M3")))), None)


RIS = Format("ris", "RIS (EndNote, Mendeley, Scopus, Zotero)", sniff, _parse, cut_after(_END_LINE))
